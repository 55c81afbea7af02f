# SPDX-License-Identifier: Apache-2.0
"""Bad candidates become rows with the right status and reason, and the sweep goes on."""

import os
import pathlib
import shutil
import time

from pkb_testing import BAD, PkbTest


class Faults(PkbTest):
    def judge_bad(self, file, *arguments, ranks=2):
        """A bad candidate first, then the shipped one as a second sample, which must still pass."""
        folder = self.scratch / "candidates" / "01_allreduce"
        folder.mkdir(parents=True)
        shutil.copy(BAD / file, folder / ("a_" + file))
        shutil.copy(pathlib.Path(os.environ["PKB_BUILD_DIR"]) / "lib/pkb/01_allreduce/candidate.host.so", folder / "good.so")
        run = self.judge(ranks, "--problem", 1, "--candidate", self.scratch / "candidates", "--trials", 2, *arguments)
        self.assertEqual(len(run.rows), 2, run.out + run.err)
        bad, good = run.rows
        self.assertEqual(good["status"], "passed", run.out)
        self.assertEqual(run.code, 1, run.err)
        self.assertEqual(self.abandoned_shared_memory(), [])
        return bad

    def test_wrong_result(self):
        row = self.judge_bad("wrong_result.cu")
        self.assertEqual(row["status"], "mismatch")
        self.assertRegex(row["reason"], r"rank 0 output y\[\d+\]: got \S+, expected \S+; \d+ of 2048 wrong")

    def test_changed_input(self):
        row = self.judge_bad("changes_input.cu")
        self.assertEqual(row["status"], "mismatch")
        self.assertIn("the candidate changed its input x", row["reason"])

    def test_segmentation_fault_on_one_rank(self):
        row = self.judge_bad("segfault_one_rank.cu", ranks=3)
        self.assertEqual(row["status"], "crashed")
        self.assertIn("rank 1", row["reason"])
        self.assertIn("signal 11", row["reason"])

    def test_exit_inside_run(self):
        row = self.judge_bad("exits_in_run.cu")
        self.assertEqual(row["status"], "crashed")
        self.assertIn("exited with status 0", row["reason"])

    def test_endless_kernel_on_one_rank(self):
        start = time.monotonic()
        row = self.judge_bad("endless_kernel_one_rank.cu", "--timeout", 5)
        self.assertLess(time.monotonic() - start, 40)
        self.assertEqual(row["status"], "timeout")
        self.assertIn("rank 1", row["reason"])
        self.assertLess(row["evaluation_s"], 8 + 10)  # the rest of it is compilation

    def test_setup_fails_on_one_rank(self):
        row = self.judge_bad("setup_fails_one_rank.cu", ranks=3)
        self.assertEqual(row["status"], "setup_error")
        self.assertIn("rank 2", row["reason"])
        self.assertIn("7", row["reason"])

    def test_diverging_allocation(self):
        row = self.judge_bad("diverging_allocation.cu")
        self.assertEqual(row["status"], "diverged")
        self.assertIn("4096", row["reason"])
        self.assertIn("8192", row["reason"])

    def test_missing_symbol(self):
        row = self.judge_bad("missing_symbol.cu")
        self.assertEqual(row["status"], "load_error")
        self.assertIn("pkb_run", row["reason"])

    def test_wrong_abi_version(self):
        row = self.judge_bad("wrong_abi_version.cu")
        self.assertEqual(row["status"], "load_error")
        self.assertIn("999", row["reason"])

    def test_no_shared_object(self):
        row = self.judge_bad("not_a_module.so")
        self.assertEqual(row["status"], "load_error")

    def test_compile_error(self):
        row = self.judge_bad("compile_error.cu")
        self.assertEqual(row["status"], "compile_error")
        self.assertIn("undeclared_name", row["reason"] + (row["log_tail"] or ""))
