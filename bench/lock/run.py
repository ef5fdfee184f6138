#!/usr/bin/env python3
"""Measures plumb's lock server against Redis and the limit, in turns, on this machine.

Server on CPU 1, client on CPU 0. Exits with 0 when every target is met, 1 when
one is missed, and 2 when one could not be judged. bench/README.md says how the
figures are taken.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import checks  # noqa: E402
import entry  # noqa: E402
import peers  # noqa: E402
from checks import Check  # noqa: E402
from entry import CPU, PAIRS  # noqa: E402
from lib import build, console, experiment, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.experiment import Comparison  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.table import figure, level, ratio, table  # noqa: E402
from lib.verdict import Target, Verdict, at_most, exit_status  # noqa: E402
from peers import LIMIT, PLUMB, REDIS, Load, Server, Tools  # noqa: E402

AGAIN = "again"
LOADS = ((1, 1), (5, 1), (50, 1), (1, 16), (1, 64))
# `pairs` is all of these: each figure at each load.
PAIRS_CELLS = {
    f"{measure}-{connections}x{depth}": (measure, connections, depth)
    for connections, depth in LOADS
    for measure in (PAIRS, CPU)
}
CELLS = ("pairs", "journal", "fill", "masks", "orders", "redis-benchmark")
# 0.9 of the limit's pairs a second is 1.11 of its time for one.
LIMIT_TARGETS = {PAIRS: at_most(1 / 0.9), CPU: at_most(1.25)}
REDIS_CPU, REDIS_PAIRS = at_most(0.6), at_most(0.5)
# Constant foreign load of 1 % of all cores spoils nearly every entry of 2 s, and
# few of 0.6 s: the gate allows at least 2 jiffies.
SECONDS = 0.6
# A comparison takes as many rounds as fit, so that it ends however many are
# thrown away. An entry for processor time runs longer than the others; without
# a target a few rounds do.
TIMES = {PAIRS: 35.0, CPU: 55.0}
TIME_WITHOUT_TARGET = 10.0
HEAD = ("cell", "baseline", "baseline's", "plumb's", "plumb/baseline", "A/A", "interval", "kept",
        "thrown", "target", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """Who takes turns with plumb at which load."""

    name: str
    figure: str
    load: Load
    baseline: str
    target: Target | None


@dataclass(frozen=True)
class Row:
    """One cell after it was measured."""

    cell: str
    baseline: str
    comparison: Comparison | None
    target: Target | None
    verdict: Verdict | None
    errors: Sequence[str]


@dataclass
class Outcome:
    """All that was measured so far, as it is written to the results."""

    machine: dict[str, object]
    options: dict[str, object]
    complete: bool = False
    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One for each target."""
        judged = [row.verdict for row in self.rows if row.verdict is not None]
        return judged + [check.verdict for check in self.checks if check.verdict is not None]


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    options = parse(arguments)
    process.raise_file_limit()
    build.package("redis-server", "redis-server")
    tools = Tools(
        build.plumb(options.plumb, not options.no_build),
        build.c_program(BENCH / "lock" / "limit_lock.c", build.TARGET / "bench"),
    )
    versions = {"redis-server": ["redis-server", "--version"], "cc": ["cc", "--version"],
                "rustc": ["rustc", "--version"]}  # fmt: skip
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        run(options, tools, outcome)
    finally:
        print_outcome(outcome)
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names([*CELLS, *PAIRS_CELLS]), default=list(CELLS),
        help=f"comma-separated: %(default)s; pairs is {', '.join(PAIRS_CELLS)}")  # fmt: skip
    add("--time", type=positive(float),
        help="seconds of each comparison of pairs; by default so many as its target needs")
    add("--seconds", type=positive(float), default=SECONDS, help="of each entry: %(default)s")
    add("--locks", type=positive(int), default=checks.LOCKS,
        help="of each of the 10 owners of the cell fill: %(default)s")  # fmt: skip
    add_shared(parser)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, tools: Tools, outcome: Outcome) -> None:
    """Measures the chosen cells, in the order of CELLS."""
    chosen = list(cells(options))
    if chosen:
        with ExitStack() as stack:
            enter = stack.enter_context
            servers = {kind: enter(peers.serving(kind, tools, on_cpu(1))) for kind in peers.KINDS}
            for cell in chosen:
                outcome.rows.append(measured(cell, options, tools, servers))
                say(f"{cell.name} against {cell.baseline}: done")
    if "journal" in options.cells:
        outcome.checks += checks.journal(tools)
    if "fill" in options.cells:
        outcome.checks += checks.fill(tools, options.locks)
    if "masks" in options.cells:
        outcome.checks.append(checks.masks(tools))
    if "orders" in options.cells:
        outcome.checks.append(checks.orders(tools))
    if "redis-benchmark" in options.cells:
        outcome.checks.append(checks.redis_benchmark(tools))
    outcome.complete = True


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """The comparisons chosen. The baseline stands twice in each, so that the noise is known."""
    for name, (measure, connections, depth) in PAIRS_CELLS.items():
        if "pairs" not in options.cells and name not in options.cells:
            continue
        load = Load(connections, depth, options.seconds)
        limited = LIMIT_TARGETS[measure] if depth == 1 else None
        yield Cell(name, measure, load, LIMIT, limited)
        against = REDIS_CPU if measure == CPU and depth > 1 else None
        if measure == PAIRS and depth == 64:
            against = REDIS_PAIRS
        yield Cell(name, measure, load, REDIS, against)


