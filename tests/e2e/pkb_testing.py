# SPDX-License-Identifier: Apache-2.0
"""Starts the built programs the way a user does, and reads what they leave."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("PKB_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build"))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BAD = SOURCE / "tests" / "bad_candidates"


class Run:
    """One finished run of pkb_runner."""

    def __init__(self, process, folder):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.folder = folder

    @property
    def rows(self):
        """Rows of the journal, in order."""
        with open(self.folder / "results.jsonl", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    @property
    def json(self):
        return json.loads((self.folder / "results.json").read_text(encoding="utf-8"))

    @property
    def csv(self):
        with open(self.folder / "results.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def pkb_errors(self):
        return [line for line in self.err.splitlines() if line.startswith("pkb: ")]


class PkbTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pkb-test-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    @staticmethod
    def abandoned_shared_memory():
        """Objects of jobs that are gone; the name holds the process id of the job's rank 0."""
        objects = [path.name for path in pathlib.Path("/dev/shm").iterdir() if re.match(r"pkb-\d+-", path.name)]
        return [name for name in objects if not pathlib.Path("/proc", name.split("-")[1]).exists()]

    def mpirun(self, ranks, *arguments, timeout=300, environment=None):
        command = ["mpirun", "--oversubscribe", "-np", str(ranks), str(BUILD / "bin" / "pkb_runner"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                              env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL)

    def judge(self, ranks, *arguments, name="out", **options):
        """Runs on the host device into a folder of its own."""
        folder = self.scratch / name
        process = self.mpirun(ranks, "--device", "host", "--out", folder, *arguments, **options)
        return Run(process, folder)

    def assert_passed(self, run, count):
        self.assertEqual(run.code, 0, run.out + run.err)
        self.assertEqual([row["status"] for row in run.rows], ["passed"] * count, run.out)

    def assert_shipped_passed(self, run, count):
        """`count` shipped candidates pass; the other problems have none, which is no failure."""
        self.assertEqual(run.code, 0, run.out + run.err)
        judged = [row for row in run.rows if row["status"] != "skipped"]
        self.assertEqual([row["status"] for row in judged], ["passed"] * count, run.out)
        self.assertEqual({row["reason"] for row in run.rows if row["status"] == "skipped"},
                         {"no candidate is shipped for this problem"} if len(run.rows) > count else set())
