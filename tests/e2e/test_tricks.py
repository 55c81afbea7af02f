# SPDX-License-Identifier: Apache-2.0
"""The judge sees through the known tricks: tests/bad_candidates/tricks, a small candidate a trick.

Each file's first comment says the status it must get, and where the trick exists. `python3 test_tricks.py --table` writes
the table of the folder's README.
"""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import sys
import unittest

from pkb_testing import BAD, BUILD, PkbTest

TRICKS = BAD / "tricks"
LAST_TRICK = 33
FIELDS = {"status", "on host", "devices", "caught by", "out of reach", "open", "problem"}

# What still gets through on the host device, and the status it gets: each waits for a change of the runner.
KNOWN = {
    "10_thread_from_setup": ["passed"],
    "13_works_when_continued": ["passed"],
    "33_constructor_starts_a_thread": ["passed"],
}


class Trick:
    """What a file says about itself."""

    def __init__(self, file):
        self.file, self.name, self.fields = file, file.stem, {}
        key = None
        for line in file.read_text(encoding="utf-8").splitlines()[2:]:
            if not line.startswith("// "):
                break
            field = re.match(r"// ([a-z ]+|Trick \d+): (.*)", line)
            if field and (field[1] in FIELDS or field[1].startswith("Trick")):
                key = "what" if field[1].startswith("Trick") else field[1]
                self.fields[key] = field[2]
                if key == "what":
                    self.number = int(field[1].split()[1])
            elif line.startswith("//   "):
                self.fields[key] += " " + line[5:]

    def __getitem__(self, field):
        return self.fields.get(field, "")

    @property
    def status(self):
        return self["status"]

    @property
    def host_status(self):
        """The first word says it, the rest why."""
        return re.match(r"\w+", self["on host"] or self.status)[0]

    @property
    def on_host(self):
        return "host" in self["devices"].split()

    @property
    def problem(self):
        return int(self["problem"] or 1)


def all_tricks():
    return [Trick(file) for file in sorted(TRICKS.glob("*.cu"))]


def table():
    lines = ["| trick | file | what it does | status | devices | how it is caught, or why it is not |", "|---|---|---|---|---|---|"]
    for trick in all_tricks():
        how = [trick["caught by"]]
        how += [f"{word}: {trick[word]}" for word in ("on host", "out of reach", "open") if trick[word]]
        cells = [str(trick.number), trick.file.name, trick["what"], trick.status, trick["devices"], ". ".join(how)]
        lines.append("| " + " | ".join(cell.rstrip(".").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def readme_with(rows):
    text = (TRICKS / "README.md").read_text(encoding="utf-8")
    head, tail = text.split("<!-- table -->\n")[0], text.split("<!-- end of table -->\n")[1]
    return f"{head}<!-- table -->\n{rows}<!-- end of table -->\n{tail}"


class Tricks(PkbTest):
    maxDiff = None

    def test_files_describe_themselves(self):
        tricks = all_tricks()
        self.assertEqual({trick.number for trick in tricks}, set(range(1, LAST_TRICK + 1)))
        for trick in tricks:
            with self.subTest(file=trick.file.name):
                self.assertTrue(trick.name.startswith(f"{trick.number:02}_"))
                self.assertLessEqual(set(trick["devices"].split()), {"host", "cuda"})
                for field in ("what", "status", "devices", "caught by"):
                    self.assertTrue(trick[field], field)
        self.assertLessEqual(set(KNOWN), {trick.name for trick in tricks if trick.on_host})

    def test_table(self):
        self.assertEqual((TRICKS / "README.md").read_text(encoding="utf-8"), readme_with(table()),
                         "write it anew: python3 tests/e2e/test_tricks.py --table")

    def judge_all(self, problem, tricks):
        """All tricks of a problem as samples of one run, the shipped candidate among them."""
        modules = BUILD / "lib/pkb"
        name = next(modules.glob(f"{problem:02}_*")).name
        folder = self.scratch / "candidates" / name
        folder.mkdir(parents=True)
        for header in [*TRICKS.glob("*.cuh"), *TRICKS.glob("*.h")]:
            shutil.copy(header, folder)
        for trick in tricks:
            shutil.copy(trick.file, folder)
        good = modules / name / "candidate.host.so"
        if good.exists():
            shutil.copy(good, folder / "good.so")
        run = self.judge(2, "--problem", problem, "--candidate", self.scratch / "candidates", "--trials", 5, "--timeout", 20,
                         name=f"out{problem}", environment={"PKB_CACHE_DIR": self.cache()})
        self.assertEqual(run.code, 1, run.out + run.err)
        if good.exists():
            self.assertEqual([row["status"] for row in run.rows if row["sample"] == "good"], ["passed"], run.out)
        return run

    @staticmethod
    def cache():
        """Modules are kept by their sources, which do not show that a header of this folder has changed."""
        headers = b"".join(file.read_bytes() for file in sorted([*TRICKS.glob("*.cuh"), *TRICKS.glob("*.h")]))
        return str(BUILD / "tricks" / hashlib.sha256(headers).hexdigest()[:16])

    def check_nothing_is_left(self):
        self.assertEqual(self.abandoned_shared_memory(), [], "shared memory")
        processes = self.processes_left()
        for process in processes:
            os.kill(process, signal.SIGKILL)
        self.assertEqual(processes, [], "processes")

    def processes_left(self):
        """Workers and their children write to logs in this test's folder."""
        left = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "fd/1").startswith(f"{self.scratch}/"):
                    left.append(int(entry.name))
            except OSError:  # gone, or not ours
                continue
        return left

    def test_on_host(self):
        tricks = [trick for trick in all_tricks() if trick.on_host]
        for problem in sorted({trick.problem for trick in tricks}):
            samples = [trick for trick in tricks if trick.problem == problem]
            run = self.judge_all(problem, samples)
            for trick in samples:
                rows = [row for row in run.rows if row["sample"] == trick.name]
                statuses, expected = [row["status"] for row in rows], [trick.host_status]
                with self.subTest(file=trick.file.name):
                    if trick.name in KNOWN and statuses == KNOWN[trick.name]:
                        continue
                    if trick.name in KNOWN:
                        print(f"{trick.file.name}: {statuses}, no longer {KNOWN[trick.name]}: take it out of KNOWN", file=sys.stderr)
                    self.assertEqual(statuses, expected, [row["reason"] for row in rows])
        self.check_nothing_is_left()


if __name__ == "__main__":
    if "--table" in sys.argv:
        (TRICKS / "README.md").write_text(readme_with(table()), encoding="utf-8")
    else:
        unittest.main()
