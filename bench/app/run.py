#!/usr/bin/env python3
"""Measures the application server beside nginx, and what its pools do.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import entry  # noqa: E402
import servers  # noqa: E402
from lib import build, console, experiment, machine, placement, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, positive, seed_of  # noqa: E402
from lib.table import figure, ratio, table  # noqa: E402
from lib.verdict import Verdict, at_least, exit_status  # noqa: E402

CONNECTIONS = 16
OVERHEAD = {"page": at_least(0.65), "image": at_least(1.2)}
USERS = (1, 5, 10, 20)
PROCESSES = (1, 2, 20)
WAIT_SECONDS = 0.010
FLIGHT = "FlightCollection(carrid='AA',connid='0017',fldate='20110601')"
ROOT = "/sap/opu/{}/iwfnd/RMTSAMPLEFLIGHT/"
FORMS = {
    "compatibility, Atom": ROOT.format("sdata") + FLIGHT,
    "standard, Atom": ROOT.format("odata") + FLIGHT,
    "standard, JSON": ROOT.format("odata") + FLIGHT + "?$format=json",
    "compact JSON": "/rest/flights/AA/0017/2011-06-01",
}


@dataclass(frozen=True)
class Curve:
    """Steps a second of so many users on so many work processes."""

    kind: str
    processes: int
    rates: dict[int, float]
    words: str


@dataclass(frozen=True)
class Form:
    """Details a second in one form."""

    name: str
    size: int
    rates: dict[int, float]


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    overhead: dict[str, experiment.Effect | None] = field(default_factory=dict)
    curves: list[Curve] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=positive(int), default=10, help="default %(default)s")
    parser.add_argument("--seconds", type=positive(int), default=2,
                        help="of one load, whole: %(default)s")  # fmt: skip
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    for command in ("nginx", "wrk", "curl"):
        build.package(command, command)
    versions = {"plumb": [str(program), "--version"], "nginx": ["nginx", "-v"]}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        measure(program, options, outcome)
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def measure(plumb: Path, options: argparse.Namespace, outcome: Outcome) -> None:
    """Everything, one part after the other."""
    with placement.placed(placement.PINNED) as place:
        overhead(plumb, options, place, outcome)
        for kind in ("database-wait", "cpu"):
            for processes in PROCESSES:
                outcome.curves.append(curve(plumb, options, kind, processes))
        judge_curves(outcome)
    forms(plumb, options, outcome)


def overhead(
    plumb: Path, options: argparse.Namespace, place: placement.Placement, outcome: Outcome
) -> None:
    """The 1 KB page and the cached image beside the same bytes from nginx."""
    with (
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
        servers.nginx(Path(scratch), place.server) as static,
        servers.app(plumb, Path(scratch), place.server, "") as (_, dynamic),
    ):
        servers.read(dynamic, servers.PAGE)
        servers.read(dynamic, servers.IMAGE)

        def one(address: str, path: str) -> str:
            return entry.command(address, path, CONNECTIONS, options.seconds, place.client)

        variants = {
            "nginx": one(static, "/page.htm"),
            "page": one(dynamic, servers.PAGE),
            "image": one(dynamic, servers.IMAGE),
        }
        words = ["--exec", "--pairs", str(options.rounds), "--higher-is-better"]
        words += ["--seed", str(seed_of(options.seed, "overhead"))]
        compared = experiment.compare(plumb, variants, words)
    for fault in compared.faults():
        say(fault)
    for name, target in OVERHEAD.items():
        outcome.overhead[name] = compared.effect(name, "nginx")
        verdict = target.judge(compared.judged(name, "nginx"))
        outcome.targets.append((f"{name} / nginx {target}", verdict))


def curve(plumb: Path, options: argparse.Namespace, kind: str, processes: int) -> Curve:
    """Steps a second with 10 ms of `kind` in each; any processor may be used."""
    settings = f'[step]\n{kind} = "{WAIT_SECONDS * 1000:.0f}ms"\n'
    settings += f"[dispatcher]\nwork-processes = {processes}\n"
    with (
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
        servers.app(plumb, Path(scratch), (), settings) as (_, address),
    ):
        servers.read(address, servers.PAGE)
        rates = {
            users: servers.load(address, servers.PAGE, users, options.seconds, ())
            for users in USERS
        }
        verdict = servers.status(address)["verdict"]
    say(f"{kind}, {processes} work processes: measured")
    return Curve(kind, processes, rates, verdict["words"])  # type: ignore[index]


def judge_curves(outcome: Outcome) -> None:
    """What 20 users gain over one."""
    gains = {
        it.processes: it.rates[20] / it.rates[1]
        for it in outcome.curves if it.kind == "database-wait"
    }  # fmt: skip
    for text, holds in (
        ("1 work process gains nothing from 20 users", gains[1] <= 1.1),
        ("2 work processes gain 2 x", 1.8 <= gains[2] <= 2.2),
        ("20 work processes gain at least 8 x", gains[20] >= 8),
    ):
        outcome.targets.append((text, Verdict.MET if holds else Verdict.MISSED))


def forms(plumb: Path, options: argparse.Namespace, outcome: Outcome) -> None:
    """Flight details in every form."""
    with (
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
        servers.app(plumb, Path(scratch), (), "[dispatcher]\nwork-processes = 20\n") as (_, at),
    ):
        for name, path in FORMS.items():
            size = len(servers.read(at, path))
            rates = {users: servers.load(at, path, users, options.seconds, ()) for users in USERS}
            outcome.forms.append(Form(name, size, rates))
            say(f"{name}: measured")


def bound(curve: Curve) -> float:
    """Steps a second that are possible: users, work processes and, for
    processor time, the processors set it."""
    at_once = min(USERS[-1], curve.processes)
    if curve.kind == "cpu":
        at_once = min(at_once, os.cpu_count() or at_once)
    return at_once / WAIT_SECONDS


def print_outcome(outcome: Outcome) -> None:
    """The tables, the targets, and where everything lies."""
    rows = [
        [name, "", figure(it.candidate if it else None), figure(it.baseline if it else None),
         ratio(it)]
        for name, it in outcome.overhead.items()
    ]  # fmt: skip
    if rows:
        print(table((f"{CONNECTIONS} connections", "", "plumb/s", "nginx/s", "ratio"), rows))
    heads = [f"{users} users" for users in USERS]
    if outcome.curves:
        rows = [
            [f"{it.kind}, {it.processes} processes", "", *map(figure, it.rates.values()),
             figure(bound(it))]
            for it in outcome.curves
        ]  # fmt: skip
        print(table(("steps/s, 10 ms each", "", *heads, "bound at 20"), rows))
        for it in outcome.curves:
            print(f"{it.kind}, {it.processes} processes: {it.words}")
    if outcome.forms:
        rows = [[it.name, "", *map(figure, it.rates.values()), str(it.size)]
                for it in outcome.forms]  # fmt: skip
        print(table(("details/s", "", *heads, "bytes"), rows))
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write('app', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
