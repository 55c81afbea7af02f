#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the problems written naturally in Python with torch.distributed, next to pkb's references.

    mpirun -np W build/bin/pkb_runner --candidate none --trials 1 --suite all --dump DUMP --out RUN
    benchmarks/baselines/measure.py DUMP [--results RUN] [--device cuda|cpu] [--problem 12,13] [--json FILE]

A program, NN_name.py, has a function run(inputs, scalars, params, team) -> outputs: one rank's part of the problem, as
a PyTorch programmer writes it. It is checked against the dumped outputs and timed as pkb times a reference: calls back to back
over copies of the inputs, events around them, the slowest rank counts. A program with IN_PLACE = True changes its
inputs: they are restored before every call, outside the measured span, and the mean of the single calls counts.
"""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import re
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

HERE = pathlib.Path(__file__).resolve().parent
# Bytes of copies of the inputs, seconds of one measurement, the relative error (root of the mean square) that tells a
# wrong program from roundings.
MOST_BYTES, MOST_SECONDS, LIMIT = 4 << 30, 1.0, 0.03
WARMUP, CALLS = 100, 100


class Team:
    """The ranks of the job and their sub-groups."""

    def __init__(self, rank, world, device):
        self.rank, self.world, self.device = rank, world, device
        self._groups = {}

    def group_of(self, lists):
        """The process group, among `lists` of ranks, that this rank is in; every rank calls it with the same lists."""
        key = tuple(map(tuple, lists))
        if key not in self._groups:
            groups = [(members, dist.new_group(list(members))) for members in key]
            self._groups[key] = next((group for members, group in groups if self.rank in members), None)
        return self._groups[key]


def load_program(file):
    spec = importlib.util.spec_from_file_location(f"program_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mapped(value, function):
    """Of a tensor, a list of tensors, or None."""
    if isinstance(value, list):
        return [mapped(item, function) for item in value]
    return None if value is None else function(value)


def copy(tensor):
    """With its strides."""
    other = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
    return other.copy_(tensor)


def tensors_of(value):
    if isinstance(value, list):
        return [tensor for item in value for tensor in tensors_of(item)]
    return [] if value is None else [value]


def error_of(output, expected):
    """Relative, of all elements together; infinite where shapes or kinds differ."""
    worst = 0.0
    ours, theirs = tensors_of(output), tensors_of(expected)
    if len(ours) != len(theirs):
        return math.inf
    for got, want in zip(ours, theirs):
        got = got.cpu()
        if got.shape != want.shape or got.dtype != want.dtype:
            return math.inf
        if not want.is_floating_point() and not want.is_complex():
            worst = max(worst, (got != want).double().mean().item() if want.numel() else 0.0)
            continue
        got, want = (t.to(torch.complex128 if t.is_complex() else torch.float64) for t in (got, want))
        same = (got == want) | (got.isnan() & want.isnan())
        difference = torch.where(same, 0, got - want)
        scale = torch.where(want.isfinite(), want, 0).abs().square().sum().sqrt().item()
        wrong = difference.abs().square().sum().sqrt().item()
        worst = max(worst, wrong / scale if scale else wrong)
    return worst if not math.isnan(worst) else math.inf


class Clock:
    """Events on a GPU, the clock of the host elsewhere."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def now(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def microseconds(self, start, end):
        return start.elapsed_time(end) * 1e3 if self.cuda else (end - start) * 1e6


def slowest(microseconds, team):
    value = torch.tensor([microseconds], dtype=torch.float64, device=team.device)
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return value.item()


