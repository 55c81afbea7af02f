# SPDX-License-Identifier: Apache-2.0
"""--dump: the files are there, torch opens them, and they hold what was computed."""

import os
import unittest

from pkb_testing import BAD, PkbTest

try:
    import torch
except ImportError:
    torch = None

QUICK = ("--trials", "1", "--warmup", "0", "--iterations", "1")


def load(folder, problem, call, world):
    return [torch.load(folder / problem / f"{call}.rank{rank}.pt", weights_only=True) for rank in range(world)]


@unittest.skipUnless(torch, "this Python has no torch to open the files with")
class Contents(PkbTest):
    def dump(self, ranks, *arguments, name="out"):
        folder = self.scratch / f"{name}-dump"
        return self.judge(ranks, "--dump", folder, *QUICK, *arguments, name=name), folder

    def test_references_alone(self):
        run, folder = self.dump(4, "--candidate", "none", "--problem", "1,4,5,73,82")
        self.assert_passed(run, 5)

        ranks = load(folder, "01_allreduce", "default.trial0", 4)
        total = sum(rank["inputs"]["x"].double() for rank in ranks)
        for index, rank in enumerate(ranks):
            self.assertEqual((rank["problem"], rank["case"], rank["world"], rank["rank"]), (1, "default", 4, index))
            self.assertEqual(rank["params"], {"M": 32, "N": 64})
            self.assertEqual(rank["tolerance"]["y"]["atol"], 0.05)
            self.assertEqual(rank["actual"], {"y": None})
            self.assertEqual(rank["expected"]["y"].dtype, torch.bfloat16)
            self.assertTrue(torch.allclose(rank["expected"]["y"].double(), total, rtol=2**-8, atol=0))
        self.assertFalse(torch.equal(ranks[0]["inputs"]["x"], ranks[1]["inputs"]["x"]))

        ranks = load(folder, "04_reduce", "root_1.trial1", 4)
        self.assertEqual([rank["expected"]["y"] is None for rank in ranks], [True, False, True, True])
        self.assertEqual([rank["scalars"] for rank in ranks], [{"dst": 1}] * 4)

        ranks = load(folder, "05_scatter", "root_1.trial1", 4)
        self.assertEqual([rank["inputs"]["x"].dim() for rank in ranks], [2, 3, 2, 2])
        for index, rank in enumerate(ranks):
            self.assertTrue(torch.equal(rank["expected"]["y"], ranks[1]["inputs"]["x"][index]))

        # An argument that the call changes: as it was drawn, and as it should be afterwards.
        rank = load(folder, "73_vocab_parallel_cross_entropy_loss", "default.trial0", 4)[2]
        drawn, shifted = rank["inputs"]["vocab_parallel_logits"], rank["expected"]["vocab_parallel_logits"]
        self.assertGreater(drawn.max(), 0)
        self.assertLessEqual(shifted.max(), 0)
        self.assertEqual(rank["inputs"]["target"].dtype, torch.int64)
        self.assertTrue(rank["tolerance"]["vocab_parallel_logits"]["bitwise"])

        rank = load(folder, "82_vocab_parallel_log_prob_topk", "top_p_only.trial2", 4)[0]
        self.assertEqual(rank["scalars"], {"top_k": None, "top_p": 0.9})

    def test_what_a_candidate_gave(self):
        run, folder = self.dump(2, "--problem", "1,73")
        self.assert_passed(run, 2)
        for rank in load(folder, "01_allreduce", "lattice.trial1", 2):
            self.assertTrue(torch.equal(rank["actual"]["y"], rank["expected"]["y"]))
            self.assertEqual(rank["draw"], 3)
        for rank in load(folder, "73_vocab_parallel_cross_entropy_loss", "default.trial0", 2):
            self.assertTrue(torch.equal(*(rank[which]["vocab_parallel_logits"] for which in ("actual", "expected"))))

    def test_what_a_wrong_candidate_gave(self):
        run, folder = self.dump(2, "--problem", "1", "--candidate", BAD / "wrong_result.cu")
        self.assertEqual((run.code, run.rows[0]["status"]), (1, "mismatch"))
        ranks = load(folder, "01_allreduce", "wrong_result/default.trial0", 2)
        self.assertTrue(any(not torch.equal(rank["actual"]["y"], rank["expected"]["y"]) for rank in ranks))


class Errors(PkbTest):
    def test_a_folder_that_cannot_be_made(self):
        (self.scratch / "file").write_text("")
        run = self.judge(2, "--problem", "1", "--dump", self.scratch / "file" / "dump")
        self.assertEqual(run.code, 2)
        self.assertEqual(len(run.pkb_errors), 1, run.err)
        self.assertIn("file/dump: cannot make files there (Not a directory)", run.err)
        self.assertFalse(run.folder.exists())

    def test_a_folder_that_is_not_empty(self):
        (self.scratch / "file").write_text("")
        run = self.judge(2, "--problem", "1", "--dump", self.scratch)
        self.assertEqual(run.code, 2)
        self.assertIn("is not empty; name a new folder", run.err)

    def test_a_file_that_cannot_be_written(self):
        dump = self.scratch / "dump"
        first = self.judge(2, "--candidate", "none", "--problem", "1", "--dump", dump, *QUICK)
        self.assert_passed(first, 1)
        (dump / "02_allgather").mkdir()
        os.symlink("/dev/full", dump / "02_allgather" / "default.trial0.rank1.pt.tmp")
        process = self.mpirun(2, "--device", "host", "--candidate", "none", "--problem", "1-3",
                              "--resume", first.folder, "--dump", dump, *QUICK)
        self.assertEqual(process.returncode, 3, process.stdout + process.stderr)
        self.assertEqual([row["status"] for row in first.rows], ["passed", "harness_error", "passed"])
        reason = first.rows[1]["reason"]
        self.assertIn("rank 1: cannot write ", reason)
        self.assertTrue(reason.endswith("02_allgather/default.trial0.rank1.pt: No space left on device"), reason)
        self.assertIn("02_allgather/default.trial0.rank1.pt", process.stderr)


if __name__ == "__main__":
    unittest.main()
