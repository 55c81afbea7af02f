# SPDX-License-Identifier: Apache-2.0
"""Compares what `pkb_runner --dump DIR` wrote with the oracles: check.py DIR... [--json FILE]

An oracle, NN_name.py, has a function oracle(ranks): from the dumps of all ranks of one call, in order, the outputs of
every rank (name -> tensor, list of tensors, or None where the rank has none), in fp64, or bit for bit where nothing is
rounded.

The table shows, by problem and output, how far the expected output is from the oracle at worst, as a fraction of what
the problem's tolerance allows a candidate. An expected output was rounded to its element type, which no output of that
type can avoid: `deviation` leaves this half unit in the last place out and must not exceed a third; `rounded` has it
in. Outputs that are compared bit for bit must be equal. An oracle may list outputs in BY_MEANING, of which several
answers are right: then its check(ranks, outputs) says what is wrong with them. LIMITS (output -> limit) names outputs
that are further off than a third, with the reason beside it.
"""

import argparse
import dataclasses
import importlib.util
import json
import math
import pathlib
import re
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 1 / 3
DUMP_NAME = re.compile(r"(?P<case>.+)\.trial(?P<trial>\d+)\.rank(?P<rank>\d+)\.pt")
# Bits of the significand (with the hidden one) and the exponent of the smallest normal number.
FORMATS = {torch.bfloat16: (8, -126), torch.float16: (11, -14), torch.float32: (24, -126), torch.float64: (53, -1022),
           torch.float8_e4m3fn: (4, -6), torch.complex64: (24, -126)}


class Fault(Exception):
    """A dump or an oracle that cannot be compared."""


@dataclasses.dataclass
class Line:
    """One line of the table: an output of a problem at one W."""

    problem: str
    world: int
    output: str
    elements: int = 0
    calls: int = 0
    deviation: float = 0.0
    rounded: float = 0.0
    where: str = ""
    bitwise: bool = True  # in every case
    limit: float = LIMIT

    @property
    def passed(self):
        return self.deviation <= self.limit


def half_unit(tensor):
    """What rounding to its type may have changed in every element."""
    if tensor.dtype not in FORMATS:
        return torch.zeros(tensor.shape, dtype=torch.float64)
    if tensor.is_complex():
        return torch.hypot(half_unit(tensor.real), half_unit(tensor.imag))
    bits, smallest = FORMATS[tensor.dtype]
    exponent = torch.frexp(tensor.double()).exponent - 1
    half = torch.full(tensor.shape, 0.5, dtype=torch.float64)
    return torch.ldexp(half, exponent.clamp(min=smallest) - (bits - 1))


def wide(tensor):
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def same_bits(a, b):
    if a.dtype != b.dtype:
        raise Fault(f"bit for bit, but the oracle gives {b.dtype}, not {a.dtype}")
    return torch.equal(a.contiguous().reshape(-1).view(torch.uint8), b.contiguous().reshape(-1).view(torch.uint8))


def deviations(expected, answer, tolerance):
    """(without, with) the rounding of the output, as fractions of the tolerance."""
    if expected.shape != answer.shape:
        raise Fault(f"the oracle gives shape {list(answer.shape)}, not {list(expected.shape)}")
    if expected.numel() == 0:
        return 0.0, 0.0
    if tolerance["bitwise"]:
        worst = 0.0 if same_bits(expected, answer) else math.inf
        return worst, worst
    e, a = wide(expected), wide(answer)
    atol = tolerance["atol"] * (e.abs().square().mean().sqrt() if tolerance["in_rms"] else 1)
    allowed = atol + tolerance["rtol"] * e.abs()
    equal = (e == a) | (e.isnan() & a.isnan())
    difference = torch.where(equal, 0.0, (e - a).abs())
    difference[~equal & ~(e.isfinite() & a.isfinite())] = math.inf

    def worst(distance):
        ratio = torch.where(distance == 0, 0.0, distance / allowed)
        return ratio.nan_to_num(nan=math.inf, posinf=math.inf).max().item()

    plain, less = worst(difference), worst((difference - half_unit(expected)).clamp(min=0))
    if not allowed.any():
        less = plain  # exact: a rounded number would not do
    if tolerance["frobenius"] > 0:
        norm = (torch.linalg.vector_norm(e - a) / (tolerance["frobenius"] * torch.linalg.vector_norm(e))).item()
        plain, less = max(plain, norm), max(less, norm)
    return less, plain


def members(name, value):
    """(label, tensor or None) of an output, one for each tensor of a list."""
    if isinstance(value, list):
        return [(f"{name}[{i}]", tensor) for i, tensor in enumerate(value)]
    return [(name, value)]


def compare_rank(dump, answer):
    """Yields (output, elements, deviation, rounded) for every output that this rank has."""
    expected = dump["expected"]
    if set(expected) != set(answer):
        raise Fault(f"the oracle gives {sorted(answer)}, the reference {sorted(expected)}")
    for name in expected:
        pairs, answers = members(name, expected[name]), members(name, answer[name])
        if [label for label, _ in pairs] != [label for label, _ in answers]:
            raise Fault(f"{name}: the oracle gives {len(answers)} tensors, the reference {len(pairs)}")
        for (label, tensor), (_, other) in zip(pairs, answers):
            if (tensor is None) != (other is None):
                raise Fault(f"{label}: {'the oracle' if other is None else 'the reference'} has none")
            if tensor is None:
                continue
            try:
                yield name, tensor.numel(), *deviations(tensor, other, dump["tolerance"][name])
            except Fault as fault:
                raise Fault(f"{label}: {fault}") from None


