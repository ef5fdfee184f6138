#!/usr/bin/env python3
"""Whether the parts of a round trip are told right, and what telling them costs.

Something is added whose place is known: a line of known delay, work at the
server, a process that competes with the server for its processor. What a round
trip takes longer must be longer in the part of that place, within a tenth or
3 us, over loopback and between two network namespaces. Then the same round
trips with and without `--timestamps`, in turns: with them the median may be
3 % longer. With --before, an earlier plumb is measured beside the one without
them, which it must equal.

Exits with 0 when every target is met and 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, echo, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, names, positive  # noqa: E402
from lib.placement import PINNED, PLACEMENTS, VETH, Placement, placed  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import exit_status  # noqa: E402

WITHIN_SHARE, WITHIN_NS = 0.10, 3_000
ON_RATIO, OFF_RATIO = 1.03, 1.03
DELAY, WORK = "5ms", "2ms"
HOG = "while True: pass"
# From a hog of its own priority a server that wakes gets the processor at once; these need root.
YIELDING, GREEDY = ("nice", "-n", "15"), ("nice", "-n", "-10")
PATIENCE_SECONDS = 120.0
NO_JUDGING = ("--lag", "50s", "--foreign-limit", "100%")
PARTS = ("sending", "wire", "server-waking", "server", "server-sending", "waking")
Means = Mapping[str, float]


@dataclass
class Outcome(results.Judged):
    """All that was measured so far."""

    truth: list[list[str]] = field(default_factory=list)
    cost: list[list[str]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rounds", type=positive(int), default=20, help="turns of each: %(default)s")
    add("--seconds", type=positive(float), default=3.0, help="of one run: %(default)s")
    add("--placements", type=names(PLACEMENTS), default=[PINNED, VETH], help="default: pinned,veth")
    add("--before", type=Path, help="an earlier plumb, for what --timestamps costs where it is off")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    versions = {"plumb": [str(program), "--version"]}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    chance = random.Random(options.seed)
    try:
        for name in options.placements:
            with placed(name) as place:
                truth(program, place, options.seconds, outcome)
                cost(program, place, options, chance, outcome)
        outcome.complete = True
    finally:
        print(table(("added", "where", "part", "longer", "the part"), outcome.truth))
        print(table(("compared", "where", "p50 ratio", "rounds"), outcome.cost))
        for text, verdict in outcome.targets:
            print(f"{text}: {verdict.value}")
        print(f"all figures in {results.write('parts', outcome)}")
    return exit_status([verdict for _, verdict in outcome.targets])


def ping(program: Path, place: Placement, port: int, seconds: float, *words: str) -> Mapping[str, object]:
    """The only result of a run of round trips."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as folder:
        run = [*place.client, str(program), "net", "ping", f"{place.host}:{port}", "--size", "500B",
               "--for", f"{seconds}s", "--out", f"{folder}/run", *NO_JUDGING, *words]  # fmt: skip
        process.run(run, PATIENCE_SECONDS)
        record: Mapping[str, object] = json.loads(Path(f"{folder}/run/run.json").read_text())
        return record["results"][0]  # type: ignore[index]


def means(program: Path, place: Placement, port: int, seconds: float) -> Means:
    """The mean of each part, and of the whole, of every eighth message: of those around the median,
    so that what others do on the machine meanwhile is not in them."""
    trip = ping(program, place, port, seconds, "--timestamps=8").get("round_trip")
    if trip is None or not trip["account"].get("percentiles"):
        raise BenchFailure(f"too few messages were taken apart in {seconds:g} s: give --seconds more")
    around = trip["account"]["percentiles"][0]
    parts = {part["kind"]: part["time"]["mean_ns"] for part in around["parts"]}
    whole = around["client"]["mean_ns"]
    if abs(sum(parts.values()) - whole) > len(parts):
        raise BenchFailure(f"the parts {parts} are not the whole {whole}")
    return {**{kind: 0.0 for kind in PARTS}, **parts, "whole": whole}


def truth(program: Path, place: Placement, seconds: float, outcome: Outcome) -> None:
    """Adds something to a place, and looks for it there."""
    say(f"truth, {place.name}")
    with ExitStack() as stack:
        _, port = stack.enter_context(echo.serving(program, place.server, place.host))
        plain = means(program, place, port, seconds)
        with line(program, place, port) as through:
            held = means(program, place, through, seconds)
        found(f"a line of {DELAY} there", place, "wire", plain, held, outcome)
        with echo.serving(program, place.server, place.host, ["--service-time", WORK]) as (_, slow):
            busy = means(program, place, slow, seconds)
        found(f"{WORK} of --service-time", place, "server", plain, busy, outcome)
        server, port = stack.enter_context(
            echo.serving(program, [*place.server, *YIELDING], place.host))  # fmt: skip
        alone = means(program, place, port, seconds)
        cpu = min(os.sched_getaffinity(server.pid))
        with process.running([*GREEDY, "taskset", "-c", str(cpu), sys.executable, "-c", HOG]):
            crowded = means(program, place, port, seconds)
        found("a hog beside the server", place, "server-waking", alone, crowded, outcome)


@contextmanager
def line(program: Path, place: Placement, port: int) -> Iterator[int]:
    """A line of known delay in front of a server."""
    command = [*place.server, str(program), "net", "delay", f"{place.host}:{port}", "--listen",
               f"{place.host}:0", "--delay-there", DELAY]  # fmt: skip
    with process.running(command) as relay:
        yield process.announced_port(relay)


def found(what: str, place: Placement, part: str, plain: Means, more: Means, outcome: Outcome) -> None:
    """Judges whether what a round trip takes longer is in `part`."""
    longer, own = (more[name] - plain[name] for name in ("whole", part))
    outcome.truth.append([what, place.name, part, f"{longer / 1e3:.1f} us", f"{own / 1e3:.1f} us"])
    holds = abs(own - longer) <= max(WITHIN_SHARE * longer, WITHIN_NS)
    outcome.judge(f"{what} shows as {part}, {place.name}", holds)


def cost(
    program: Path, place: Placement, options: argparse.Namespace, chance: random.Random, outcome: Outcome
) -> None:
    """Medians with and without stamps, in turns, against one server."""
    say(f"cost, {place.name}")
    ways: dict[str, tuple[Path, tuple[str, ...]]] = {
        "off": (program, ()), "off again": (program, ()), "on": (program, ("--timestamps",))}  # fmt: skip
    if options.before is not None:
        ways["before"] = (options.before.resolve(), ())
    medians: dict[str, list[float]] = {name: [] for name in ways}
    with echo.serving(program, place.server, place.host) as (_, port):
        for _ in range(options.rounds):
            for name in chance.sample(list(ways), len(ways)):
                binary, words = ways[name]
                times = ping(binary, place, port, options.seconds, *words)["service_ns"]
                medians[name].append(times["p50"])  # type: ignore[index]
    for one, other, most in [("on", "off", ON_RATIO), ("off again", "off", None), ("off", "before", OFF_RATIO)]:
        if other not in medians:
            continue
        ratio = statistics.median(a / b for a, b in zip(medians[one], medians[other]))
        outcome.cost.append([f"{one} / {other}", place.name, f"{ratio:.3f}", str(options.rounds)])
        if most is not None:
            outcome.judge(f"{one} is at most {most:.2f} of {other}, {place.name}", ratio <= most)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
