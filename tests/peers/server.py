"""A server on the Python SDK for the tests: one tool for each kind of answer, all of them the same on every run."""

import os
import sys
import time
from dataclasses import dataclass
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
from mcp_types import CreateMessageResult, ListResourcesResult, SamplingMessage, TextContent
from pydantic import BaseModel


class Paged(MCPServer):
    """The SDK's server; it lists two resources a page."""

    async def _handle_list_resources(self, ctx, params):
        """A page of the resources; the cursor is the number of the first one."""
        listed = await self.list_resources()
        first = int(params.cursor) if params and params.cursor else 0
        after = first + 2
        return ListResourcesResult(
            resources=listed[first:after], next_cursor=str(after) if after < len(listed) else None
        )


server = Paged("peer", version="1.0.0", instructions="A server for tests.")


@dataclass
class Weather:
    """A structured result."""

    place: str
    degrees: float
    dry: bool


class Answer(BaseModel):
    """What the user is asked for."""

    name: str


def ask_name() -> Elicit[Answer]:
    """Asks the user; a request of the server up to 2025-11-25, an input-required result from 2026-07-28 on."""
    return Elicit("Who are you?", Answer)


def sampled_answer(prompt: str) -> Sample:
    """Asks the client's model; the same two ways as above."""
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=prompt))], max_tokens=10)


@server.tool()
def echo(text: str) -> str:
    """Gives the text back."""
    return text


@server.tool()
def fail(reason: str) -> str:
    """Fails: the result has isError."""
    raise ValueError(reason)


@server.tool()
def weather(place: str) -> Weather:
    """Gives structured content."""
    return Weather(place, 21.5, True)


@server.tool()
def big(size: int) -> str:
    """Gives a long text with quotes, line ends and characters of two to four bytes."""
    piece = 'a "quoted" line\n\té€𝄞\\ '
    return (piece * (size // len(piece) + 1))[:size]


@server.tool()
async def count(steps: int, context: Context) -> str:
    """Reports its progress."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step}")
        await anyio.sleep(0.02)
    return f"counted to {steps}"


@server.tool()
async def wait() -> str:
    """Never answers; says on standard error that it was cancelled."""
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        print("wait: cancelled", file=sys.stderr, flush=True)
        raise
    return "not reached"


@server.tool()
async def note(text: str, context: Context) -> str:
    """Logs to the client, and writes lines to standard error: one, a blank one, and one that looks like JSON."""
    await context.info(text)
    print(f'note: {text}\n\n{{"jsonrpc":"2.0","method":"not/a/message"}}', file=sys.stderr, flush=True)
    return "noted"


@server.tool()
def ask(answer: Annotated[Answer, Resolve(ask_name)]) -> str:
    """Needs an answer of the user."""
    return f"hello, {answer.name}"


@server.tool()
def think(prompt: str, answer: Annotated[CreateMessageResult, Resolve(sampled_answer)]) -> str:
    """Needs an answer of the client's model."""
    return f"{len(prompt)} characters, answered by {answer.model}"


@server.tool()
async def busy(seconds: float) -> str:
    """Stops the whole server for a while: a cancellation is read too late, and the answer goes out all the same."""
    time.sleep(seconds)
    return "done"


@server.tool()
async def grow(context: Context) -> str:
    """Adds a tool and tells those who subscribed to changes."""

    def grown() -> str:
        """A tool that came later."""
        return "grown"

    server.add_tool(grown)
    await context.notify_tools_changed()
    return "one more tool"


@server.resource("note://fixed")
def fixed() -> str:
    """A resource."""
    return "fixed text"


@server.resource("note://second")
def second() -> str:
    """A resource on the first page."""
    return "second text"


@server.resource("note://third")
def third() -> str:
    """A resource on the second page."""
    return "third text"


@server.resource("note://by-name/{name}")
def by_name(name: str) -> str:
    """A resource behind a template."""
    return f"text of {name}"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    if "--banner" in sys.argv:
        # Start scripts do this: a line on standard output that is no message.
        os.write(1, b"peer server starting\n")
    if "--short-tracebacks" in sys.argv:
        # The name of an error without the places in files that lead to it.
        sys.tracebacklimit = 0
    print("peer server on standard error", file=sys.stderr, flush=True)
    server.run("stdio")
