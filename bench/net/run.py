#!/usr/bin/env python3
"""Measures plumb's network layer against its peers, in turns, on this machine.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import checks  # noqa: E402
import comparisons  # noqa: E402
import report  # noqa: E402
from checks import Check  # noqa: E402
from comparisons import AGAIN, LIMIT, PLUMB, SOCKPERF, Effort, Group, Row  # noqa: E402
from lib import build, machine, process, results  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.placement import PLACEMENTS  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402
from peers import Limit, Peer, Plumb, Sockperf  # noqa: E402

REPOSITORY = BENCH.parent
TARGET = REPOSITORY / "target"
CELLS = ("roundtrip", "throughput", "memory", "idle")
INTERRUPTED = 130
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Tools:
    """The programs of the run; plumb may be missing, and then is left out."""

    pingpong: Limit
    epoll: Limit
    plumb: Plumb | None
    sockperf: Sockperf


@dataclass
class Outcome:
    """All that was measured so far, as it is written to the results."""

    machine: dict[str, object]
    options: dict[str, object]
    complete: bool = False
    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One for each target of each cell."""
        judged = [judged.verdict for row in self.rows for judged in row.judged]
        return judged + [check.verdict for check in self.checks]


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tools = prepare(options)
        outcome = Outcome(facts(tools), vars(options))
        try:
            run(options, tools, outcome)
        finally:
            print_outcome(outcome)
    except BenchFailure as failure:
        say(f"could not run: {failure}")
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults filled in except those of each cell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(CELLS), default=list(CELLS), help="comma-separated: %(default)s")
    add("--placements", type=names(PLACEMENTS), default=list(PLACEMENTS),
        help="of the round trips, comma-separated: %(default)s")  # fmt: skip
    add("--sizes", type=numbers, default=list(comparisons.ROUND_TRIP_SIZES),
        help="payload bytes of the round trips: %(default)s")  # fmt: skip
    add("--rounds", type=positive(int), help="to keep; 20 for round trips, 7 for throughput")
    add("--seconds", type=positive(float), help="of each entry; 0.6 and 2.0")
    add("--seed", type=int, default=random.SystemRandom().randrange(2**32),
        help="of the order within the rounds; random unless given")  # fmt: skip
    add("--no-build", action="store_true", help="do not build plumb, take it as it is")
    add("--plumb", type=Path, help="take this plumb and do not build; else target/release/plumb")
    return parser.parse_args(arguments)


def names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads a comma-separated list of allowed names."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in allowed]
        if unknown:
            expected = ", ".join(allowed)
            raise argparse.ArgumentTypeError(f"no '{unknown[0]}', expected some of {expected}")
        return chosen

    return read


def numbers(text: str) -> list[int]:
    """Reads comma-separated positive integers."""
    return [positive(int)(word) for word in text.split(",")]


def positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Reads one number above zero."""

    def read(text: str) -> Number:
        with suppress(ValueError):
            value = kind(text)
            if 0 < value < float("inf"):
                return value
        raise argparse.ArgumentTypeError(f"'{text}', expected a number above 0")

    return read


def prepare(options: argparse.Namespace) -> Tools:
    """Builds and installs what the chosen cells need."""
    process.raise_file_limit()
    if not options.no_build and options.plumb is None:
        build.cargo_release(REPOSITORY)
    if "roundtrip" in options.cells:
        build.package("sockperf", "sockperf")
    here, into = Path(__file__).parent, TARGET / "bench"
    plumb = options.plumb or TARGET / "release" / "plumb"
    if not plumb.exists():
        say(f"no {plumb}: plumb is left out, and no target can be judged")
    return Tools(
        pingpong=Limit(build.c_program(here / "limit_pingpong.c", into), takes_connections=False),
        epoll=Limit(build.c_program(here / "limit_epoll.c", into), takes_connections=True),
        plumb=Plumb(plumb) if plumb.exists() else None,
        sockperf=Sockperf(),
    )


def facts(tools: Tools) -> dict[str, object]:
    """The machine, and the versions of what runs on it."""
    commands = {
        "cc": ["cc", "--version"],
        "rustc": ["rustc", "--version"],
        "sockperf": ["sockperf", "--version"],
    }
    if tools.plumb is not None:
        commands["plumb"] = [str(tools.plumb.program), "--version"]
    return machine.facts(REPOSITORY, commands)


def run(options: argparse.Namespace, tools: Tools, outcome: Outcome) -> None:
    """Measures the chosen cells, in the order of CELLS."""
    effort = Effort(options.seed, options.rounds, options.seconds)
    for group in groups(options, tools, effort):
        for row in comparisons.measure(group, effort):
            outcome.rows.append(row)
            say(report.progress(row))
    for cell, check in (("memory", checks.memory), ("idle", checks.idle)):
        if cell in options.cells:
            outcome.checks.append(checked(cell, check, tools.plumb))
            say(f"{cell}: done")
    outcome.complete = True


def groups(options: argparse.Namespace, tools: Tools, effort: Effort) -> Iterator[Group]:
    """The comparisons chosen: round trips a placement, then throughput."""
    if "roundtrip" in options.cells:
        contenders = turns(tools.pingpong, tools.plumb) | {SOCKPERF: tools.sockperf}
        for placement in options.placements:
            yield comparisons.round_trips(contenders, placement, options.sizes, effort)
    if "throughput" in options.cells:
        yield comparisons.throughput(turns(tools.epoll, tools.plumb), effort)


def turns(limit: Limit, plumb: Plumb | None) -> dict[str, Peer]:
    """The limit twice, so that the noise is known, and plumb when it is there."""
    contenders: dict[str, Peer] = {LIMIT: limit, AGAIN: limit}
    return contenders if plumb is None else contenders | {PLUMB: plumb}


def checked(cell: str, check: Callable[[Plumb], Check], plumb: Plumb | None) -> Check:
    """A check that fails to run is one that measured nothing."""
    if plumb is None:
        return Check(cell, Verdict.UNKNOWN, ("there is no plumb",), {})
    try:
        return check(plumb)
    except BenchFailure as failure:
        return Check(cell, Verdict.UNKNOWN, (str(failure),), {})


def print_outcome(outcome: Outcome) -> None:
    """The tables on standard output, everything else in the results."""
    if not outcome.rows and not outcome.checks:
        return
    path = results.write(BENCH / "results", "net", outcome)
    if outcome.rows:
        print(report.comparisons(outcome.rows))
    for check in outcome.checks:
        print(report.check(check))
    print(f"seed {outcome.options['seed']}, all figures in {path.relative_to(REPOSITORY)}")


def say(text: str) -> None:
    """Progress and failures, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
