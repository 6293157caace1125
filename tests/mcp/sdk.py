"""The tools of `doze mcp` through the official Python SDK: what a real client sees."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def told(result):
    return result.content[0].text


async def main(doze, home, project):
    server = StdioServerParameters(
        command=doze, args=["mcp", "--cwd", project, "--mode", "accept"], env={"DOZE_HOME": home}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "doze", hello
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools == ["memory_search", "memory_record", "memory_feedback", "task_context"], tools
        lesson = {"type": "lesson", "title": "Use the forks pool", "body": "Threads hang on sqlite."}
        kept = await session.call_tool("memory_record", lesson)
        assert not kept.is_error, kept
        found = await session.call_tool("memory_search", {"query": "forks pool", "limit": "5"})
        hits = json.loads(told(found))["hits"]
        assert [hit["title"] for hit in hits] == ["Use the forks pool"], hits
        assert found.structured_content == {"hits": hits}, found
        judged = await session.call_tool("memory_feedback", {"id": hits[0]["id"], "verdict": "helpful"})
        assert not judged.is_error, judged
        wrong = await session.call_tool("memory_record", {"type": "lesson", "title": "x" * 121, "body": "b"})
        assert wrong.is_error and "120" in told(wrong), wrong
        task = await session.call_tool("task_context", {})
        assert not task.is_error, task
        for result in (kept, found, judged, wrong, task):
            print(told(result))


asyncio.run(main(*sys.argv[1:]))
