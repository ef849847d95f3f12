"""The official Python client, over standard input and output."""

import asyncio
import json
import os
import pathlib
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TOOLS = ["Task", "TaskOutput", "TaskStop", "subagent_list", "subagent_describe", "subagent_run"]


def structured(result):
    """The values of an answer, by whichever name this version of the client has for them."""
    return getattr(result, "structured_content", None) or result.structuredContent


def is_error(result):
    return result.is_error if hasattr(result, "is_error") else result.isError


async def use(session):
    await session.initialize()
    listed = await session.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    run = await session.call_tool("subagent_run", {"name": "Explore", "task": "where is zanzibar?"})
    assert structured(run)["success"] is True, run
    assert "treasure.txt" in structured(run)["output"], run
    assert json.loads(run.content[0].text) == structured(run)
    failed = await session.call_tool("subagent_describe", {"name": "nobody"})
    assert is_error(failed), failed
    prompts = await session.list_prompts()
    assert any(prompt.name == "explore" for prompt in prompts.prompts), prompts
    resources = await session.list_resources()
    assert len(resources.resources) == 2, resources


async def main(attache):
    with tempfile.TemporaryDirectory() as place:
        home, project = pathlib.Path(place, "home"), pathlib.Path(place, "project")
        home.mkdir()
        (project / ".git").mkdir(parents=True)
        (project / "treasure.txt").write_text("the parrot lives in zanzibar\n")
        env = {"HOME": str(home), "PATH": os.defpath}
        server = StdioServerParameters(command=attache, args=["mcp"], env=env, cwd=str(project))
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write) as session:
                await use(session)
    print("ok      Python client, standard input and output")


asyncio.run(asyncio.wait_for(main(sys.argv[1]), 60))
