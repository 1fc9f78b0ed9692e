"""A server on the Python SDK that has what the server of tests/fixtures/samples had, under the same names."""

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern", version="1.2.3", instructions="test server")


@server.tool(name="echo", description="Echo")
def echo(message: str) -> str:
    """Gives the text back."""
    return f"Echo: {message}"


@server.tool(name="get-sum", description="Sum")
def get_sum(a: float, b: float) -> float:
    """Adds two numbers."""
    return a + b


@server.tool(name="get-structured-content", description="Weather")
def structured(location: str) -> dict[str, float]:
    """Gives structured content."""
    return {"degrees": 21.5, "letters": len(location)}


@server.tool(name="trigger-long-running-operation", description="Slow")
async def long(duration: float, steps: int, context: Context) -> str:
    """Reports its progress."""
    for step in range(1, steps + 1):
        await anyio.sleep(duration / steps)
        await context.report_progress(step, steps)
    return "done"


if __name__ == "__main__":
    server.run("stdio")