def measured(
    cell: Cell, options: argparse.Namespace, tools: Tools, servers: Mapping[str, Server]
) -> Row:
    """The contenders in turns."""
    family = [os.getpid(), *(server.pid for server in servers.values())]
    contenders = {cell.baseline: cell.baseline, AGAIN: cell.baseline, PLUMB: PLUMB}
    commands = {
        name: entry.command(servers[kind], cell.load, cell.figure, tools, on_cpu(0), family)
        for name, kind in contenders.items()
    }
    seed = seed_of(options.seed, f"{cell.name} {cell.baseline}")
    usual = TIMES[cell.figure] if cell.target else TIME_WITHOUT_TARGET
    time = f"{round(1000 * (options.time or usual))}ms"
    words = ["--exec", "--time", time, "--seed", str(seed)]
    try:
        found = experiment.compare(tools.plumb, commands, words)
    except BenchFailure as failure:
        verdict = cell.target and Verdict.UNKNOWN
        return Row(cell.name, cell.baseline, None, cell.target, verdict, [str(failure)])
    return Row(cell.name, cell.baseline, found, cell.target, judged(cell, found), found.faults())


def judged(cell: Cell, found: Comparison) -> Verdict | None:
    """A comparison in which an entry went wrong judges nothing."""
    if cell.target is None:
        return None
    effect = found.effect(PLUMB, cell.baseline)
    if effect is None or found.faults():
        return Verdict.UNKNOWN
    return cell.target.judge(effect.interval)


def print_outcome(outcome: Outcome) -> None:
    """The tables on standard output, everything else in the results."""
    if not outcome.rows and not outcome.checks:
        return
    path = results.write("lock", outcome)
    if outcome.rows:
        print("Time of a pair, and processor time of the server for an operation: median; in ns")
        print(table(HEAD, [cells_of(row) for row in outcome.rows]))
        for row in outcome.rows:
            for error in row.errors:
                print(f"{row.cell} against {row.baseline}: {error}")
    for check in outcome.checks:
        verdict = check.verdict.value if check.verdict else "no target"
        print("\n".join([f"{check.cell}: {verdict}", *(f"  {it}" for it in check.found)]))
    print(f"seed {outcome.options['seed']}, all figures in {path.relative_to(build.REPOSITORY)}")


def cells_of(row: Row) -> list[str]:
    """One line of the table."""
    found = row.comparison
    effect = found.effect(PLUMB, row.baseline) if found else None
    noise = found.effect(AGAIN, row.baseline) if found else None
    return [
        row.cell,
        row.baseline,
        figure(effect and effect.baseline),
        figure(effect and effect.candidate),
        ratio(effect),
        ratio(noise),
        level(effect),
        str(found.kept()) if found else "-",
        str(found.thrown()) if found else "-",
        str(row.target or "-"),
        row.verdict.value if row.verdict else "-",
    ]


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
