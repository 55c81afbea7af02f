# SPDX-License-Identifier: Apache-2.0
"""docs/first-kernel.md, followed to the letter: every file written, every command run, every promised outcome seen."""

import json
import os
import re
import subprocess

from pkb_testing import BUILD, SOURCE, PkbTest

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.M | re.S)


class FirstKernel(PkbTest):
    def test_every_step(self):
        # The commands are meant for the root of the repository; here its parts are linked into a scratch folder.
        for name in ("kernels", "scripts", "problems.yaml"):
            (self.scratch / name).symlink_to(SOURCE / name)
        (self.scratch / "build").symlink_to(BUILD)
        commands = 0
        for kind, file, text in BLOCK.findall((SOURCE / "docs" / "first-kernel.md").read_text(encoding="utf-8")):
            if file:
                path = self.scratch / file
                path.parent.mkdir(parents=True)
                path.write_text(text, encoding="utf-8")
            elif kind == "sh":
                for command in text.strip().splitlines():
                    commands += self.run_command(command)
        self.assertGreaterEqual(commands, 4)
        self.assertEqual(self.statuses("my_results"), {"mine": "passed"})
        self.assertEqual(self.statuses("my_results_2"), {"mine": "passed", "hasty": "mismatch"})

    def run_command(self, command):
        """1 when it was run; commands that need GPUs, or a build that is not in the source tree, are passed over."""
        text, _, comment = command.partition(" #")
        if "needs GPUs" in comment or (text == "scripts/setup" and BUILD.resolve() != (SOURCE / "build").resolve()):
            return 0
        process = subprocess.run(["bash", "-c", text], cwd=self.scratch, capture_output=True, text=True, check=False,
                                 timeout=600, env=os.environ, stdin=subprocess.DEVNULL)
        expected = int(comment.split("exit code")[1]) if "exit code" in comment else 0
        self.assertEqual(process.returncode, expected, command + "\n" + process.stdout + process.stderr)
        return 1

    def statuses(self, folder):
        with open(self.scratch / folder / "results.jsonl", encoding="utf-8") as lines:
            return {row["sample"]: row["status"] for row in map(json.loads, lines)}
