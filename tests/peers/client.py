"""Drives any stdio server through the Python SDK client: `client.py MODE [SCRIPT] -- COMMAND…`.

MODE is `legacy`, `auto` or a revision. SCRIPT names a list of calls.json (`whole`); a server gets those calls whose
tool it lists. Prints one line of JSON a step; what differs from run to run is replaced. Standard error of the server
is passed on.
"""

import json
import re
import sys
import warnings
from pathlib import Path

import anyio
import mcp_types as types
from mcp import Client, StdioServerParameters

SCRIPTS = json.loads(Path(__file__).with_name("calls.json").read_text())


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


async def drive(mode, script, command):
    """Runs a script."""
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
        listed = await listings(client, script["open"])
        for name, arguments in script["calls"]:
            if name in listed:
                progress = []

                async def reported(*step):
                    progress.append(step)

                call = lambda: client.call_tool(name, arguments, progress_callback=reported)
                await attempt(f"call {name}", call)
                tell(f"progress {name}", progress)
        for uri in script["reads"]:
            await attempt(f"read {uri}", lambda: client.read_resource(uri))
        for name, arguments in script["prompts"]:
            await attempt(f"prompt {name}", lambda: client.get_prompt(name, arguments))
        if "echo" in listed and script["together"]:
            await together(client, script["together"])
        if "grow" in listed and script["listen"]:
            await attempt("listen", lambda: listen(client))
        for name, arguments in script["slow"]:
            if name in listed:
                await attempt(f"abandon {name}", lambda: client.call_tool(name, arguments, read_timeout_seconds=0.3))
        await listings(client, script["close"])
    tell("logs", logs)


async def listings(client, steps):
    """The steps that ask what there is; gives the names of the tools, and one that no server has."""
    names = {"no-such-tool"}
    for step in steps:
        if step == "ping":
            await attempt(step, client.send_ping)
        elif step == "level":
            await attempt(step, lambda: client.set_logging_level("info"))
        elif step == "tools":
            names |= {tool.name for tool in await pages(step, client.list_tools, "tools")}
        elif step == "resources":
            await pages(step, client.list_resources, "resources")
        elif step == "templates":
            await pages(step, client.list_resource_templates, "resource_templates")
        else:
            await pages(step, client.list_prompts, "prompts")
    return names


async def pages(step, method, field):
    """Asks for every page of a list."""
    found, cursor = [], None
    while True:
        page = await attempt(step, lambda: method(cursor=cursor, cache_mode="refresh"))
        found += getattr(page, field, [])
        cursor = getattr(page, "next_cursor", None)
        if not cursor:
            return found


async def listen(client):
    """Subscribes to changes of the tools, has the server make one, and ends the subscription."""
    async with client.listen(tools_list_changed=True) as subscription:
        await client.call_tool("grow", {})
        return type(await anext(aiter(subscription))).__name__


async def together(client, number):
    """Several calls at once; their answers are told in the order of the calls."""
    results = [None] * number

    async def one(index):
        arguments = {"text": f"number {index}", "message": f"number {index}"}
        results[index] = plain(await client.call_tool("echo", arguments))

    async with anyio.create_task_group() as group:
        for index in range(number):
            group.start_soon(one, index)
    tell("together", results)


def main():
    """Reads the command line."""
    split = sys.argv.index("--")
    mode, *script = sys.argv[1:split]
    anyio.run(drive, mode, SCRIPTS[script[0] if script else "whole"], sys.argv[split + 1 :])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
