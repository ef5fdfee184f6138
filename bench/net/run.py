#!/usr/bin/env python3
"""Measures plumb's network layer against its peers, in turns, on this machine.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import checks  # noqa: E402
import comparisons  # noqa: E402
import report  # noqa: E402
import streams  # noqa: E402
import tls  # noqa: E402
from comparisons import (  # noqa: E402
    AGAIN,
    FREE,
    LIMIT,
    PLUMB,
    SOCKPERF,
    TICKS,
    Effort,
    Group,
    Row,
)
from lib import build, console, foreign, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, names, numbers, positive  # noqa: E402
from lib.outcome import Check  # noqa: E402
from lib.placement import LOOPBACK, PLACEMENTS  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402
from peers import Limit, Peer, Plumb, Sockperf  # noqa: E402
from tls import LimitTls, PlumbTls  # noqa: E402

CELLS = ("roundtrip", "tls", "throughput", "asymmetric", "streams", "memory", "idle")


@dataclass(frozen=True)
class Tools:
    """The programs of the run."""

    pingpong: Limit
    epoll: Limit
    answering: Limit
    plumb: Plumb
    sockperf: Sockperf


@dataclass(frozen=True)
class TlsTools:
    """The programs of the TLS cell, with their certificate."""

    limit: LimitTls
    plumb: PlumbTls


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One for each target of each cell."""
        judged = [judged.verdict for row in self.rows for judged in row.judged]
        return judged + [check.verdict for check in self.checks if check.verdict is not None]


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    options = parse(arguments)
    tools = prepare(options)
    outcome = Outcome(facts(tools), vars(options))
    try:
        run(options, tools, outcome)
    finally:
        print_outcome(outcome)
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults filled in except those of each cell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(CELLS), default=list(CELLS), help="comma-separated: %(default)s")
    add("--placements", type=names(PLACEMENTS), default=list(PLACEMENTS),
        help="of the round trips, comma-separated: %(default)s")  # fmt: skip
    add("--ticks", type=names(TICKS), default=list(TICKS),
        help="of the round trips, left alone or held by all: %(default)s")  # fmt: skip
    add("--sizes", type=numbers, default=list(comparisons.ROUND_TRIP_SIZES),
        help="payload bytes of the round trips: %(default)s")  # fmt: skip
    add("--rounds", type=positive(int), help="to keep; 20 for round trips, 7 for throughput")
    add("--precision", type=positive(float),
        help="take 10 to 200 rounds, until intervals are within so many percent")  # fmt: skip
    add("--seconds", type=positive(float), help="of each entry; 0.6 and 2.0")
    add_shared(parser)
    return parser.parse_args(arguments)


def prepare(options: argparse.Namespace) -> Tools:
    """Builds and installs what the chosen cells need."""
    process.raise_file_limit()
    plumb = build.plumb(options.plumb, not options.no_build)
    if "roundtrip" in options.cells:
        build.package("sockperf", "sockperf")
    here, into = Path(__file__).parent, build.TARGET / "bench"
    epoll = build.c_program(here / "limit_epoll.c", into)
    return Tools(
        pingpong=Limit(build.c_program(here / "limit_pingpong.c", into), takes_connections=False),
        epoll=Limit(epoll, takes_connections=True),
        answering=Limit(epoll, takes_connections=True, response=comparisons.ASYMMETRIC_RESPONSE),
        plumb=Plumb(plumb),
        sockperf=Sockperf(),
    )


def prepare_tls(plumb: Path) -> TlsTools:
    """Builds and installs what the TLS cell needs."""
    into = build.TARGET / "bench"
    build.library("openssl/ssl.h", "libssl-dev")
    source = Path(__file__).parent / "limit_tls.c"
    limit = build.c_program(source, into, ("ssl", "crypto"))
    shown = tls.certificate(into / "tls", LOOPBACK)
    return TlsTools(
        limit=LimitTls(limit, takes_connections=False, certificate=shown),
        plumb=PlumbTls(plumb, ca=shown.cert, certificate=shown),
    )


