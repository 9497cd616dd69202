"""curl as a client of `serve`, over TCP and over the socket, and Prometheus' own parser of its metrics."""

import json
import subprocess
import unittest

from prometheus_client.parser import text_string_to_metric_families

from board import PATIENCE, Board


class Http(Board):
    def setUp(self):
        super().setUp()
        self.address = self.serve()

    def curl(self, *arguments):
        done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def over_socket(self, path, *arguments):
        return self.curl("--unix-socket", str(self.socket), f"http://localhost{path}", *arguments)

    def test_the_tools_are_called_as_their_list_says(self):
        for ask, count in [(lambda path, *a: self.curl(self.address + path, *a), 2), (self.over_socket, 4)]:
            tools = json.loads(ask("/api/tools"))["tools"]
            self.assertEqual(len(tools), count)
            for tool in tools:
                http = tool["http"]
                body = json.dumps({"raw_input": tool["example_input"]})
                said = json.loads(ask(http["path"], "-X", http["method"], "-d", body))
                self.assertEqual(said["tool"], tool["name"])
                self.assertTrue(said["output"])

    def test_the_bundle_works_as_it_is_written(self):
        bundle = json.loads(self.curl(self.address + "/api/tool-skills"))["skills"][0]
        commands = [line.strip() for line in bundle["markdown"].splitlines() if line.strip().startswith("curl ")]
        self.assertEqual(len(commands), 2)
        for command in commands:
            said = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
            self.assertFalse(json.loads(said.stdout)["is_error"], said)

    def test_a_large_body_and_a_foreign_host_are_refused(self):
        large = self.root / "large"
        with open(large, "wb") as file:
            file.truncate(1 << 30)
        status = ("-o", "/dev/null", "-w", "%{http_code}")
        said = self.curl(self.address + "/api/tools/skill_list", "-X", "POST", "-T", str(large), *status)
        self.assertEqual(said, "413")
        said = self.curl(self.address + "/api/tools", "-H", "Host: evil.example", *status)
        self.assertEqual(said, "421")

    def test_prometheus_reads_the_metrics(self):
        self.over_socket("/api/tools/skill_read", "-d", '{"input": {"name": "planner"}}')
        families = {family.name: family for family in text_string_to_metric_families(self.over_socket("/metrics"))}
        kinds = {name: family.type for name, family in families.items()}
        self.assertEqual(kinds["aiden_skills_tool_calls"], "counter")
        self.assertEqual(kinds["aiden_skills_skills"], "gauge")
        calls = families["aiden_skills_tool_calls"].samples
        read = [one.value for one in calls if one.labels == {"tool": "skill_read", "result": "ok"}]
        self.assertEqual(read, [1])


if __name__ == "__main__":
    unittest.main()