def load_oracle(problem):
    file = HERE / f"{problem}.py"
    if not file.exists():
        raise Fault(f"there is no oracle {file.name}")
    spec = importlib.util.spec_from_file_location(f"oracle_{problem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def calls_of(folder):
    """(problem, label) -> the files of all its ranks."""
    calls = {}
    for file in sorted(folder.rglob("*.pt")):
        name = DUMP_NAME.fullmatch(file.name)
        if name is None:
            raise Fault(f"{file}: not the name of a dump")
        problem = file.relative_to(folder).parts[0]
        label = str(file.relative_to(folder).parent / f"{name['case']}.trial{name['trial']}")
        calls.setdefault((problem, label), {})[int(name["rank"])] = file
    if not calls:
        raise Fault(f"{folder}: holds no dump")
    return calls


def load_call(files):
    ranks = [torch.load(files[rank], weights_only=True) for rank in sorted(files)]
    if sorted(files) != list(range(ranks[0]["world"])):
        raise Fault(f"ranks {sorted(files)} of {ranks[0]['world']} are there")
    for rank, dump in enumerate(ranks):
        if (dump["rank"], dump["world"], dump["draw"]) != (rank, len(ranks), ranks[0]["draw"]):
            raise Fault(f"the file of rank {rank} is of another call")
    return ranks


def check(folders, only=lambda problem: True):
    """Lines of the table, and the faults that kept a call from being compared."""
    lines, faults = {}, []
    for folder in folders:
        for (problem, label), files in calls_of(folder).items():
            if not only(problem):
                continue
            try:
                ranks = load_call(files)
                module = load_oracle(problem)
                answers = module.oracle(ranks)
                if len(answers) != len(ranks):
                    raise Fault(f"the oracle answers for {len(answers)} ranks of {len(ranks)}")
                by_meaning = getattr(module, "BY_MEANING", ())
                if by_meaning:
                    complaints = module.check(ranks, [dump["expected"] for dump in ranks])
                    if complaints:
                        raise Fault("; ".join(complaints))
                for rank, (dump, answer) in enumerate(zip(ranks, answers)):
                    seen = set()
                    for output, elements, deviation, rounded in compare_rank(dump, answer):
                        if output in by_meaning:
                            continue
                        key = (problem, len(ranks), output)
                        line = lines.setdefault(key, Line(*key))
                        line.limit = getattr(module, "LIMITS", {}).get(output, LIMIT)
                        line.elements += elements
                        line.calls += output not in seen
                        seen.add(output)
                        line.bitwise &= dump["tolerance"][output]["bitwise"]
                        line.rounded = max(line.rounded, rounded)
                        if deviation > line.deviation or not line.where:
                            line.deviation, line.where = deviation, f"{pathlib.Path(label).name} rank {rank}"
            except Fault as fault:
                faults.append(f"{label} at W = {len(files)}: {fault}")
            except Exception as error:  # pylint: disable=broad-except
                faults.append(f"{label} at W = {len(files)}: {type(error).__name__}: {error}")
    return [lines[key] for key in sorted(lines)], faults


def show(lines):
    print("| problem | W | output | elements | deviation | rounded | at worst in |\n|---|---|---|---|---|---|---|")
    for line in lines:
        numbers = ["equal"] * 2 if line.bitwise and line.passed else [f"{line.deviation:.3f}", f"{line.rounded:.3f}"]
        mark = "" if line.passed else " **too far**"
        print(f"| {line.problem} | {line.world} | {line.output} | {line.elements} | {numbers[0]}{mark} | {numbers[1]} "
              f"| {line.where} |")


def main(arguments):
    parser = argparse.ArgumentParser(description="Compares dumps with the oracles.")
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="DUMP_DIR")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="writes the table as JSON as well")
    parser.add_argument("--problem", action="append", metavar="NN_name", help="only this one; may be repeated")
    options = parser.parse_args(arguments)
    chosen = options.problem
    try:
        lines, faults = check(options.folders, lambda problem: not chosen or problem in chosen)
    except Fault as fault:
        lines, faults = [], [str(fault)]
    show(lines)
    if options.json:
        record = [{**dataclasses.asdict(line), "passed": line.passed} for line in lines]
        for entry in record:  # JSON has no infinity
            for key in ("deviation", "rounded"):
                entry[key] = entry[key] if math.isfinite(entry[key]) else None
        options.json.write_text(json.dumps({"limit": LIMIT, "outputs": record, "faults": faults}, indent=1) + "\n")
    for fault in faults:
        print(f"fault: {fault}", file=sys.stderr)
    far = sum(not line.passed for line in lines)
    problems = {line.problem for line in lines}
    print(f"{len(lines)} outputs of {len(problems)} problems, {far} too far, {len(faults)} faults")
    return 1 if far or faults or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
