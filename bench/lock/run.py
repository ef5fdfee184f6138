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
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import batches  # noqa: E402
import checks  # noqa: E402
import entry  # noqa: E402
import peers  # noqa: E402
from entry import CPU, PAIRS  # noqa: E402
from lib import build, console, experiment, machine, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.outcome import AGAIN, Outcome, Row, compared  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.verdict import Target, at_most, exit_status  # noqa: E402
from peers import LIMIT, LONE, PLUMB, REDIS, Load, Server, Tools  # noqa: E402

LOADS = ((1, 1), (5, 1), (50, 1), (1, 16), (1, 64))
# `pairs` is all of these: each figure at each load.
PAIRS_CELLS = {
    f"{measure}-{connections}x{depth}": (measure, connections, depth)
    for connections, depth in LOADS
    for measure in (PAIRS, CPU)
}
# What is done about the ticks of idle processors, on both sides of every contender.
TICKS = ("free", "held")
BASELINES = (LIMIT, REDIS)
CELLS = ("pairs", "journal", "fill", "masks", "orders", "batches", "redis-benchmark")
LIMIT_TARGETS = {PAIRS: at_most(1.05), CPU: at_most(1.25)}
REDIS_CPU, REDIS_PAIRS = at_most(0.6), at_most(0.45)
# Constant foreign load of 1 % of all cores spoils nearly every entry of 2 s, and
# few of 0.6 s: the gate allows at least 2 jiffies.
SECONDS = 0.6
# A comparison takes as many rounds as fit, so that it ends however many are
# thrown away. An entry for processor time runs longer than the others; without
# a target a few rounds do.
TIMES = {PAIRS: 35.0, CPU: 55.0}
TIME_WITHOUT_TARGET = 10.0
TITLE = "Time of a pair, and processor time of the server for an operation: median; in ns"


@dataclass(frozen=True)
class Cell:
    """Who takes turns with plumb at which load."""

    name: str
    figure: str
    load: Load
    baseline: str
    target: Target | None
    # Client and server of every contender keep their processors' ticks.
    holds_tick: bool = False


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
        outcome.show("lock", TITLE)
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names([*CELLS, *PAIRS_CELLS]), default=list(CELLS),
        help=f"comma-separated: %(default)s; pairs is {', '.join(PAIRS_CELLS)}")  # fmt: skip
    add("--ticks", type=names(TICKS), default=list(TICKS),
        help="of one connection at depth 1, left alone or held by all: %(default)s")  # fmt: skip
    add("--against", type=names(BASELINES), default=list(BASELINES),
        help="comma-separated: whom pairs are compared with: %(default)s")  # fmt: skip
    add("--time", type=positive(float),
        help="seconds of each comparison of pairs; by default so many as its target needs")
    add("--seconds", type=positive(float), default=SECONDS, help="of each entry: %(default)s")
    add("--locks", type=positive(int), default=checks.LOCKS,
        help="of each of the 10 owners of the cell fill: %(default)s")  # fmt: skip
    add("--keys", type=positive(int), default=batches.KEYS,
        help="that the cell batches sets: %(default)s")  # fmt: skip
    add_shared(parser)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, tools: Tools, outcome: Outcome) -> None:
    """Measures the chosen cells, in the order of CELLS."""
    chosen = [cell for cell in cells(options) if side(cell) in options.against]
    if chosen:
        with ExitStack() as stack:
            enter = stack.enter_context
            wanted = {(kind, cell.holds_tick) for cell in chosen for kind in (cell.baseline, PLUMB)}
            servers = {
                (kind, held): enter(peers.serving(kind, tools, on_cpu(1), holds_tick=held))
                for kind, held in sorted(wanted)
            }
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
    if "batches" in options.cells:
        outcome.checks.append(batches.longest(tools, options.keys))
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
        if (connections, depth) == (1, 1):
            # like for like: both block in their receives, and do the same about the tick
            for ticks in options.ticks:
                held = ticks == "held"
                yield Cell(f"{name}, tick {ticks}", measure, load, LONE, limited, held)
        else:
            yield Cell(name, measure, load, LIMIT, limited)
        against = REDIS_CPU if measure == CPU and depth > 1 else None
        if measure == PAIRS and depth == 64:
            against = REDIS_PAIRS
        yield Cell(name, measure, load, REDIS, against)


def side(cell: Cell) -> str:
    """Which of BASELINES the baseline belongs to."""
    return LIMIT if cell.baseline in peers.LIMITS else cell.baseline


def measured(
    cell: Cell,
    options: argparse.Namespace,
    tools: Tools,
    servers: Mapping[tuple[str, bool], Server],
) -> Row:
    """The contenders in turns."""
    family = [os.getpid(), *(server.pid for server in servers.values())]
    contenders = {cell.baseline: cell.baseline, AGAIN: cell.baseline, PLUMB: PLUMB}
    commands = {
        name: entry.command(servers[kind, cell.holds_tick], cell.load, cell.figure, tools, on_cpu(0), family)
        for name, kind in contenders.items()
    }
    seed = seed_of(options.seed, f"{cell.name} {cell.baseline}")
    usual = TIMES[cell.figure] if cell.target else TIME_WITHOUT_TARGET
    time = f"{round(1000 * (options.time or usual))}ms"
    words = ["--exec", "--time", time, "--seed", str(seed)]
    return compared(
        cell.name, cell.baseline, cell.target,
        lambda: experiment.compare(tools.plumb, commands, words),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
