// Drives any stdio server through a TypeScript SDK client: `client.mjs PACKAGES MODE -- COMMAND…`.
//
// PACKAGES is the folder that has `node_modules`. MODE is `sdk` (version 1 of the SDK), or `legacy`, `auto` or a
// revision (version 2). Prints one line of JSON a step; what differs from run to run is replaced.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const split = process.argv.indexOf("--");
const [packages, mode] = process.argv.slice(2, split);
const [command, ...args] = process.argv.slice(split + 1);
const require = createRequire(resolve(packages, "package.json"));

// Calls for the servers that the tests use; a server gets those whose tool it lists.
const CALLS = [
  ["echo", { text: "héllo \u2028 \u{1d11e}" }],
  ["echo", { message: "to everything" }],
  ["fail", { reason: "on purpose" }],
  ["weather", { place: "here" }],
  ["big", { size: 100000 }],
  ["count", { steps: 4 }],
  ["note", { text: "written down" }],
  ["ask", {}],
  ["get-sum", { a: 2, b: 40 }],
  ["get-tiny-image", {}],
  ["get-structured-content", { location: "Chicago" }],
  ["get-resource-links", { count: 3 }],
  ["trigger-long-running-operation", { duration: 0.2, steps: 4 }],
  ["trigger-sampling-request", { prompt: "say something", maxTokens: 10 }],
  ["trigger-elicitation-request", {}],
  ["no-such-tool", {}],
];
const READS = ["note://fixed", "note://by-name/%C3%A9", "demo://resource/dynamic/text/1", "no://such"];
const PROMPTS = [["greet", { name: "you" }], ["args-prompt", { city: "Here" }], ["no-such-prompt", {}]];
const SLOW = [["wait", {}], ["trigger-long-running-operation", { duration: 30, steps: 2 }]];

function normal(text) {
  return text
    .replace(/\b\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, "<time>")
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uuid>");
}

function tell(step, result) {
  process.stdout.write(normal(JSON.stringify({ step, result })) + "\n");
}

async function attempt(step, work) {
  let result;
  try {
    result = await work();
  } catch (error) {
    // Every failure of a step is a result to compare.
    result = { error: error.name, code: error.code, message: error.message };
  }
  tell(step, result);
  return result;
}

const sampled = async (request) => ({
  role: "assistant",
  content: { type: "text", text: `an answer within ${request.params.maxTokens} tokens` },
  model: "none",
  stopReason: "endTurn",
});
const elicited = async () => ({ action: "accept", content: { name: "tester" } });
const capabilities = { sampling: {}, elicitation: {} };
const identity = { name: "driver", version: "1.0.0" };

// Version 1 names what a handler is for by a schema, version 2 by the method.
function connectable() {
  if (mode === "sdk") {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
    const types = require("@modelcontextprotocol/sdk/types.js");
    const client = new Client(identity, { capabilities });
    client.setRequestHandler(types.CreateMessageRequestSchema, sampled);
    client.setRequestHandler(types.ElicitRequestSchema, elicited);
    return { client, StdioClientTransport, logged: types.LoggingMessageNotificationSchema };
  }
  const { Client } = require("@modelcontextprotocol/client");
  const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
  const versionNegotiation = { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } };
  const client = new Client(identity, { capabilities, versionNegotiation });
  client.setRequestHandler("sampling/createMessage", sampled);
  client.setRequestHandler("elicitation/create", elicited);
  return { client, StdioClientTransport, logged: "notifications/message" };
}

const { client, StdioClientTransport, logged } = connectable();
const logs = [];
client.setNotificationHandler(logged, (notification) => void logs.push(notification.params));
client.onerror = () => {};
try {
  await client.connect(new StdioClientTransport({ command, args }));
} catch (error) {
  tell("not connected", { error: error.name, code: error.code, message: error.message });
  process.exit(0);
}
tell("connected", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);
await attempt("ping", () => client.ping());
await attempt("level", () => client.setLoggingLevel("info"));
const tools = await attempt("tools", () => client.listTools());
const listed = new Set([...(tools.tools ?? []).map((tool) => tool.name), "no-such-tool"]);
await attempt("resources", () => client.listResources());
await attempt("templates", () => client.listResourceTemplates());
await attempt("prompts", () => client.listPrompts());

// Version 1 takes a schema between parameters and options.
const call = (name, args, options) =>
  mode === "sdk"
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);

for (const [name, args] of CALLS.filter(([name]) => listed.has(name))) {
  const progress = [];
  await attempt(`call ${name}`, () => call(name, args, { onprogress: (step) => progress.push(step) }));
  // Version 1 forgets the last report when the answer comes in the same read.
  tell(`progress ${name}`, progress.filter((step) => step.progress !== step.total));
}
for (const uri of READS) await attempt(`read ${uri}`, () => client.readResource({ uri }));
for (const [name, args] of PROMPTS) await attempt(`prompt ${name}`, () => client.getPrompt({ name, arguments: args }));
const many = Array.from({ length: 10 }, (_, index) => ({ text: `number ${index}`, message: `number ${index}` }));
await attempt("together", () => Promise.all(many.map((args) => call("echo", args))));
for (const [name, args] of SLOW.filter(([name]) => listed.has(name))) {
  await attempt(`abandon ${name}`, () => call(name, args, { timeout: 300 }));
}
await attempt("tools again", () => client.listTools());
await client.close();
tell("logs", logs);
