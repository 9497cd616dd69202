"""The inspector of the Model Context Protocol, in its command-line mode, as a client of `mcp`."""

import json
import os
import subprocess
import unittest

from board import PROGRAM, Board

INSPECTOR = os.environ["AIDEN_INSPECTOR"].split()


class Inspector(Board):
    def inspect(self, *arguments):
        command = [*INSPECTOR, "--cli", PROGRAM, *self.arguments("mcp"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def call(self, tool, **given):
        arguments = [part for name, value in given.items() for part in ("--tool-arg", f"{name}={value}")]
        said = self.inspect("--method", "tools/call", "--tool-name", tool, *arguments)
        self.assertFalse(said.get("isError"), said)
        return said["content"][0]["text"]

    def test_it_lists_and_calls_every_tool(self):
        tools = self.inspect("--method", "tools/list")["tools"]
        names = ["skill_list", "skill_read", "skill_manage", "skill_mark_used"]
        self.assertEqual([tool["name"] for tool in tools], names)
        self.assertIn('"name":"planner"', self.call("skill_list", query="plan"))
        self.assertTrue(self.call("skill_read", name="planner").startswith(self.text("planner")))
        self.call("skill_manage", action="mark_stale", name="planner", reason="a test")
        self.assertIn("active again", self.call("skill_mark_used", name="planner"))

    def test_it_lists_and_reads_resources(self):
        resources = self.inspect("--method", "resources/list")["resources"]
        skills = self.agent / "skills"
        self.assertEqual(len(resources), sum(path.is_file() for path in skills.rglob("*")))
        said = self.inspect("--method", "resources/read", "--uri", "skill://planner/SKILL.md")
        self.assertEqual(said["contents"][0]["text"], self.text("planner"))
        templates = self.inspect("--method", "resources/templates/list")["resourceTemplates"]
        self.assertEqual(len(templates), 2)


if __name__ == "__main__":
    unittest.main()