def facts(tools: Tools) -> dict[str, object]:
    """The machine, and the versions of what runs on it."""
    commands = {
        "cc": ["cc", "--version"],
        "rustc": ["rustc", "--version"],
        "sockperf": ["sockperf", "--version"],
        "iperf3": ["iperf3", "--version"],
        "iperf": ["iperf", "--version"],
        "qperf": ["qperf", "--version"],
        "plumb": [str(tools.plumb.program), "--version"],
    }
    return machine.facts(build.REPOSITORY, commands)


def run(options: argparse.Namespace, tools: Tools, outcome: Outcome) -> None:
    """Measures the chosen cells, in the order of CELLS."""
    effort = Effort(options.seed, options.rounds, options.seconds, options.precision)
    say(f"An entry with more than {foreign.share_max():.0%} of foreign load is dropped.")
    for group in groups(options, tools, effort):
        for row in comparisons.measure(group, effort, tools.plumb.program):
            outcome.rows.append(row)
            say(report.progress(row))
    for cell, check in (("memory", checks.memory), ("idle", checks.idle)):
        if cell in options.cells:
            outcome.checks.append(checked(cell, check, tools.plumb))
            say(f"{cell}: done")
    outcome.complete = True


def groups(options: argparse.Namespace, tools: Tools, effort: Effort) -> Iterator[Group]:
    """The comparisons chosen: round trips a placement, over TLS, then the rates."""
    if "roundtrip" in options.cells:
        for placement in options.placements:
            for ticks in options.ticks:
                yield comparisons.round_trips(
                    round_trippers(tools, ticks), placement, ticks, options.sizes, effort
                )
    if "tls" in options.cells:
        encrypted = prepare_tls(tools.plumb.program)
        yield comparisons.encrypted(turns(encrypted.limit, encrypted.plumb), effort)
    if "throughput" in options.cells:
        yield comparisons.throughput(turns(tools.epoll, tools.plumb), effort)
    if "asymmetric" in options.cells:
        yield comparisons.asymmetric(turns(tools.answering, tools.plumb), effort)
    if "streams" in options.cells:
        contenders = {PLUMB: streams.Streaming(tools.plumb.program)} | streams.installed()
        missing = streams.missing()
        for placement in comparisons.STREAM_PLACEMENTS:
            for count in comparisons.STREAM_COUNTS:
                yield comparisons.streams(contenders, placement, count, missing, effort)


def round_trippers(tools: Tools, ticks: str) -> dict[str, Peer]:
    """Those that can do about the ticks what is asked: sockperf leaves them alone."""
    if ticks == FREE:
        return turns(tools.pingpong, tools.plumb) | {SOCKPERF: tools.sockperf}
    held = replace(tools.pingpong, holds_tick=True), replace(tools.plumb, holds_tick=True)
    return turns(*held)


def turns(limit: Limit, plumb: Plumb) -> dict[str, Peer]:
    """The limit twice, so that the noise is known."""
    return {LIMIT: limit, AGAIN: limit, PLUMB: plumb}


def checked(cell: str, check: Callable[[Plumb], Check], plumb: Plumb) -> Check:
    """A check that fails to run is one that measured nothing."""
    try:
        return check(plumb)
    except BenchFailure as failure:
        return Check(cell, Verdict.UNKNOWN, (str(failure),), {})


def print_outcome(outcome: Outcome) -> None:
    """The tables on standard output, everything else in the results."""
    if not outcome.rows and not outcome.checks:
        return
    path = results.write("net", outcome)
    if outcome.rows:
        print(report.comparisons(outcome.rows))
    for check in outcome.checks:
        print(check)
    print(f"seed {outcome.options['seed']}, all figures in {path.relative_to(build.REPOSITORY)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
