"""A board for the tests: a bundle, a config dir, and the program on them."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["AIDEN_PROGRAM"]
OUTPUT = pathlib.Path(os.environ["AIDEN_OUTPUT"])
SKILLS = pathlib.Path(__file__).resolve().parents[2] / "oem-skills"
PATIENCE = 30


class Board(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = pathlib.Path(root.name)
        self.bundle = self.root / "bundle"
        self.agent = self.root / "agent"
        self.agent.mkdir()
        subprocess.run(["cp", "-r", SKILLS, self.bundle], check=True)
        self.run_program("sync")

    def arguments(self, *arguments):
        return ["--config-dir", str(self.agent), "--bundled-dir", str(self.bundle), *arguments]

    def run_program(self, *arguments, code=0):
        done = subprocess.run(
            [PROGRAM, *self.arguments(*arguments)], capture_output=True, text=True, timeout=PATIENCE
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def tool(self, tool, **given):
        return self.run_program("tool", tool, json.dumps(given))

    def text(self, skill):
        return (self.agent / "skills" / skill / "SKILL.md").read_text()

    def change(self, skill, old, new):
        path = self.agent / "skills" / skill / "SKILL.md"
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def serve(self, *flags):
        """Starts the daemon; returns what it prints, by line."""
        self.socket = self.root / "s.sock"
        log = open(self.root / "log", "w+")
        daemon = subprocess.Popen(
            [PROGRAM, *self.arguments("-v", "serve", "--socket", str(self.socket), "--http", "127.0.0.1:0", *flags)],
            stdout=log,
            stderr=log,
        )

        def stop():
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(5), 0, (self.root / "log").read_text())
            log.close()

        self.addCleanup(stop)
        return "http://" + self.said("listening on http://")

    def said(self, before):
        """What follows `before` in what the daemon says, sooner or later."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for line in (self.root / "log").read_text().splitlines():
                if before in line:
                    return line.split(before, 1)[1]
            time.sleep(0.02)
        self.fail(f"the daemon never said {before!r}: {(self.root / 'log').read_text()}")
