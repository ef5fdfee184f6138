#!/usr/bin/env python3
"""Sizes landscapes whose limits are set on purpose, then measures the truth.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import landscapes  # noqa: E402
import truth  # noqa: E402
from group import bounded  # noqa: E402
from landscapes import Landscape  # noqa: E402
from lib import build, console, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, numbers, positive  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402

KNEE_MAX, P95_MAX, REFUSED_MAX = 0.15, 0.25, 2
CLIENT, SERVER = "0", "1"
LADDER_SECONDS = 300
REFUSED, ANSWERED = 3, 0


@dataclass(frozen=True)
class Case:
    """One landscape: what was said of it, and what is true."""

    landscape: Landscape
    seconds: float
    sized: dict[str, object] | None = None
    true: truth.Truth | None = None
    failed: str = ""

    def knee(self) -> tuple[str, float] | None:
        """What is full first, and at how many users, as predicted; nothing
        where that was refused."""
        knee = self.sized["sizing"]["knee"] if self.sized else None
        if knee is None or not knee["explained"]:
            return None
        return knee["bottleneck"], knee["users"]["value"]

    def p95(self) -> float | None:
        """Predicted for the users of the truth; nothing where that was refused."""
        answer = self.sized["sizing"].get("answer") if self.sized else None
        return answer["p95_s"]["value"] if answer else None


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    cases: list[Case] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cases", type=numbers, help="numbers of the landscapes, from 1; else all eight")
    add("--step", type=positive(int), default=4, help="seconds of a step: %(default)s")
    add("--truth", type=positive(int), default=10, help="seconds of the truth: %(default)s")
    add("--lag", default="5ms", help="how late the load generator may be: %(default)s")
    add("--keep", type=Path, help="folder for the ladders; else they are removed")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    os.environ.update(PLUMB_HTTP_USER="demo", PLUMB_HTTP_PASSWORD="demo")
    try:
        measure(program, options, outcome)
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def measure(program: Path, options: argparse.Namespace, outcome: Outcome) -> None:
    """One landscape after the other."""
    with ExitStack() as stack:
        if options.keep:
            options.keep.mkdir(parents=True)
            scratch = options.keep.resolve()
        else:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plumb-bench-")))
        for number, landscape in enumerate(landscapes.drawn(options.seed), 1):
            if options.cases and number not in options.cases:
                continue
            folder = scratch / f"case-{number}"
            folder.mkdir()
            found = case(program, landscape, folder, options)
            outcome.cases.append(found)
            say(f"{landscape.name}: {found.failed or 'measured'}, {found.seconds:.0f} s")
    outcome.targets = judge(outcome.cases)
    outcome.complete = not options.cases


def case(program: Path, of: Landscape, folder: Path, options: argparse.Namespace) -> Case:
    """Ladder, sizing, truth. What goes wrong is a case without figures."""
    began = time.monotonic()
    client = ["taskset", "-c", CLIENT, str(program)]
    landscapes.written(of, folder)
    try:
        with ExitStack() as stack:
            start = f"exec taskset -c {SERVER} {program} app serve {folder / 'app.toml'}"
            if of.limit_bytes:
                group = stack.enter_context(bounded(of.limit_bytes))
                start = f"echo $$ > {group} && {start}"
            start += " --listen 127.0.0.1:0"
            sized = size(client, of, folder, (start, (options.step, options.lag)))

            @contextmanager
            def server() -> Iterator[Popen[str]]:
                with process.running(["/bin/sh", "-c", start]) as started:
                    yield started

            true = truth.measured(of, truth.Client(client, options.lag), server, folder, options.truth)
    except BenchFailure as failure:
        return Case(of, time.monotonic() - began, failed=str(failure))
    return Case(of, time.monotonic() - began, sized, true)


def size(client: Sequence[str], of: Landscape, folder: Path,
         how: tuple[str, tuple[int, str]]) -> dict[str, object]:  # fmt: skip
    """Climbs the ladder, and asks for as many users as the truth has."""
    (folder / "ladder.toml").write_text(landscapes.ladder(of, folder, *how))
    out = folder / "ladder"
    words = [*client, "lab", "run", str(folder / "ladder.toml"), "--out", str(out)]
    climbed = process.ended(words, LADDER_SECONDS)
    (folder / "ladder.txt").write_text(climbed.out + climbed.err)
    if climbed.status not in (ANSWERED, REFUSED):
        raise BenchFailure(f"the ladder ended with {climbed.status}: {climbed.said()}")
    words = [*client, "size", str(out), "--users", str(of.beyond()), "--target", "p95=10s"]
    said = process.ended([*words, "--json"], LADDER_SECONDS)
    if said.status not in (ANSWERED, REFUSED):
        raise BenchFailure(f"`plumb size` ended with {said.status}: {said.said()}")
    return json.loads(said.out)


def judge(cases: Sequence[Case]) -> list[tuple[str, Verdict]]:
    """The targets, each with what became of it."""
    known = [it for it in cases if it.sized is not None and it.true is not None]
    # what is held against a truth that is not valid is neither right nor wrong
    whole = len(known) == len(cases) > 0 and not any(it.true.doubts() for it in known)

    def met(holds: bool) -> Verdict:
        return Verdict.UNKNOWN if not whole else Verdict.MET if holds else Verdict.MISSED

    told = [(it, *it.knee()) for it in known if it.knee()]
    knees = [abs(error(users, it.true.knee_users)) for it, _, users in told]
    named = [name == it.landscape.bottleneck for it, name, _ in told]
    each = len(told) == len(known)
    answered = [it for it in known if it.p95() is not None]
    p95 = [abs(error(it.p95(), it.true.beyond.p95_s)) for it in answered]
    return [
        (f"knee within {KNEE_MAX:.0%}", met(each and all(it <= KNEE_MAX for it in knees))),
        (f"bottleneck named, {sum(named)} of {len(known)}", met(each and all(named))),
        (f"p95 within {P95_MAX:.0%} or refused", met(all(it <= P95_MAX for it in p95))),
        (f"at most {REFUSED_MAX} refused", met(len(known) - len(answered) <= REFUSED_MAX)),
    ]


def error(predicted: float, true: float) -> float:
    """As a share of what is true."""
    return predicted / true - 1.0


def print_outcome(outcome: Outcome) -> None:
    """Predicted beside true, the targets, and where everything lies."""
    head = ("landscape", "full first", "said", "knee", "said", "error", "users", "p95", "said",
            "error", "s")  # fmt: skip
    if outcome.cases:
        print(table(head, [row(it) for it in outcome.cases]))
    for it in outcome.cases:
        for sentence in remarks(it):
            print(f"{it.landscape.name}: {sentence}")
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"seed {outcome.options['seed']}, all figures in {results.write('size', outcome)}")


def row(it: Case) -> list[str]:
    """One landscape."""
    of = it.landscape
    if it.sized is None or it.true is None:
        return [of.name, of.bottleneck, *["-"] * 8, f"{it.seconds:.0f}"]
    p95, true = it.p95(), it.true
    name, users, wrong = "refused", "-", "-"
    if knee := it.knee():
        name, users = knee[0], f"{knee[1]:.1f}"
        wrong = f"{error(knee[1], true.knee_users):+.0%}"
    said = ["refused", "-"]
    if p95 is not None:
        said = [f"{p95 * 1e3:.0f} ms", f"{error(p95, true.beyond.p95_s):+.0%}"]
    return [
        of.name, of.bottleneck, name, f"{true.knee_users:.1f}", users, wrong, str(of.beyond()),
        f"{true.beyond.p95_s * 1e3:.0f} ms", *said, f"{it.seconds:.0f}",
    ]  # fmt: skip


def remarks(it: Case) -> list[str]:
    """What went wrong, was refused, or was measured although it is not valid."""
    said = [it.failed] if it.failed else []
    if it.sized is not None:
        said += [f"refused: {why}" for why in it.sized["sizing"]["refusals"]]
        said += [f"left out: {why}" for why in it.sized["runs"]["left_out"]]
    if it.true is not None:
        said += [f"the truth is not valid, {why}" for why in it.true.doubts()]
    return said


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
