#!/usr/bin/env python3
"""Measures plumb's HTTP layer against its peers, in turns, on this machine.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import checks  # noqa: E402
import entry  # noqa: E402
import scenarios  # noqa: E402
import web  # noqa: E402
from entry import CPU, MEDIAN  # noqa: E402
from lib import build, console, experiment, machine, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, names, numbers, positive, seed_of  # noqa: E402
from lib.outcome import AGAIN, Outcome, Row, compared  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.verdict import Target, at_most, exit_status  # noqa: E402
from peers import (  # noqa: E402
    H2LOAD,
    LIMIT,
    OHA,
    PLUMB,
    WRK,
    H2load,
    Limit,
    Load,
    Oha,
    Peer,
    Plumb,
    Wrk,
)
from web import Site  # noqa: E402

CELLS = ("cpu", "open", "stall", "memory", "users", "long")
CONNECTIONS = [1, 10, 50, 200]
# with one connection nearly all of the time is the kernel's
CPU_TARGETS = {n: at_most(0.95) for n in (10, 50)} | {n: at_most(1.00) for n in (1, 200)}
BASELINES = ("limit", "wrk", "h2load", "oha")
# Of a client that sends, receives, judges and times, over one connection, in either regime of the
# tick. Beside one that only sends and receives there is no target: it could tell nobody anything.
LIMIT_CPU_TARGET = at_most(1.03)
FREE, HELD = TICKS = ("free", "held")
OPEN_CONNECTIONS, OPEN_PER_S = 50, 2000
OPEN_TARGET = at_most(1.00)
ROUNDS, SECONDS = 12, 1.0
TITLE = "Processor time of the client for a request, and open load: median; in ns"


@dataclass(frozen=True)
class Cell:
    """Who takes turns with whom at which load; the first is the baseline."""

    name: str
    figure: str
    load: Load
    contenders: Mapping[str, Peer]
    target: Target | None


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    options = parse(arguments)
    process.raise_file_limit()
    tools = prepare(options)
    versions = {"nginx": ["nginx", "-v"], WRK: ["wrk", "-v"], H2LOAD: ["h2load", "--version"],
                OHA: ["oha", "--version"], "rustc": ["rustc", "--version"]}  # fmt: skip
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        with web.serving(on_cpu(1)) as site:
            run(options, tools, site, outcome)
    finally:
        outcome.show("http", TITLE)
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(CELLS), default=list(CELLS), help="comma-separated: %(default)s")
    add("--connections", type=numbers, default=CONNECTIONS, help="of the cell cpu: %(default)s")
    add("--baselines", type=names(BASELINES), default=list(BASELINES),
        help="of the cell cpu: %(default)s")  # fmt: skip
    add("--ticks", type=names(TICKS), default=list(TICKS),
        help="left alone or held by both clients, beside the limit: %(default)s")  # fmt: skip
    add("--rounds", type=positive(int), default=ROUNDS, help="to keep: %(default)s")
    add("--seconds", type=positive(float), default=SECONDS, help="of each entry: %(default)s")
    add("--requests", type=positive(int), default=checks.MEMORY_REQUESTS,
        help="of the cell memory: %(default)s")  # fmt: skip
    add("--users", type=positive(int), default=scenarios.USERS,
        help="of the cell users: %(default)s")  # fmt: skip
    add("--long-requests", type=positive(int), default=scenarios.LONG_REQUESTS,
        help="of the cell long: %(default)s")  # fmt: skip
    add_shared(parser)
    return parser.parse_args(arguments)


def prepare(options: argparse.Namespace) -> dict[str, Peer]:
    """Builds and installs what the chosen cells need."""
    build.package("nginx", "nginx-light")
    tools: dict[str, Peer] = {PLUMB: Plumb(build.plumb(options.plumb, not options.no_build))}
    baselines = options.baselines if "cpu" in options.cells else []
    if LIMIT in baselines:
        source = BENCH / "http" / "limit_http.c"
        tools[LIMIT] = Limit(build.c_program(source, build.TARGET / "bench"))
    if WRK in baselines:
        build.package("wrk", "wrk")
        tools[WRK] = Wrk(Path("wrk"))
    if H2LOAD in baselines:
        build.package("h2load", "nghttp2-client")
        tools[H2LOAD] = H2load(Path("h2load"))
    if OHA in baselines or "open" in options.cells:
        tools[OHA] = Oha(build.crate("oha"))
    return tools


def run(
    options: argparse.Namespace, tools: Mapping[str, Peer], site: Site, outcome: Outcome
) -> None:
    """Measures the chosen cells, in the order of CELLS."""
    for cell in cells(options, tools):
        row = measured(cell, options, tools[PLUMB], site)
        outcome.rows.append(row)
        say(f"{row.cell} against {row.baseline}: done")
    plumb = tools[PLUMB]
    assert isinstance(plumb, Plumb)
    if "stall" in options.cells:
        outcome.checks.append(checks.stall(plumb, site, on_cpu(0)))
    if "memory" in options.cells:
        outcome.checks.append(checks.memory(plumb, site, on_cpu(0), options.requests))
    if "users" in options.cells:
        outcome.checks.append(scenarios.users(plumb, site, on_cpu(0), options.users))
    if "long" in options.cells:
        found = scenarios.long(plumb, site, on_cpu(0), options.long_requests)
        outcome.checks.append(found)
    outcome.complete = True


def cells(options: argparse.Namespace, tools: Mapping[str, Peer]) -> Iterator[Cell]:
    """The comparisons chosen. The limit and wrk stand twice, so that the noise is known."""
    plumb = tools[PLUMB]
    if "cpu" in options.cells and 1 in options.connections and LIMIT in options.baselines:
        yield from beside_limit(options, tools)
    if "cpu" in options.cells:
        for connections in options.connections:
            load, name = Load(connections, options.seconds), f"cpu, {connections} connections"
            if WRK in options.baselines:
                wrk = tools[WRK]
                contenders = {WRK: wrk, AGAIN: wrk, PLUMB: plumb}
                yield Cell(name, CPU, load, contenders, CPU_TARGETS.get(connections))
            for other in (it for it in (H2LOAD, OHA) if it in options.baselines):
                yield Cell(name, CPU, load, {other: tools[other], PLUMB: plumb}, None)
    if "open" in options.cells:
        load = Load(OPEN_CONNECTIONS, max(2.0, options.seconds), OPEN_PER_S)
        contenders = {OHA: tools[OHA], PLUMB: plumb}
        yield Cell(f"open, {OPEN_PER_S}/s", MEDIAN, load, contenders, OPEN_TARGET)


def beside_limit(options: argparse.Namespace, tools: Mapping[str, Peer]) -> Iterator[Cell]:
    """One connection, against the least that does the same, and the least that does anything."""
    limit, plumb = tools[LIMIT], tools[PLUMB]
    assert isinstance(limit, Limit) and isinstance(plumb, Plumb)
    for ticks in options.ticks:
        holds = ticks == HELD
        at_limit = replace(limit, holds_tick=holds)
        contenders = {LIMIT: at_limit, AGAIN: at_limit, PLUMB: replace(plumb, holds_tick=holds)}
        name = f"cpu, 1 connection, tick {ticks}"
        load = Load(1, options.seconds)
        yield Cell(name, CPU, load, contenders, LIMIT_CPU_TARGET)
        bare = contenders | {LIMIT: replace(at_limit, bare=True), AGAIN: at_limit}
        yield Cell(f"{name}, bare", CPU, load, bare, None)


def measured(cell: Cell, options: argparse.Namespace, plumb: Peer, site: Site) -> Row:
    """The contenders in turns."""
    family = [os.getpid(), site.pid]
    commands = {
        name: entry.command(peer, site, cell.load, cell.figure, on_cpu(0), family)
        for name, peer in cell.contenders.items()
    }
    baseline = next(iter(commands))
    seed = seed_of(options.seed, f"{cell.name} {baseline}")
    words = ["--exec", "--pairs", str(options.rounds), "--seed", str(seed)]
    assert isinstance(plumb, Plumb)
    program = plumb.program
    return compared(
        cell.name, baseline, cell.target, lambda: experiment.compare(program, commands, words)
    )


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
