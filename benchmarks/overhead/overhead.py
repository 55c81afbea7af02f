#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the harness adds to a call: pkb_runner against a hand-written loop, in turns on the same machine.

    benchmarks/overhead/overhead.py BUILD [--ranks W] [--repeats 21] [--samples 3]

Both time the all-reduce of problem 1 with the same warm-up and iterations, for a call of a few microseconds and one of about a hundred,
as a stream and as a graph. Launch times differ by 5 % from process to process, so each side of a pair is the mean of some samples.
Prints the median of the paired ratios and their quartiles, and as `noise` the same of the hand-written loop against itself.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

MODES = ("stream", "graph")  # in the order in which hand_loop prints them
HERE = pathlib.Path(__file__).resolve().parent


def catalogue_for_any_world(folder):
    """Problem 1 alone, with W = 1 allowed, so that one GPU is enough to measure the harness."""
    text = (HERE.parents[1] / "problems.yaml").read_text(encoding="utf-8")
    first = text[:text.index("  - id: 2\n")]
    file = pathlib.Path(folder) / "problems.yaml"
    file.write_text(first.replace("    level: 1\n", "    level: 1\n    world: W >= 1\n", 1), encoding="utf-8")
    return file


def mpirun(ranks, *command):
    result = subprocess.run(["mpirun", "-np", str(ranks), *map(str, command)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(result.stdout + result.stderr)
    return result.stdout


def runner_times(build, ranks, shape, samples, scratch):
    """A worker of its own for every sample."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch)) / "out"
    mpirun(ranks, build / "bin/pkb_runner", "--catalogue", catalogue_for_any_world(folder.parent), "--problem", 1, "--device", "cuda",
           "--set", f"M={shape[0]}", "--set", f"N={shape[1]}", "--timing", "stream,graph", "--trials", 1, "--repeat", samples,
           "--out", folder)
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return {mode: statistics.mean(row["candidate_mean_us"] for row in rows if row["timing"] == mode) for mode in MODES}


def hand_times(build, ranks, shape, samples):
    candidate = build / "lib/pkb/01_allreduce/candidate.cuda.so"
    runs = [mpirun(ranks, build / "benchmarks/hand_loop", candidate, *shape, 500, 100).split() for _ in range(samples)]
    return {mode: statistics.mean(float(run[i]) for run in runs) for i, mode in enumerate(MODES)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--samples", type=int, default=3, help="runs of each side that a pair averages")
    parser.add_argument("--call", choices=("short", "long"), help="one of the two alone")
    options = parser.parse_args()
    # About 100 us: 16 MiB over the link, or 160 MiB copied in one GPU's memory.
    long_shape = (8192, 1024) if options.ranks > 1 else (81920, 1024)
    print("# call  mode    runner us  by hand us  ratio: median [quartiles]  noise: median [quartiles]")
    with tempfile.TemporaryDirectory() as scratch:
        for name, shape in (("short", (1, 512)), ("long", long_shape)):
            if options.call in (None, name):
                compare(options, name, shape, scratch)


def compare(options, name, shape, scratch):
    sides = {"runner": lambda: runner_times(options.build, options.ranks, shape, options.samples, scratch),
             "hand": lambda: hand_times(options.build, options.ranks, shape, options.samples)}
    taken = {side: [] for side in sides}
    for repeat in range(options.repeats):
        # Who goes first alternates, so that a drift of the clocks hits both alike.
        for side in sorted(sides, reverse=repeat % 2 == 1):
            taken[side].append(sides[side]())
    for mode in MODES:
        runner, hand = ([times[mode] for times in taken[side]] for side in ("runner", "hand"))
        print(f"{name:6}  {mode:6}  {statistics.median(runner):9.3f}  {statistics.median(hand):10.3f}  "
              f"{spread(runner, hand)}   {spread(hand[1:], hand)}", flush=True)


def spread(first, second):
    low, middle, high = statistics.quantiles([a / b for a, b in zip(first, second)], n=4)
    return f"{middle:.4f} [{low:.4f} {high:.4f}]"


if __name__ == "__main__":
    main()
