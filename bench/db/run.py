#!/usr/bin/env python3
"""Measures the median of SELECT 1 that plumb finds beside that of pgbench.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import entry  # noqa: E402
from lib import build, cluster, console, experiment, machine, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.experiment import Comparison  # noqa: E402
from lib.options import add_shared, names, positive, seed_of  # noqa: E402
from lib.outcome import PLUMB, cells  # noqa: E402
from lib.placement import PINNED, UNPINNED, placed  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import Target, Verdict, at_most, exit_status  # noqa: E402

PGBENCH, AGAIN = "pgbench", "pgbench again"
PLACEMENTS = (PINNED, UNPINNED)
TARGET = at_most(1.00)
ROUNDS, SECONDS = 20, 2
HEAD = ("placement", "", "pgbench ns", "plumb ns", "plumb/pgbench", "pgbench/pgbench",
        "interval", "kept", "thrown", "target", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What was found in one placement."""

    placement: str
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
    add("--rounds", type=positive(int), default=ROUNDS, help="to keep: %(default)s")
    add("--seconds", type=positive(int), default=SECONDS, help="of each entry: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("pgbench", "postgresql")
    versions = {"plumb": [str(program), "--version"], "pgbench": [cluster.pgbench(), "--version"]}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        for placement in options.placements:
            outcome.rows.append(measure(placement, program, options))
            say(f"{placement}: done")
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([row.verdict for row in outcome.rows])


def measure(name: str, program: Path, options: argparse.Namespace) -> Row:
    """All rounds of one placement, against one server."""
    with placed(name) as placement, cluster.serving(placement.server) as port:
        def words(kind: str, client: str) -> str:
            return entry.command(kind, client, port, options.seconds, placement.client)

        variants = {
            PGBENCH: words("pgbench", cluster.pgbench()),
            AGAIN: words("pgbench", cluster.pgbench()),
            PLUMB: words("plumb", str(program)),
        }
        seed = seed_of(options.seed, f"db {name}")
        asked = ["--exec", "--pairs", str(options.rounds), "--seed", str(seed)]
        comparison = experiment.compare(program, variants, asked)
    effect = comparison.effect(PLUMB, PGBENCH)
    faulty = bool(comparison.faults())
    verdict = Verdict.UNKNOWN if faulty else TARGET.judge(effect and effect.interval)
    return Row(name, comparison, verdict)


def print_outcome(outcome: Outcome) -> None:
    """The table, what went wrong, and where everything lies."""
    if outcome.rows:
        print(table(HEAD, [cells_of(row) for row in outcome.rows]))
    for row in outcome.rows:
        for fault in row.comparison.faults():
            print(f"{row.placement}: {fault}")
    print(f"all figures in {results.write('db', outcome)}")


def cells_of(row: Row) -> list[str]:
    """One row of the table."""
    found = cells(row.comparison, PGBENCH, AGAIN)
    return [row.placement, "", *found, str(row.target), row.verdict.value]


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
