# SPDX-License-Identifier: Apache-2.0
"""Usage errors: one line from pkb, exit code 2, the nearest valid name."""

import subprocess

from pkb_testing import BUILD, PkbTest


class Usage(PkbTest):
    def assert_refused(self, *arguments, says):
        process = self.mpirun(2, "--out", self.scratch / "out", *arguments)
        self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
        lines = [line for line in process.stderr.splitlines() if line.startswith("pkb: ")]
        self.assertEqual(len(lines), 1, process.stderr)
        for text in says:
            self.assertIn(text, lines[0])

    def test_unknown_problem(self):
        self.assert_refused("--problem", "gem_allreduce", says=["gem_allreduce", "gemm_allreduce"])

    def test_unknown_suite(self):
        self.assert_refused("--suite", "colective", says=["colective", "collective"])

    def test_unknown_option(self):
        self.assert_refused("--problm", "1", says=["--problm", "--problem"])

    def test_unknown_size(self):
        self.assert_refused("--problem", "1", "--device", "host", "--size", "smok", says=["smok", "smoke"])

    def test_unknown_parameter(self):
        self.assert_refused("--problem", "13", "--device", "host", "--set", "MM=3", says=["MM", "M"])

    def test_cuda_without_a_gpu(self):
        process = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False) if self.has_gpu() else None
        if process is not None and process.returncode == 0:
            self.skipTest("this machine has a GPU")
        self.assert_refused("--device", "cuda", says=["no GPU", "--device host"])

    @staticmethod
    def has_gpu():
        import shutil
        return shutil.which("nvidia-smi") is not None

    def test_missing_candidate(self):
        self.assert_refused("--problem", "1", "--candidate", "/nowhere.cu", says=["/nowhere.cu"])

    def test_file_for_many_problems(self):
        self.assert_refused("--suite", "tp", "--candidate", __file__.replace("e2e/test_usage.py", "bad_candidates/wrong_result.cu"),
                            says=["one file", "--problem"])

    def test_folder_that_holds_results(self):
        first = self.judge(2, "--problem", "1", "--candidate", "none")
        self.assertEqual(first.code, 0, first.err)
        process = self.mpirun(2, "--device", "host", "--problem", "1", "--out", first.folder)
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertEqual(len([line for line in process.stderr.splitlines() if line.startswith("pkb: ")]), 1, process.stderr)
        self.assertIn("--resume", process.stderr)

    def test_illegal_world_is_a_skipped_row(self):
        run = self.judge(3, "--problem", "46")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([row["status"] for row in run.rows], ["skipped"])
        self.assertIn("W = 3", run.rows[0]["reason"])

    def test_more_ranks_than_mpi_knows(self):
        process = subprocess.run([str(BUILD / "bin" / "pkb_runner"), "--list"], capture_output=True, text=True, check=False,
                                 env={"PATH": "/usr/bin:/bin", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4",
                                      "SLURM_NTASKS": "4", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn("mpi", process.stderr.lower())
