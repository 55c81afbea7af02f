# SPDX-License-Identifier: Apache-2.0
"""The shipped candidates pass at every W, and the files say what happened."""

import csv

from pkb_testing import PkbTest

COLLECTIVES, TENSOR_PARALLEL = 8, 7


class Suites(PkbTest):
    def test_tensor_parallel_at_four(self):
        run = self.judge(4, "--suite", "tp")
        self.assert_shipped_passed(run, TENSOR_PARALLEL)
        self.assertEqual([row["timing"] for row in run.rows if row["problem_id"] == 73], ["isolated"])

    def test_collectives_at_four(self):
        self.assert_shipped_passed(self.judge(4, "--suite", "collective"), COLLECTIVES)

    def test_all_at_two(self):
        self.assert_shipped_passed(self.judge(2), COLLECTIVES + TENSOR_PARALLEL)

    def test_all_at_eight(self):
        self.assert_shipped_passed(self.judge(8, timeout=600), COLLECTIVES + TENSOR_PARALLEL)

    def test_three_ranks_skip_what_is_illegal(self):
        run = self.judge(3, timeout=600)
        self.assertEqual(run.code, 0, run.out + run.err)
        for row in run.rows:
            if row["status"] == "skipped":
                self.assertRegex(row["reason"], "W = 3|no candidate is shipped for this problem")
            else:
                self.assertEqual(row["status"], "passed", row["reason"])

    def test_every_reference_runs(self):
        for ranks in (2, 4):
            run = self.judge(ranks, "--candidate", "none", timeout=600, name=f"references_{ranks}")
            self.assertEqual(run.code, 0, run.out + run.err)
            for row in run.rows:
                if row["status"] == "skipped":
                    self.assertIn(f"W = {ranks}", row["reason"])
                else:
                    self.assertEqual(row["status"], "passed", row["reason"])

    def test_reference_alone(self):
        run = self.judge(2, "--candidate", "none", "--problem", "1,13,82")
        self.assert_passed(run, 3)

    def test_symmetric_io(self):
        run = self.judge(2, "--io", "symmetric", "--problem", "1,2,18")
        self.assert_passed(run, 3)
        self.assertEqual({row["io"] for row in run.rows}, {"symmetric"})


class Files(PkbTest):
    def test_files_agree(self):
        run = self.judge(2, "--problem", "1-3", "--timing", "stream,isolated,graph")
        self.assertEqual(run.code, 0, run.out + run.err)
        rows, table = run.rows, run.csv
        self.assertEqual(len(rows), 9)
        self.assertEqual([(row["problem"], row["timing"]) for row in rows], [(row["problem"], row["timing"]) for row in table])
        self.assertEqual([row["status"] for row in run.json["results"]], ["passed"] * 9)
        stream = rows[0]
        self.assertIsNone(stream["speedup"], "there is no speed-up on the host device")
        self.assertGreater(stream["reference_mean_us"], 0)
        self.assertGreater(stream["candidate_mean_us"], 0)
        graph = rows[2]
        self.assertIsNone(graph["candidate_mean_us"])
        self.assertEqual(run.json["devices"][1]["rank"], 1)

    def test_resume_passes_over_what_is_done(self):
        first = self.judge(2, "--problem", "1")
        self.assert_passed(first, 1)
        process = self.mpirun(2, "--device", "host", "--resume", first.folder, "--problem", "1,2")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([row["problem_id"] for row in first.rows], [1, 2])
