# SPDX-License-Identifier: Apache-2.0
"""Controls: lazy answers are found wrong in every output and case of every problem, the reference again is right."""

from pkb_testing import PkbTest

CONTROLS = ["reference", "zeros", "ones", "input", "stale", "mute", "partial", "one-off"]


class Controls(PkbTest):
    def assert_controls(self, ranks):
        run = self.judge(ranks, "--candidate", "control:all", "--seed", 1, timeout=1500)
        rows = [row for row in run.rows if row["status"] != "skipped"]
        wrong = [f"{row['problem_id']} {row['sample']}: {row['status']}: {row['reason']}" for row in rows
                 if row["status"] != ("passed" if row["sample"] == "reference" else "mismatch")]
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertEqual({row["sample"] for row in rows}, set(CONTROLS))
        for row in run.rows:
            if row["status"] == "skipped":
                self.assertIn(f"W = {ranks}", row["reason"])

    def test_at_two(self):
        self.assert_controls(2)

    def test_at_four(self):
        self.assert_controls(4)

    def test_a_list_of_controls(self):
        run = self.judge(2, "--problem", "1", "--candidate", "control:zeros,one-off")
        self.assertEqual([(row["sample"], row["status"]) for row in run.rows],
                         [("zeros", "mismatch"), ("one-off", "mismatch")])
        self.assertEqual(run.code, 1)

    def test_an_excuse_is_named(self):
        run = self.judge(2, "--problem", "3", "--candidate", "control:partial")
        self.assertIn("only the source's data travel", run.rows[0]["reason"])

    def test_unknown_names(self):
        process = self.mpirun(2, "--problem", "1", "--candidate", "control:zeroes")
        self.assertEqual(process.returncode, 2)
        self.assertIn("did you mean zeros?", process.stderr)
