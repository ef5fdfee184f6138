#!/usr/bin/env python3
"""Measures the time of SELECT 1 that plumb finds beside that of pgbench, and of mysqlslap.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import entry  # noqa: E402
from lib import build, cluster, console, experiment, machine, mariadb, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.experiment import Comparison  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.outcome import PLUMB, cells  # noqa: E402
from lib.placement import PINNED, UNPINNED, placed  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import Target, Verdict, at_most, exit_status  # noqa: E402

PEER, AGAIN = "peer", "peer again"
PLACEMENTS = (PINNED, UNPINNED)
TARGET = at_most(1.00)
ROUNDS, CALLS = 60, 4_000
HEAD = ("placement", "peer", "peer ns", "plumb ns", "plumb/peer", "peer/peer",
        "interval", "kept", "thrown", "target", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Database:
    """A server, and the client that plumb is measured beside."""

    peer: str
    entry: str
    serving: Callable[[Sequence[str]], AbstractContextManager[int]]
    program: Callable[[], str]


DATABASES = {
    "postgresql": Database("pgbench", "plumb", cluster.serving, cluster.pgbench),
    "mariadb": Database("mysqlslap", "plumb-mariadb", mariadb.serving, mariadb.mysqlslap),
}


@dataclass(frozen=True)
class Row:
    """What was found of one database in one placement."""

    placement: str
    peer: str
    comparison: Comparison
    verdict: Verdict
    target: Target = TARGET


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    rows: list[Row] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--placements", type=names(PLACEMENTS), default=list(PLACEMENTS),
        help="comma-separated: %(default)s")  # fmt: skip
    add("--databases", type=names(tuple(DATABASES)), default=list(DATABASES),
        help="comma-separated: %(default)s")  # fmt: skip
    add("--rounds", type=positive(int), default=ROUNDS, help="to keep: %(default)s")
    add("--calls", type=positive(int), default=CALLS, help="of each entry: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("pgbench", "postgresql")
    build.package("mariadb-slap", "mariadb-server")
    asked = {name: DATABASES[name] for name in options.databases}
    versions = {"plumb": [str(program), "--version"]}
    versions |= {it.peer: [it.program(), "--version"] for it in asked.values()}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        for placement in options.placements:
            for database in asked.values():
                outcome.rows.append(measure(placement, database, program, options))
                say(f"{placement}, {database.peer}: done")
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([row.verdict for row in outcome.rows])


def measure(
    name: str, database: Database, program: Path, options: argparse.Namespace
) -> Row:
    """All rounds of one placement, against one server."""
    with placed(name) as placement, database.serving(placement.server) as port:
        def words(kind: str, client: str) -> str:
            return entry.command(kind, client, port, options.calls, placement.client)

        variants = {
            PEER: words(database.peer, database.program()),
            AGAIN: words(database.peer, database.program()),
            PLUMB: words(database.entry, str(program)),
        }
        seed = seed_of(options.seed, f"db {name} {database.peer}")
        asked = ["--exec", "--pairs", str(options.rounds), "--seed", str(seed)]
        comparison = experiment.compare(program, variants, asked)
    return Row(name, database.peer, comparison, TARGET.judge(comparison.judged(PLUMB, PEER)))


def print_outcome(outcome: Outcome) -> None:
    """The table, what went wrong, and where everything lies."""
    if outcome.rows:
        print(table(HEAD, [cells_of(row) for row in outcome.rows]))
    for row in outcome.rows:
        for fault in row.comparison.faults():
            print(f"{row.placement}, {row.peer}: {fault}")
    print(f"all figures in {results.write('db', outcome)}")


def cells_of(row: Row) -> list[str]:
    """One row of the table."""
    found = cells(row.comparison, PEER, AGAIN)
    return [row.placement, row.peer, *found, str(row.target), row.verdict.value]


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
