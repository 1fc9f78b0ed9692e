// Drives any stdio server through a TypeScript SDK client: `client.mjs PACKAGES MODE [SCRIPT] -- COMMAND…`.
//
// PACKAGES is the folder that has `node_modules`. MODE is `sdk` (version 1 of the SDK), or `legacy`, `auto` or a
// revision (version 2). SCRIPT names a list of calls.json (`whole`); a server gets those calls whose tool it lists.
// Prints one line of JSON a step; what differs from run to run is replaced.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const split = process.argv.indexOf("--");
const [packages, mode, name = "whole"] = process.argv.slice(2, split);
const [command, ...args] = process.argv.slice(split + 1);
const require = createRequire(resolve(packages, "package.json"));
const script = JSON.parse(readFileSync(new URL("calls.json", import.meta.url)))[name];

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

// How version 2 comes to the revision: a handshake for the older ones, a pin for the newer.
function negotiation(mode) {
  if (mode === "legacy" || mode === "auto") return { versionNegotiation: { mode } };
  if (mode === "2026-07-28") return { versionNegotiation: { mode: { pin: mode } } };
  return { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [mode] };
}

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
  const client = new Client(identity, { capabilities, ...negotiation(mode) });
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

// Asks for every page of a list.
async function pages(step, field, method) {
  const found = [];
  let cursor;
  do {
    const page = await attempt(step, () => method(cursor ? { cursor } : {}));
    found.push(...(page[field] ?? []));
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}

// The steps that ask what there is; a name that no server has counts as a tool.
const listed = new Set(["no-such-tool"]);
const listings = {
  ping: () => attempt("ping", () => client.ping()),
  level: () => attempt("level", () => client.setLoggingLevel("info")),
  tools: async () => {
    for (const tool of await pages("tools", "tools", (page) => client.listTools(page))) listed.add(tool.name);
  },
  resources: () => pages("resources", "resources", (page) => client.listResources(page)),
  templates: () => pages("templates", "resourceTemplates", (page) => client.listResourceTemplates(page)),
  prompts: () => pages("prompts", "prompts", (page) => client.listPrompts(page)),
};

// Version 1 takes a schema between parameters and options.
const call = (name, args, options) =>
  mode === "sdk"
    ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);

// Subscribes to changes of the tools, has the server make one, and ends the subscription.
async function listen() {
  let heard;
  const change = new Promise((resolve) => (heard = resolve));
  client.setNotificationHandler("notifications/tools/list_changed", (notification) => heard(notification.method));
  const subscription = await client.listen({ toolsListChanged: true });
  await call("grow", {});
  const method = await change;
  await subscription.close();
  return method;
}

// A task of 2025-11-25, which only version 1 knows: followed to its end, or cancelled at once.
async function task(name, args, ending) {
  const told = [];
  const { tasks } = client.experimental;
  for await (const message of tasks.callToolStream({ name, arguments: args })) {
    told.push([message.type, message.task?.status]);
    if (message.type === "taskCreated" && ending === "cancel") await tasks.cancelTask(message.task.taskId);
  }
  return told;
}

for (const step of script.open) await listings[step]();
for (const [name, args] of script.calls.filter(([name]) => listed.has(name))) {
  const progress = [];
  await attempt(`call ${name}`, () => call(name, args, { onprogress: (step) => progress.push(step) }));
  // Version 1 forgets the last report when the answer comes in the same read.
  tell(`progress ${name}`, progress.filter((step) => step.progress !== step.total));
}
for (const uri of script.reads) await attempt(`read ${uri}`, () => client.readResource({ uri }));
for (const [name, args] of script.prompts) {
  await attempt(`prompt ${name}`, () => client.getPrompt({ name, arguments: args }));
}
const many = Array.from({ length: script.together }, (_, index) => `number ${index}`);
const calls = many.map((text) => ({ text, message: text }));
await attempt("together", () => Promise.all(calls.map((args) => call("echo", args))));
// Version 1 knows no subscriptions of this kind, version 2 in no older revision.
if (script.listen && listed.has("grow") && ["auto", "2026-07-28"].includes(mode)) await attempt("listen", listen);
for (const [name, args] of script.slow.filter(([name]) => listed.has(name))) {
  await attempt(`abandon ${name}`, () => call(name, args, { timeout: 300 }));
}
for (const [name, args, ending] of mode === "sdk" ? (script.tasks ?? []) : []) {
  await attempt(`task ${name}`, () => task(name, args, ending));
}
for (const step of script.close) await listings[step]();
await client.close();
tell("logs", logs);
