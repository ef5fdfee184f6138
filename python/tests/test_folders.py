"""Folders that plumb made: what is read is what plumb says of them.

PLUMB_TEST_PROGRAM names the program, PLUMB_TEST_RUNS a folder with `ping` (a run of several results), `ab` (an
experiment) and nothing else. crates/plumb/tests/outputs/python.rs makes both.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import pandas as pd

import plumbline
from plumbline import BrokenFolder, Experiment, NotFound, Run

PROGRAM = os.environ.get("PLUMB_TEST_PROGRAM")
RUNS = Path(os.environ.get("PLUMB_TEST_RUNS", ""))

QUANTILES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def said(*words: str) -> dict:
    """What plumb says with --json."""
    ended = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, check=True, text=True)
    return json.loads(ended.stdout)


@unittest.skipUnless(PROGRAM, "PLUMB_TEST_PROGRAM and PLUMB_TEST_RUNS are not set")
class Folders(unittest.TestCase):
    def setUp(self) -> None:
        self.copies = tempfile.TemporaryDirectory()
        self.addCleanup(self.copies.cleanup)

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(RUNS / name, Path(self.copies.name) / name))

    def test_a_run_is_what_plumb_reports(self) -> None:
        run, record = Run(RUNS / "ping"), said("report", str(RUNS / "ping"))
        self.assertEqual((run.layer, run.verb, run.target), ("net", "ping", record["target"]["address"]))
        self.assertEqual(str(run.started.tz), "UTC")
        self.assertGreater(len(run.results), 1)
        frame = run.frame()
        for result, row, expected in zip(run.results, frame.itertuples(), record["results"]):
            self.assertEqual(result.labels, expected["labels"])
            self.assertEqual(row.label_size, expected["labels"]["size"])
            self.assertEqual(row.operations, expected["operations"])
            self.assertEqual(row.throughput_per_s, expected["throughput_per_s"])
            self.assertEqual(result.valid, expected["validity"]["valid"])
            for name in ("response_ns", "service_ns", "first_byte_ns", "connect_ns"):
                times, whole = expected[name], result.distribution(name)
                found = (whole.count, whole.minimum, whole.maximum)
                self.assertEqual(found, (times["count"], times["min"], times["max"]))
                for key, q in QUANTILES.items():
                    self.assertEqual(whole.quantile(q), times[key], (name, key))
            self.assertEqual(row.response_p99_ns, expected["response_ns"]["p99"])
            self.assertIsNone(result.distribution("tls_ns"))
        self.assertEqual(str(frame["response_p50_ns"].dtype), "Int64")

    def test_intervals_add_up_to_the_run(self) -> None:
        run = Run(RUNS / "ping")
        frame = run.intervals("response")
        self.assertEqual(set(frame["series"]), {"response"})
        for result in run.results:
            mine = frame[frame["label_size"] == result.labels["size"]]
            self.assertEqual(mine["count"].sum(), result.operations)
            merged = plumbline.Histogram.merged(mine["histogram"])
            pd.testing.assert_frame_equal(merged.buckets(), result.response.buckets())
        self.assertGreater(len(run.intervals()), len(frame))

    def test_the_rows_of_an_interval_are_one(self) -> None:
        home = self.copy("ping")
        frame = Run(home).intervals("response")
        log = home / "intervals.hlog"
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        # each row twice, as of a scenario of two steps
        log.write_text("".join(line if line[0] in '#"' else line * 2 for line in lines), encoding="utf-8")
        (home / "SHA256SUMS").unlink()
        twice = Run(home).intervals("response")
        self.assertEqual(list(twice["start_s"]), list(frame["start_s"]))
        self.assertEqual(list(twice["count"]), [2 * count for count in frame["count"]])
        pd.testing.assert_series_equal(twice["rate_per_s"], 2 * frame["rate_per_s"])
        pd.testing.assert_series_equal(twice["p95_ns"], frame["p95_ns"])

    def test_what_the_machine_did_stands_beside_it(self) -> None:
        host = Run(RUNS / "ping").host()
        self.assertIn("cpu_busy_pct", host.columns)
        self.assertGreater(len(host), 0)
        self.assertTrue(Run(RUNS / "ping").far_host().empty)

    def test_the_machine_that_drove_the_load_is_told_from_the_far_one(self) -> None:
        home = self.copy("ping")
        (home / "SHA256SUMS").unlink()
        record = json.loads((home / "run.json").read_text())
        ours = record["host"]["name"]
        (recording,) = home.glob("*.csv")
        expected = Run(home).host()
        for name, stem in (("000", "000"), ("zzz", "zzz"), ("../a b", "_a_b"), (ours, f"{ours}-far"), ("..", "far")):
            with self.subTest(name):
                record["far"] = {"name": name}
                (home / "run.json").write_text(json.dumps(record))
                far = home / f"{stem}.csv"
                far.write_text("".join(recording.read_text().splitlines(keepends=True)[:2]))
                pd.testing.assert_frame_equal(Run(home).host(), expected)
                self.assertEqual(len(Run(home).far_host()), 1)
                far.unlink()
        recording.unlink()
        self.assertTrue(Run(home).host().empty)

    def test_an_experiment_is_what_plumb_compares(self) -> None:
        experiment, expected = Experiment(RUNS / "ab"), said("compare", str(RUNS / "ab"))
        self.assertEqual(experiment.variants, [it["name"] for it in expected["variants"]])
        verdicts = experiment.verdicts()
        contrast = expected["contrasts"][0]
        self.assertEqual(list(verdicts["figure"]), [it["key"] for it in contrast["endpoints"]])
        primary, theirs = verdicts.iloc[0], contrast["endpoints"][0]
        for name in ("verdict", "ratio", "p"):
            self.assertEqual(primary[name], theirs[name])
        self.assertEqual((primary["low"], primary["high"]), (theirs["interval"]["low"], theirs["interval"]["high"]))
        self.assertEqual(primary["sentence"], contrast["sentence"])
        pairs = experiment.pairs()
        self.assertEqual(len(pairs), expected["design"]["complete_rounds"])
        self.assertEqual(list(pairs["baseline_value"]), [it["baseline"] for it in theirs["blocks"]])
        blocks = experiment.blocks()
        self.assertEqual(len(blocks), 2 * expected["design"]["rounds"])
        self.assertEqual(set(blocks["variant"]), set(experiment.variants))

    def test_all_runs_are_one_frame_and_broken_ones_are_named(self) -> None:
        home = Path(self.copies.name)
        self.copy("ping")
        self.copy("ab")
        whole = plumbline.read_runs(home)
        self.assertEqual(whole["folder"].nunique(), 1 + len(Experiment(home / "ab").blocks()))
        (home / "ping" / "run.json").write_text("{")
        with self.assertRaises(BrokenFolder):
            plumbline.read_runs(home)
        rest = plumbline.read_runs(home, skip_broken=True)
        self.assertEqual(len(rest.attrs["broken"]), 1)
        self.assertIn("run.json", rest.attrs["broken"][0])

    def test_runs_are_found_as_deep_as_plumb_finds_them(self) -> None:
        home = Path(self.copies.name)
        for folder in ("a/b/c/d", "a/b/c/e/f", "g", "g/h"):
            shutil.copytree(RUNS / "ping", home / folder, dirs_exist_ok=True)
        shutil.copytree(RUNS / "ab", home / "i/k/l/m")
        found = [str(it.relative_to(home)) for it in plumbline.find_runs(home)]
        self.assertEqual([it for it in found if "/blocks/" not in it], ["a/b/c/d", "g"])
        blocks = len(Experiment(home / "i/k/l/m").blocks())
        self.assertEqual(len(found), 2 + blocks)
        reported = said("report", str(home))
        # of the two copies of one run it counts one
        self.assertEqual(len(reported["runs"]), 1 + blocks)

    def test_broken_folders_are_refused_with_the_file_and_what_is_wrong(self) -> None:
        with self.assertRaises(NotFound):
            Run(self.copies.name)
        with self.assertRaises(NotFound):
            Experiment(RUNS / "ping")
        home = self.copy("ping")
        record, log = home / "run.json", home / "intervals.hlog"
        text, lines = record.read_text(), log.read_text()
        log.write_text(lines.replace("HISTFAAA", "HISTFAAB", 1))
        self.refused("digest", lambda: Run(home).intervals())
        record.write_text(text.replace('"operations"', ' "operations"', 1))
        self.refused("digest", lambda: Run(home))
        (home / "SHA256SUMS").unlink()
        log.write_text("Tag=response,1,2\n")
        self.refused("line 1", lambda: Run(home).intervals())
        for altered, problem in (
            (text.replace("plumb.run/1", "plumb.run/9"), "plumb.run/9"),
            (text[: len(text) // 2], "line"),
            (text.replace('"labels"', '"label"'), "`labels` is missing"),
            (text.replace('"started": "', '"started": "x'), "is no time"),
            ("[]", "`None`"),
        ):
            record.write_text(altered)
            self.refused(problem, lambda: Run(home))
        broken = json.loads(text)
        broken["results"][0]["response_ns"]["count"] += 1
        record.write_text(json.dumps(broken))
        self.refused("and a count of", lambda: Run(home).results[0].response)

    def refused(self, problem: str, read) -> None:
        with self.assertRaises(BrokenFolder) as caught:
            read()
        self.assertIn(problem, str(caught.exception))
        self.assertIn(self.copies.name, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
