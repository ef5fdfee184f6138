#!/usr/bin/env python3
"""Measures what watching a machine costs, beside the recorders others use.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import tools  # noqa: E402
from lib import build, console, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, positive  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402
from tools import Calls, Tool  # noqa: E402

SECONDS = 600
# Start-up is not watching: the clocks are read this long after everybody began.
SETTLE_SECONDS = 3.0
CORE, FINE, SADC = "plumb, core, 1 s", "plumb, core, 100 ms", "sadc -S ALL, 1 s"
TRACED = {CORE: 1.0, FINE: 0.1, "vmstat, 1 s": 1.0, SADC: 1.0, "collectl -scdmn, 1 s": 1.0}
CALLS_MAX, OF_SADC_MAX, FINE_PERCENT_MAX = 20.0, 0.5, 0.25


@dataclass(frozen=True)
class Cost:
    """Processor time of one tool over the hold."""

    name: str
    percent_of_one: float
    resident_mib: float


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    calls: list[Calls] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=positive(int), default=SECONDS,
                        help="all tools run side by side: %(default)s")  # fmt: skip
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    for command, package in tools.PACKAGES.items():
        build.package(command, package)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    try:
        measure(program, options.seconds, outcome)
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def measure(program: Path, seconds: int, outcome: Outcome) -> None:
    """Counts calls one tool after the other, then holds all side by side."""
    everybody = tools.tools(program)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        for tool in everybody:
            if tool.name in TRACED:
                outcome.calls.append(tools.calls(tool, TRACED[tool.name], Path(scratch)))
                say(f"{tool.name}: calls counted")
        outcome.costs = hold(everybody, seconds, Path(scratch))
    outcome.targets = judge(outcome)
    outcome.complete = True


def hold(everybody: Sequence[Tool], seconds: int, scratch: Path) -> list[Cost]:
    """Processor time of every tool while all run for so many seconds."""
    with ExitStack() as stack:
        quiet = subprocess.DEVNULL
        pids: dict[str, int] = {}
        for tool in everybody:
            # longer than the hold, so that nobody ends within it
            words = tool.words(seconds + 60, scratch)
            running = stack.enter_context(process.running(words, stdout=quiet, stderr=quiet))
            pids[tool.name] = running.pid
        pids["nmon, 1 s"] = stack.enter_context(tools.nmon(seconds + 60, scratch))
        pids["node_exporter, asked each 1 s"] = stack.enter_context(tools.exporting())
        time.sleep(SETTLE_SECONDS)
        began = time.monotonic()
        before = {name: process.cpu_seconds(pid) for name, pid in pids.items()}
        say(f"all {len(pids)} run side by side for {seconds} s")
        time.sleep(seconds)
        elapsed = time.monotonic() - began
        return [
            Cost(name, 100 * (process.cpu_seconds(pid) - before[name]) / elapsed,
                 process.memory_bytes(pid).get("VmRSS", 0) / 2**20)
            for name, pid in pids.items()
        ]  # fmt: skip


def judge(outcome: Outcome) -> list[tuple[str, Verdict]]:
    """The targets, each with what became of it."""
    counted = {found.name: found for found in outcome.calls}
    cost = {found.name: found.percent_of_one for found in outcome.costs}

    def met(holds: bool) -> Verdict:
        return Verdict.MET if holds else Verdict.MISSED

    return [
        (f"at most {CALLS_MAX:.0f} system calls a sample", met(counted[CORE].calls <= CALLS_MAX)),
        ("no opens in a sample", met(counted[CORE].opens == 0)),
        (f"at 1 s at most {OF_SADC_MAX} of sadc", met(cost[CORE] <= OF_SADC_MAX * cost[SADC])),
        (f"at 100 ms at most {FINE_PERCENT_MAX} % of one processor",
         met(cost[FINE] <= FINE_PERCENT_MAX)),
    ]  # fmt: skip


def print_outcome(outcome: Outcome) -> None:
    """The tables, the targets, and where everything lies."""
    if outcome.calls:
        rows = [[it.name, "", f"{it.calls:.1f}", f"{it.opens:.1f}"] for it in outcome.calls]
        print(table(("one sample", "", "system calls", "opens"), rows))
    if outcome.costs:
        ordered = sorted(outcome.costs, key=lambda it: it.percent_of_one)
        rows = [[it.name, "", f"{it.percent_of_one:.3f}", f"{it.resident_mib:.1f}"]
                for it in ordered]  # fmt: skip
        print(table(("side by side", "", "% of one processor", "resident MiB"), rows))
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write('host', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
