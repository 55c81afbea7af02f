# SPDX-License-Identifier: Apache-2.0
"""Dumps every problem with the built pkb_runner and compares with the oracles: run.py W [--size smoke] [--problem LIST] [--json FILE]

Fails as well when a problem that ran left no dump, or when an oracle's problem is not in the catalogue.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import check

BUILD = pathlib.Path(os.environ.get("PKB_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build"))


def dump(world, size, selection, folder):
    """Runs the references alone; the rows of the journal."""
    command = ["mpirun", "--oversubscribe", "-np", str(world), str(BUILD / "bin" / "pkb_runner"), "--device", "host",
               "--candidate", "none", "--seed", "1", "--size", size, "--warmup", "0", "--iterations", "1",
               "--out", str(folder / "out"), "--dump", str(folder / "dump"), *(["--problem", selection] if selection else [])]
    process = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if process.returncode != 0:
        sys.exit(process.stdout + process.stderr + f"pkb_runner ended with {process.returncode}")
    with open(folder / "out" / "results.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def complaints(rows, dumped, world, is_whole):
    """What is missing. Problems that do not exist at this W are named, not passed over in silence."""
    found = []
    for row in rows:
        name = f"{row['problem_id']:02d}_{row['problem']}"
        if row["status"] == "skipped":
            print(f"{name} does not exist at W = {world}: {row['reason']}")
        elif name not in dumped:
            found.append(f"{name} ran at W = {world} and left no dump")
    known = {f"{row['problem_id']:02d}_{row['problem']}" for row in rows}
    for file in sorted(check.HERE.glob("[0-9][0-9]_*.py")):
        if is_whole and file.stem not in known:
            found.append(f"{file.name} is an oracle of no problem in the catalogue")
    return found


def main(arguments):
    parser = argparse.ArgumentParser(description="Dumps every problem and compares with the oracles.")
    parser.add_argument("world", type=int, metavar="W")
    parser.add_argument("--size", default="smoke")
    parser.add_argument("--problem", metavar="LIST", help="as pkb_runner takes it; all without it")
    parser.add_argument("--json", metavar="FILE", help="writes the table as JSON as well")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pkb-oracles-") as scratch:
        folder = pathlib.Path(scratch)
        rows = dump(options.world, options.size, options.problem, folder)
        failed = check.main([str(folder / "dump"), *(["--json", options.json] if options.json else [])])
        dumped = {path.name for path in (folder / "dump").iterdir()}
        missing = complaints(rows, dumped, options.world, is_whole=options.problem is None)
    for complaint in missing:
        print(complaint, file=sys.stderr)
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
