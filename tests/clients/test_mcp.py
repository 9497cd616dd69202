"""The official Python SDK as a client of `mcp`, in the protocol of today and in the one before it."""

import asyncio
import base64
import json
import unittest
import warnings

import mcp
from mcp import Client, StdioServerParameters

from board import PROGRAM, Board

TOOLS = ["skill_list", "skill_read", "skill_manage", "skill_mark_used"]


class Mcp(Board):
    def client(self, **options):
        server = StdioServerParameters(command=PROGRAM, args=self.arguments("mcp"))
        return Client(server, read_timeout_seconds=20, cache=None, **options)

    def setUp(self):
        super().setUp()
        # Subscriptions of the protocol before 2026-07-28 are what one of the tests is about.
        warnings.simplefilter("ignore", mcp.MCPDeprecationWarning)

    def in_both(self, test):
        for mode in ["legacy", "auto"]:
            with self.subTest(mode):
                asyncio.run(test(mode))

    def called(self, result):
        self.assertFalse(result.is_error, result)
        return result.content[0].text

    def test_every_tool_is_listed_and_called(self):
        async def test(mode):
            async with self.client(mode=mode) as client:
                self.assertEqual(client.server_info.name, "aiden-skills")
                self.assertIn("skill_read", client.instructions)
                tools = (await client.list_tools()).tools
                self.assertEqual([tool.name for tool in tools], TOOLS)
                ours = json.loads(self.run_program("tools", "--format", "mcp"))["tools"]
                for tool, our in zip(tools, ours):
                    self.assertEqual(tool.input_schema, our["inputSchema"])
                    self.assertEqual(tool.description, our["description"])
                    said = tool.annotations.model_dump(by_alias=True, exclude_none=True)
                    self.assertEqual(said, our["annotations"])
                listed = json.loads(self.called(await client.call_tool("skill_list", {"query": "登录"})))
                self.assertEqual(listed[0]["name"], "app-login")
                patch = {
                    "action": "patch", "name": "planner", "reason": "a test",
                    "old_string": "# Planner" if mode == "legacy" else "# Planner of legacy",
                    "new_string": f"# Planner of {mode}",
                }
                refused = await client.call_tool("skill_manage", patch)
                self.assertTrue(refused.is_error)
                self.assertIn("skill_read", refused.content[0].text)
                text = self.called(await client.call_tool("skill_read", {"name": "planner"}))
                self.assertTrue(text.startswith("---\nname: planner\n"))
                self.called(await client.call_tool("skill_manage", patch))
                self.assertIn(f"# Planner of {mode}", self.text("planner"))
                self.called(await client.call_tool("skill_mark_used", {"name": "planner"}))
                with self.assertRaises(mcp.MCPError):
                    await client.call_tool("no_such_tool", {})

        self.in_both(test)
        usage = json.loads((self.agent / "skill-state" / "usage.json").read_text())
        self.assertEqual(usage["planner"]["use_count"], 2, "counts are written when a client goes")

    def test_a_skill_learns_and_guides_where_that_is_switched_on(self):
        (self.agent / "agent.toml").write_text("[skills.evolution]\nenabled = true\n")

        async def test(mode):
            async with self.client(mode=mode) as client:
                tools = (await client.list_tools()).tools
                self.assertEqual([tool.name for tool in tools], TOOLS + ["skill_guide", "skill_learn"])
                task = {
                    "skill": "planner", "signature": "plan_day", "task": "Always put the meals in first.",
                    "result": {"status": "success"},
                }
                learned = json.loads(self.called(await client.call_tool("skill_learn", task)))
                self.assertEqual(learned["action"], "ADD" if mode == "legacy" else "MERGE")
                asked = {"skill": "planner", "task": "Plan the meals of my day"}
                block = self.called(await client.call_tool("skill_guide", asked))
                self.assertIn("- Always put the meals in first\n", block)
                refused = await client.call_tool("skill_learn", {"skill": "none"})
                self.assertTrue(refused.is_error)

        self.in_both(test)

    def test_every_resource_is_listed_and_read(self):
        picture = bytes(range(256))
        assets = self.agent / "skills" / "planner" / "assets"
        assets.mkdir()
        (assets / "图 1.png").write_bytes(picture)

        async def test(mode):
            async with self.client(mode=mode) as client:
                resources = (await client.list_resources()).resources
                skills = self.agent / "skills"
                files = {str(path.relative_to(skills)) for path in skills.rglob("*") if path.is_file()}
                self.assertEqual(len(resources), len(files))
                for resource in resources:
                    content = (await client.read_resource(resource.uri)).contents[0]
                    if hasattr(content, "text"):
                        read = content.text.encode()
                    else:
                        read = base64.b64decode(content.blob)
                    name = resource.name if "/" in resource.name else f"{resource.name}/SKILL.md"
                    self.assertEqual(read, (skills / name).read_bytes(), resource.uri)
                    self.assertEqual(resource.size, len(read))
                    files.remove(name)
                self.assertFalse(files)
                templates = (await client.list_resource_templates()).resource_templates
                self.assertEqual(templates[0].uri_template, "skill://{name}/SKILL.md")
                for uri in ["skill://none/SKILL.md", "skill://planner/../x", "file:///etc/passwd"]:
                    with self.assertRaises(mcp.MCPError):
                        await client.read_resource(uri)
                # Who has read the resource has read the skill.
                patch = {"action": "patch", "name": "research", "reason": "a test",
                         "old_string": "# Research", "new_string": "# Research"}
                said = (await client.call_tool("skill_manage", patch)).content[0].text
                self.assertNotIn("before you change it", said)

        self.in_both(test)

    def test_changes_are_told_as_the_protocol_before_2026_07_28_says(self):
        heard = asyncio.Queue()

        async def hear(message):
            if method := getattr(message, "method", None):
                await heard.put((method, getattr(message.params, "uri", None)))

        async def test():
            async with self.client(mode="legacy", message_handler=hear) as client:
                await client.list_resources()
                await client.subscribe_resource("skill://planner/SKILL.md")
                self.change("planner", "# Planner", "# Another")
                self.assertEqual(
                    await asyncio.wait_for(heard.get(), 20),
                    ("notifications/resources/updated", "skill://planner/SKILL.md"),
                )
                self.tool("skill_manage", action="archive", name="research", reason="a test")
                method, _ = await asyncio.wait_for(heard.get(), 20)
                self.assertEqual(method, "notifications/resources/list_changed")
                uris = [resource.uri for resource in (await client.list_resources()).resources]
                self.assertNotIn("skill://research/SKILL.md", uris)
                await client.unsubscribe_resource("skill://planner/SKILL.md")

        asyncio.run(test())

    def test_changes_are_told_to_who_listens(self):
        async def test():
            async with self.client(mode="auto") as client:
                self.assertGreaterEqual(client.protocol_version, "2026-07-28")
                uri = "skill://planner/SKILL.md"
                listening = client.listen(resources_list_changed=True, resource_subscriptions=[uri])
                async with listening as events:
                    self.change("planner", "# Planner", "# Another")
                    event = await asyncio.wait_for(anext(events), 20)
                    self.assertEqual(getattr(event, "uri", None), uri)
                    self.tool("skill_manage", action="delete", name="research", reason="a test")
                    event = await asyncio.wait_for(anext(events), 20)
                    self.assertIn("ResourcesListChanged", type(event).__name__)

        asyncio.run(test())


if __name__ == "__main__":
    unittest.main()
