"""Drives any stdio server through the Python SDK client: `client.py MODE -- COMMAND…`.

MODE is `legacy`, `auto` or a revision. Prints one line of JSON a step; what differs from run to run is replaced.
Standard error of the server is passed on.
"""

import json
import re
import sys
import warnings

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters

# Calls for the servers that the tests use; a server gets those whose tool it lists.
CALLS = [
    ("echo", {"text": "héllo \u2028 \U0001d11e"}),
    ("echo", {"message": "to everything"}),
    ("echo", {}),
    ("fail", {"reason": "on purpose"}),
    ("weather", {"place": "here"}),
    ("big", {"size": 100_000}),
    ("count", {"steps": 4}),
    ("note", {"text": "written down"}),
    ("ask", {}),
    ("get-sum", {"a": 2, "b": 40}),
    ("get-tiny-image", {}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-structured-content", {"location": "Chicago"}),
    ("get-resource-links", {"count": 3}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
    ("trigger-sampling-request", {"prompt": "say something", "maxTokens": 10}),
    ("trigger-elicitation-request", {}),
    ("no-such-tool", {}),
]
READS = ["note://fixed", "note://by-name/é", "demo://resource/dynamic/text/1", "no://such"]
PROMPTS = [("greet", {"name": "you"}), ("simple-prompt", {}), ("args-prompt", {"city": "Here"}), ("no-such-prompt", {})]
SLOW = [("wait", {}), ("trigger-long-running-operation", {"duration": 30, "steps": 2})]


def plain(value):
    """A result as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def normal(text):
    """Replaces the time of day in resources of server-everything, and sealed state."""
    text = re.sub(r"\b\d{1,2}:\d{2}:\d{2}( [AP]M)?", "<time>", text)
    return re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>", text)


def tell(step, value):
    """Prints one step."""
    print(normal(json.dumps({"step": step, "result": plain(value)}, ensure_ascii=False, sort_keys=True)), flush=True)


async def attempt(step, work):
    """Prints what the work gives, or its error."""
    try:
        value = await work()
    except Exception as error:  # every failure of a step is a result to compare
        value = {"error": type(error).__name__, "code": getattr(error, "code", None), "message": str(error)}
    tell(step, value)
    return value


async def sampled(_context, params):
    """Answers a sampling request."""
    content = types.TextContent(type="text", text=f"an answer within {params.max_tokens} tokens")
    return types.CreateMessageResult(role="assistant", content=content, model="none", stop_reason="endTurn")


async def elicited(_context, _params):
    """Answers an elicitation."""
    return types.ElicitResult(action="accept", content={"name": "tester"})


async def drive(mode, command):
    """Runs the fixed script."""
    logs = []

    async def logged(params):
        logs.append(plain(params))

    parameters = StdioServerParameters(command=command[0], args=command[1:])
    client = Client(
        parameters,
        mode=mode,
        sampling_callback=sampled,
        elicitation_callback=elicited,
        logging_callback=logged,
        log_level="info",
        read_timeout_seconds=30,
    )
    async with client:
        tell("connected", [client.protocol_version, plain(client.server_info), plain(client.server_capabilities)])
        await attempt("ping", client.send_ping)
        await attempt("level", lambda: client.set_logging_level("info"))
        tools = await attempt("tools", client.list_tools)
        listed = {tool.name for tool in tools.tools} | {"no-such-tool"} if hasattr(tools, "tools") else set()
        await attempt("resources", client.list_resources)
        await attempt("templates", client.list_resource_templates)
        await attempt("prompts", client.list_prompts)
        for name, arguments in CALLS:
            if name in listed:
                progress = []

                async def reported(*step):
                    progress.append(step)

                call = lambda: client.call_tool(name, arguments, progress_callback=reported)
                await attempt(f"call {name}", call)
                tell(f"progress {name}", progress)
        for uri in READS:
            await attempt(f"read {uri}", lambda: client.read_resource(uri))
        for name, arguments in PROMPTS:
            await attempt(f"prompt {name}", lambda: client.get_prompt(name, arguments))
        await together(client, listed)
        for name, arguments in SLOW:
            if name in listed:
                await attempt(f"abandon {name}", lambda: client.call_tool(name, arguments, read_timeout_seconds=0.3))
        await attempt("tools again", client.list_tools)
    tell("logs", logs)


async def together(client, listed):
    """Ten calls at once; their answers are told in the order of the calls."""
    results = [None] * 10

    async def one(index):
        arguments = {"text": f"number {index}", "message": f"number {index}"}
        results[index] = plain(await client.call_tool("echo", arguments))

    if "echo" in listed:
        async with anyio.create_task_group() as group:
            for index in range(len(results)):
                group.start_soon(one, index)
        tell("together", results)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    split = sys.argv.index("--")
    anyio.run(drive, sys.argv[split - 1], sys.argv[split + 1 :])
