# SPDX-License-Identifier: Apache-2.0
"""The comparison with the oracles: it passes what is right and says what is not."""

import contextlib
import io
import math
import pathlib
import shutil
import tempfile
import unittest

import torch

import check

RULE = {"atol": 0.0, "rtol": 0.0, "frobenius": 0.0, "in_rms": False, "bitwise": False}


def rule(**changes):
    return {**RULE, **changes}


class Deviations(unittest.TestCase):
    def test_counts_in_units_of_the_tolerance(self):
        expected, answer = torch.tensor([4.0, -2.0]).double(), torch.tensor([4.5, -2.0]).double()
        less, plain = check.deviations(expected, answer, rule(atol=1.0, rtol=0.25))
        self.assertAlmostEqual(plain, 0.25)
        self.assertAlmostEqual(less, 0.25)
        _, plain = check.deviations(expected, answer, rule(atol=0.1, in_rms=True))
        self.assertAlmostEqual(plain, 0.5 / (0.1 * math.sqrt(10)))
        _, plain = check.deviations(expected, answer, rule(atol=100.0, frobenius=0.5))
        self.assertAlmostEqual(plain, 0.5 / (0.5 * math.sqrt(20)))

    def test_rounding_of_the_output_is_left_out(self):
        single = torch.linspace(-300, 300, 10001)
        double = torch.linspace(-300, 300, 10001, dtype=torch.float64)
        for dtype, exact in ((torch.bfloat16, single), (torch.float16, single), (torch.float8_e4m3fn, single),
                             (torch.float32, double)):
            less, plain = check.deviations(exact.to(dtype), exact, rule(atol=1e-9))
            self.assertGreater(plain, 1, dtype)
            self.assertEqual(less, 0, dtype)
        step = torch.tensor([1.0 + 2**-7]).bfloat16()
        less, plain = check.deviations(step, torch.tensor([1.0]).double(), rule(atol=2**-7))
        self.assertAlmostEqual(plain, 1)
        self.assertAlmostEqual(less, 0.5)

    def test_what_is_exact_is_not_rounded(self):
        one, more = torch.tensor([1.0]).bfloat16(), torch.tensor([1.001]).double()
        self.assertEqual(check.deviations(one, more, RULE)[0], math.inf)
        self.assertEqual(check.deviations(torch.tensor([-0.0]), torch.tensor([0.0]), RULE)[0], 0)
        self.assertEqual(check.deviations(torch.tensor([-0.0]), torch.tensor([0.0]), rule(bitwise=True))[0], math.inf)

    def test_what_is_not_finite(self):
        inf, nan = math.inf, math.nan
        wide = rule(atol=1e6)
        self.assertEqual(check.deviations(torch.tensor([inf, -inf, nan]), torch.tensor([inf, -inf, nan]), wide)[0], 0)
        for expected, answer in ((inf, -inf), (inf, 1.0), (1.0, inf), (nan, 1.0), (1.0, nan), (nan, inf)):
            self.assertEqual(check.deviations(torch.tensor([expected]), torch.tensor([answer]), wide)[0], inf)

    def test_complex_numbers_by_magnitude(self):
        _, plain = check.deviations(torch.tensor([1 + 1j]), torch.tensor([4 + 5j]), rule(atol=10.0))
        self.assertAlmostEqual(plain, 0.5)

    def test_bits_have_a_type(self):
        with self.assertRaisesRegex(check.Fault, "bit for bit"):
            check.deviations(torch.tensor([1.0]).bfloat16(), torch.tensor([1.0]), rule(bitwise=True))


class Dumps(unittest.TestCase):
    """Two ranks of an all-gather, as if dumped."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pkb-check-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        x = torch.arange(8).reshape(2, 2, 2).bfloat16()
        self.dumps = [{"world": 2, "rank": r, "draw": 0, "inputs": {"x": x[r]}, "expected": {"y": x.clone()},
                       "tolerance": {"y": rule(bitwise=True)}} for r in range(2)]

    def check(self):
        target = self.folder / "02_allgather"
        target.mkdir(exist_ok=True)
        for dump in self.dumps:
            torch.save(dump, target / f"default.trial0.rank{dump['rank']}.pt")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = check.main([str(self.folder), "--json", str(self.folder / "table.json")])
        return code, out.getvalue() + err.getvalue()

    def assert_fault(self, text):
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn(text, output)

    def test_right(self):
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertIn("| 02_allgather | 2 | y | 16 | equal | equal |", output)

    def test_a_wrong_bit(self):
        self.dumps[1]["expected"]["y"][1, 0, 1] += 1
        self.assert_fault("too far")

    def test_a_missing_output(self):
        self.dumps[1]["expected"]["y"] = None
        self.assert_fault("the reference has none")

    def test_an_unknown_output(self):
        self.dumps[0]["expected"]["z"] = torch.ones(1)
        self.assert_fault("the oracle gives ['y'], the reference ['y', 'z']")

    def test_a_wrong_shape(self):
        self.dumps[0]["expected"]["y"] = torch.ones(2, 2).bfloat16()
        self.assert_fault("y: the oracle gives shape [2, 2, 2], not [2, 2]")

    def test_a_missing_rank(self):
        del self.dumps[0]
        self.assert_fault("ranks [1] of 2 are there")

    def test_another_call(self):
        self.dumps[1]["draw"] = 3
        self.assert_fault("of another call")

    def test_no_oracle(self):
        self.check()
        (self.folder / "02_allgather").rename(self.folder / "00_nothing")
        self.assert_fault("there is no oracle 00_nothing.py")

    def test_nothing_there(self):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(check.main([str(self.folder)]), 1)
        self.assertIn("holds no dump", err.getvalue())


if __name__ == "__main__":
    unittest.main()