def measure(program, call, inputs, team):
    """Microseconds a call, of the slowest rank."""
    clock = Clock(team.device)
    in_place = getattr(program, "IN_PLACE", False)
    bytes_of_call = sum(t.numel() * t.element_size() for value in inputs.values() for t in tensors_of(value))
    # On every rank as many: the calls belong together.
    copies = int(-slowest(-max(1, min(CALLS, MOST_BYTES // max(1, bytes_of_call))), team))
    slots = [{name: mapped(value, copy) for name, value in inputs.items()} for _ in range(copies)]

    @torch.inference_mode()
    def one(slot):
        return program.run(slot, call["scalars"], call["params"], team)

    def restore(slot):
        for name, value in inputs.items():
            for target, source in zip(tensors_of(slot[name]), tensors_of(value)):
                target.copy_(source)

    def loop(count):
        if not in_place:
            start = clock.now()
            for i in range(count):
                one(slots[i % copies])
            end = clock.now()
            clock.wait()
            return clock.microseconds(start, end) / count
        total = 0.0
        for i in range(count):
            restore(slots[i % copies])
            together = torch.zeros(1, device=team.device)
            dist.all_reduce(together)
            clock.wait()
            start = clock.now()
            one(slots[i % copies])
            end = clock.now()
            clock.wait()
            total += slowest(clock.microseconds(start, end), team)
        return total / count

    loop(3)
    expected_us = slowest(loop(3), team)
    count = max(5, min(CALLS, int(MOST_SECONDS * 1e6 / max(1.0, expected_us))))
    loop(min(WARMUP, count))
    dist.barrier()
    return slowest(loop(count), team)


def judge(folder, team):
    """One problem: (microseconds, relative error by output, the outputs' limits)."""
    file = HERE / f"{folder.name}.py"
    program = load_program(file)
    [dump] = folder.glob(f"*.trial0.rank{team.rank}.pt")
    call = torch.load(dump, weights_only=True)
    # Numbers that the problem keeps on the host stay there.
    on_host = set(getattr(program, "ON_HOST", ()))
    inputs = {name: value if name in on_host else mapped(value, lambda t: t.to(team.device)) for name, value in call["inputs"].items()}
    fresh = {name: mapped(value, copy) for name, value in inputs.items()}
    with torch.inference_mode():
        outputs = program.run(fresh, call["scalars"], call["params"], team)
    missing = set(call["expected"]) - set(outputs)
    errors = {name: math.inf for name in missing}
    errors.update((name, error_of(outputs[name], want)) for name, want in call["expected"].items() if name not in missing)
    del fresh, outputs
    return measure(program, call, inputs, team), errors, getattr(program, "LIMITS", {})


def work(rank, world, options, names, device_type):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "0")  # the flight recorder costs time in every collective
    os.environ["MASTER_PORT"] = str(options.port)
    device = torch.device(device_type, rank) if device_type == "cuda" else torch.device("cpu")
    if device_type == "cuda":
        torch.cuda.set_device(device)
        # As pkb sets it: products of bf16 matrices are summed in fp32 to the end.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        dist.init_process_group("nccl", rank=rank, world_size=world, device_id=device)
    else:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", rank=rank, world_size=world)
    sys.path.insert(0, str(HERE))
    team = Team(rank, world, device)
    references = reference_times(options.results)
    lines = []
    if rank == 0:
        print(f"{'# problem':44} {'python us':>10} {'reference us':>12} {'ratio':>6} {'error':>8}")
    for name in names:
        microseconds, errors, limits = judge(options.dump / name, team)
        everyone = [None] * world
        dist.all_gather_object(everyone, errors)
        if device_type == "cuda":
            torch.cuda.empty_cache()
        if rank != 0:
            continue
        worst = {output: max(one.get(output, math.inf) for one in everyone) for output in errors}
        reference = references.get(name)
        wrong = {output: value for output, value in worst.items() if not value <= limits.get(output, LIMIT)}
        line = {"problem": name, "python_us": microseconds, "reference_us": reference, "wrong": list(wrong)}
        lines.append(line)
        ratio = f"{reference / microseconds:6.2f}" if reference else f"{'-':>6}"
        print(f"{name:44} {microseconds:10.1f} {reference or math.nan:12.1f} {ratio} {max(worst.values()):8.1e}"
              + (f"  WRONG: {wrong}" if wrong else ""), flush=True)
    if rank == 0 and options.json:
        options.json.write_text(json.dumps(lines, indent=1) + "\n")
    dist.destroy_process_group()
    if rank == 0 and any(line["wrong"] for line in lines):
        sys.exit(1)


def reference_times(folder):
    if folder is None:
        return {}
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return {f"{row['problem_id']:02d}_{row['problem']}": row["reference_mean_us"] for row in rows
            if row.get("reference_mean_us")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="folder of the run that left the dump")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--problem", help="ids, comma-separated")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=29555)
    options = parser.parse_args()
    wanted = {int(number) for number in options.problem.split(",")} if options.problem else None
    names = [folder.name for folder in sorted(options.dump.iterdir()) if wanted is None or int(folder.name[:2]) in wanted]
    without = [name for name in names if not (HERE / f"{name}.py").exists()]
    for name in without:
        print(f"no program for {name}")
    names = [name for name in names if name not in without]
    if not names:
        sys.exit("nothing to measure")
    world = max(int(re.search(r"rank(\d+)", file.name)[1]) for file in (options.dump / names[0]).glob("*.pt")) + 1
    processes.spawn(work, (world, options, names, options.device), nprocs=world)


if __name__ == "__main__":
    main()
