#!/usr/bin/env python3
"""Measures what a report over many runs takes: time, memory and size of the page.

Exits with 0 when every target is met, 1 when one is missed, and 2 when it could
not run. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import positive  # noqa: E402
from lib.table import mebibytes, table  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402

GENERATOR = "many_runs"
OPERATIONS_A_RUN = 10_000
SECONDS_MAX, MEMORY_MAX, PAGE_MAX = 3.0, 150 * 2**20, 2_000_000


@dataclass(frozen=True)
class Taken:
    """What one report took."""

    seconds: float
    memory_bytes: int
    page_bytes: int


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    reports: list[Taken] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, makes the runs, reports on them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--runs", type=positive(int), default=1_000, help="run folders: %(default)s")
    add("--repeat", type=positive(int), default=5, help="reports: %(default)s")
    add("--no-build", action="store_true", help="take what is in target/release as it is")
    add("--plumb", type=Path, help="take this plumb; the generator is built all the same")
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    generator = built_generator(not options.no_build)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    try:
        with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
            runs = Path(scratch) / "runs"
            subprocess.run([str(generator), str(runs), str(options.runs)], check=True)
            say(f"{options.runs} runs of {OPERATIONS_A_RUN:,} operations are made")
            for _ in range(options.repeat):
                outcome.reports.append(report(program, runs, Path(scratch) / "report.html"))
        outcome.targets = judge(outcome.reports)
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def built_generator(wanted: bool) -> Path:
    """The program that makes run folders, built in release."""
    if wanted:
        words = ["cargo", "build", "--release", "--locked", "-p", "plumb-report",
                 "--example", GENERATOR, "--target-dir", str(build.TARGET)]  # fmt: skip
        if subprocess.run(words, cwd=build.REPOSITORY, check=False).returncode != 0:
            raise BenchFailure(f"the example {GENERATOR} cannot be built")
    program = build.TARGET / "release" / "examples" / GENERATOR
    if not program.exists():
        raise BenchFailure(f"no {program}; leave out --no-build")
    return program


def report(program: Path, runs: Path, page: Path) -> Taken:
    """One report over all runs, from the start of the program to its end."""
    began = time.monotonic()
    cost = process.cost([str(program), "report", str(runs), "--out", str(page)])
    seconds = time.monotonic() - began
    return Taken(seconds, cost.peak_bytes, page.stat().st_size)


def judge(reports: Sequence[Taken]) -> list[tuple[str, Verdict]]:
    """The targets, each with what became of it."""

    def met(holds: bool) -> Verdict:
        return Verdict.MET if holds else Verdict.MISSED

    seconds = statistics.median(taken.seconds for taken in reports)
    memory = max(taken.memory_bytes for taken in reports)
    page = max(taken.page_bytes for taken in reports)
    return [
        (f"median below {SECONDS_MAX:.0f} s", met(seconds < SECONDS_MAX)),
        (f"memory below {mebibytes(MEMORY_MAX)}", met(memory < MEMORY_MAX)),
        (f"page below {PAGE_MAX / 1e6:.0f} MB", met(page < PAGE_MAX)),
    ]


def print_outcome(outcome: Outcome) -> None:
    """The table, the targets, and where everything lies."""
    rows = [
        [str(number), "", f"{it.seconds:.2f}", mebibytes(it.memory_bytes), f"{it.page_bytes:,}"]
        for number, it in enumerate(outcome.reports, start=1)
    ]
    print(table(("report", "", "seconds", "peak memory", "page, bytes"), rows))
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write('report', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
