# SPDX-License-Identifier: Apache-2.0
"""What a sweep survives: workers, ranks and whole jobs that are killed or stopped, disks that are full, folders that go away."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from pkb_testing import BUILD, PkbTest, Run


def parent_of(pid):
    """(parent, name) or None when it is gone."""
    try:
        status = pathlib.Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return None
    name, rest = status[status.index("(") + 1:status.rindex(")")], status[status.rindex(")") + 2:].split()
    return None if rest[0] == "Z" else (int(rest[1]), name)


def descendants(root, name):
    """Living processes of this name below `root`."""
    parents = {int(entry.name): parent_of(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()}

    def is_below(pid):
        while pid in parents and parents[pid]:
            pid = parents[pid][0]
            if pid == root:
                return True
        return False

    return sorted(pid for pid, found in parents.items() if found and found[1] == name and is_below(pid))


class Survival(PkbTest):
    def start(self, *arguments, ranks=2):
        folder = self.scratch / "out"
        command = ["mpirun", "--oversubscribe", "-np", str(ranks), str(BUILD / "bin" / "pkb_runner"), "--device", "host",
                   "--out", str(folder), *map(str, arguments)]
        log = open(self.scratch / "log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        job = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, job)
        return job

    @staticmethod
    def end(job):
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    def wait_for(self, what, limit=60):
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            found = what()
            if found:
                return found
            time.sleep(0.02)
        self.fail("it did not happen in time: " + self.log())

    def log(self):
        return (self.scratch / "log").read_text(encoding="utf-8", errors="replace")

    def journal(self):
        file = self.scratch / "out" / "results.jsonl"
        return file.read_text().splitlines() if file.exists() else []

    def finished(self, job, limit=120):
        code = job.wait(limit)
        return Run(subprocess.CompletedProcess([], code, self.log(), ""), self.scratch / "out")

    def assert_nothing_left(self, workers):
        self.wait_for(lambda: all(parent_of(pid) is None for pid in workers), 15)
        self.assertEqual(self.abandoned_shared_memory(), [])

    def test_workers_killed_at_random_moments(self):
        moments = random.Random(1)
        job = self.start("--problem", "1-8", "--repeat", 16, "--trials", 2, "--timing", "stream")
        kills, seen = 0, set()
        while job.poll() is None and kills < 100:
            time.sleep(moments.uniform(0.0, 0.15))
            workers = descendants(job.pid, "pkb_worker")
            seen.update(workers)
            if workers and self.journal() and self.send(signal.SIGKILL, moments.choice(workers)):
                kills += 1
        run = self.finished(job)
        self.assertGreater(kills, 20)
        keys = [(row["problem_id"], row["repeat"]) for row in run.rows]
        self.assertEqual(sorted(keys), [(problem, repeat) for problem in range(1, 9) for repeat in range(16)], run.out)
        self.assertLessEqual({row["status"] for row in run.rows}, {"passed", "crashed"}, run.out)
        crashed = [row for row in run.rows if row["status"] == "crashed"]
        self.assertTrue(crashed)
        for row in crashed:
            self.assertRegex(row["reason"], r"rank [01]: killed by signal 9")
        self.assertEqual(run.code, 1)
        self.assert_nothing_left(seen)

    def test_a_stopped_worker_times_out(self):
        job = self.start("--problem", "1-4", "--repeat", 4, "--timeout", 2, "--trials", 2)
        self.wait_for(self.journal)
        until = time.monotonic() + 4
        stopped = []
        while time.monotonic() < until:
            stopped = stopped or [pid for pid in descendants(job.pid, "pkb_worker") if self.holds_a_candidate(pid)][:1]
            for worker in stopped:
                self.send(signal.SIGSTOP, worker)
        run = self.finished(job)
        self.assertEqual(len(run.rows), 16, run.out)
        self.assertIn("timeout", {row["status"] for row in run.rows}, run.out)
        self.assertEqual(run.rows[-1]["status"], "passed")
        self.assert_nothing_left(stopped)

    def test_a_killed_rank_ends_the_job_and_resume_finishes_it(self):
        selection = ["--problem", "1-8", "--repeat", 4, "--trials", 2]
        job = self.start(*selection)
        self.wait_for(lambda: len(self.journal()) >= 3)
        workers, ranks = descendants(job.pid, "pkb_worker"), descendants(job.pid, "pkb_runner")
        os.kill(ranks[-1], signal.SIGKILL)
        self.assertNotEqual(job.wait(60), 0)
        self.assert_nothing_left(workers)
        self.assertLess(len(self.journal()), 32)
        process = self.mpirun(2, "--device", "host", "--resume", self.scratch / "out", *selection)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        rows = Run(process, self.scratch / "out").rows
        keys = sorted((row["problem_id"], row["repeat"]) for row in rows)
        self.assertEqual(keys, [(problem, repeat) for problem in range(1, 9) for repeat in range(4)])

    @staticmethod
    def holds_a_candidate(pid):
        try:
            return "candidate.host.so" in pathlib.Path("/proc", str(pid), "maps").read_text()
        except OSError:
            return False

    @staticmethod
    def send(number, pid):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        return True

    def stop_the_job(self, number, of_ranks):
        job = self.start("--problem", "1-8", "--repeat", 20, "--trials", 2)
        self.wait_for(lambda: len(self.journal()) >= 2)
        workers = descendants(job.pid, "pkb_worker")
        for pid in descendants(job.pid, "pkb_runner") if of_ranks else [job.pid]:
            self.send(number, pid)
        run = self.finished(job, 60)
        rows = run.rows
        self.assertLess(len(rows), 160)
        self.assertEqual([row["problem_id"] for row in run.json["results"]], [row["problem_id"] for row in rows])
        self.assertEqual(len(run.csv), len(rows))
        self.assertNotEqual(run.code, 0)
        self.assert_nothing_left(workers)
        return run.code

    def test_sigterm_leaves_results_and_no_children(self):
        self.stop_the_job(signal.SIGTERM, of_ranks=False)

    def test_sigint_leaves_results_and_no_children(self):
        self.stop_the_job(signal.SIGINT, of_ranks=False)

    def test_ranks_that_a_signal_stops_exit_with_4(self):
        self.assertEqual(self.stop_the_job(signal.SIGTERM, of_ranks=True), 4)

    def test_a_full_disk_is_named_and_the_sweep_goes_on(self):
        (self.scratch / "out").mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "pkb-test", str(self.scratch / "out")], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("needs the right to mount a small file system")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(self.scratch / "out")], check=False)
        run = self.finished(self.start("--problem", "1-8", "--repeat", 10, "--trials", 2))
        self.assertEqual(run.code, 3, run.out)
        self.assertIn("No space left on device", run.out)
        self.assertEqual(len([line for line in run.out.splitlines() if " passed " in line]), 80, run.out)

    def test_a_removed_results_folder_is_named(self):
        job = self.start("--problem", "1-8", "--repeat", 6, "--trials", 2)
        self.wait_for(lambda: len(self.journal()) >= 2)
        shutil.rmtree(self.scratch / "out")
        run = self.finished(job)
        self.assertEqual(run.code, 3, run.out)
        self.assertIn(str(self.scratch / "out"), run.out)
