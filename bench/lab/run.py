#!/usr/bin/env python3
"""Lets `plumb ab` measure a difference that is known, and none, many times.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says what is counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import counts  # noqa: E402
from counts import Count  # noqa: E402
from lib import build, console, echo, experiment, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.experiment import Comparison, Effect  # noqa: E402
from lib.options import add_shared, positive, seed_of  # noqa: E402
from lib.placement import PINNED, Placement, placed  # noqa: E402
from lib.table import NOTHING, ratio, table  # noqa: E402
from lib.verdict import exit_status  # noqa: E402

BASELINE, SLOWER, TWIN = "2ms", "2.1ms", "2ms again"
SERVICE_MS = {BASELINE: 2.0, SLOWER: 2.1, TWIN: 2.0}
MESSAGE = ("--size", "1000B")
CALIBRATION = "2s"
CALIBRATION_PATIENCE_SECONDS = 30.0

EXPERIMENTS, PAIRS, BLOCK = 20, 10, "500ms"
HEAD = ("variants", "how often", "found", "no verdict", "of", "target", "verdict")


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    overhead_ms: float | None = None
    different: list[Comparison] = field(default_factory=list)
    equal: list[Comparison] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)

    def effects(self, candidate: str) -> list[Effect | None]:
        """What each experiment said of a candidate."""
        found = self.different if candidate == SLOWER else self.equal
        return [comparison.effect(candidate, BASELINE) for comparison in found]


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, counts, reports; the exit status."""
    options = parse(arguments)
    plumb = build.plumb(options.plumb, not options.no_build)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(plumb), "--version"]})
    outcome = Outcome(facts, vars(options))
    try:
        run(options, plumb, outcome)
    finally:
        print_outcome(outcome, options)
    return exit_status([count.verdict for count in outcome.counts if count.verdict is not None])


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults filled in."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--experiments", type=positive(int), default=EXPERIMENTS,
        help="with a difference, and as many without: %(default)s")  # fmt: skip
    add("--pairs", type=positive(int), default=PAIRS, help="of an experiment: %(default)s")
    add("--block", default=BLOCK, help="how long a server is measured at a time: %(default)s")
    add_shared(parser)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, plumb: Path, outcome: Outcome) -> None:
    """Starts all servers on one processor, where one at a time has work, and
    drives them from the other."""
    with ExitStack() as stack:
        place = stack.enter_context(placed(PINNED))
        outcome.overhead_ms = overhead_ms(plumb, place)
        commands = {
            name: ping(place, stack.enter_context(echo.serving(plumb, *occupied(place, ms)))[1])
            for name, ms in SERVICE_MS.items()
        }
        for candidate, found in ((SLOWER, outcome.different), (TWIN, outcome.equal)):
            variants = {name: " ".join(commands[name]) for name in (BASELINE, candidate)}
            for number in range(1, options.experiments + 1):
                words = words_of(options, f"{candidate} {number}")
                found.append(experiment.compare(plumb, variants, words, place.client))
                effect = found[-1].effect(candidate, BASELINE)
                say(f"{pair(candidate)}, {number} of {options.experiments}: {told(effect)}")
    outcome.complete = True


def overhead_ms(plumb: Path, place: Placement) -> float:
    """The median round trip to a server that sends each message back at once."""
    with (
        echo.serving(plumb, *occupied(place, 0.0)) as (_, port),
        tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch,
    ):
        command = [*place.client, str(plumb), *ping(place, port), "--for", CALIBRATION]
        command += ["--json", "--out", str(Path(scratch, "out"))]
        printed = process.run(command, CALIBRATION_PATIENCE_SECONDS)
    return echo.figures(printed)["p50_ns"] / 1e6


def occupied(place: Placement, service_ms: float) -> tuple[Sequence[str], str, Sequence[str]]:
    """Where a server runs, and how long each message occupies it."""
    return place.server, place.host, ("--service-time", f"{1000 * service_ms:.0f}us")


def ping(place: Placement, port: int) -> list[str]:
    """The words behind `plumb` of a client."""
    return ["net", "ping", f"{place.host}:{port}", *MESSAGE]


def words_of(options: argparse.Namespace, name: str) -> list[str]:
    """The options of one experiment."""
    seed = seed_of(options.seed, name)
    return ["--pairs", str(options.pairs), "--block", options.block, "--seed", str(seed)]


def pair(candidate: str) -> str:
    """Candidate and baseline, as the ratio has them."""
    return f"{candidate} / {BASELINE}"


def told(effect: Effect | None) -> str:
    """The verdict of one experiment and its ratio."""
    return "nothing" if effect is None else f"{effect.verdict}, {ratio(effect)}"


def print_outcome(outcome: Outcome, options: argparse.Namespace) -> None:
    """The table on standard output, everything else in the results."""
    if outcome.overhead_ms is None:
        return
    different, equal = outcome.effects(SLOWER), outcome.effects(TWIN)
    overheads = {"in the calibration": outcome.overhead_ms}
    if decided := counts.decided(different):
        middle_ns = median(effect.baseline for effect in decided)
        overheads["in the experiments"] = middle_ns / 1e6 - SERVICE_MS[BASELINE]
    ratios = [*map(true_ratio, overheads.values()), true_ratio(0.0)]
    planned = options.experiments
    outcome.counts = counts.of_different(pair(SLOWER), different, planned, ratios)
    outcome.counts += counts.of_equal(pair(TWIN), equal, planned)
    path = results.write("lab", outcome)
    print(table(HEAD, [cells(count) for count in outcome.counts]))
    for where, overhead in overheads.items():
        print(f"overhead {where} {1000 * overhead:.1f} us: ratio {true_ratio(overhead):.4f}")
    for candidate in (SLOWER, TWIN):
        print(f"{pair(candidate)}: {spread(outcome.effects(candidate))}")
    print(f"seed {options.seed}, all figures in {path.relative_to(build.REPOSITORY)}")


def true_ratio(overhead: float) -> float:
    """Of the slower server, when a round trip has this overhead in ms."""
    return (SERVICE_MS[SLOWER] + overhead) / (SERVICE_MS[BASELINE] + overhead)


def cells(count: Count) -> list[str]:
    """A count as a row of the table."""
    verdict = NOTHING if count.verdict is None else count.verdict.value
    numbers = [count.found, count.undecided, count.planned]
    return [count.variants, count.what, *map(str, numbers), count.target or NOTHING, verdict]


def spread(effects: Sequence[Effect | None]) -> str:
    """Where the ratios lie, and how wide their intervals are."""
    found = [it for it in counts.decided(effects) if it.ratio is not None]
    ratios = [it.ratio for it in found if it.ratio is not None]
    halves = [(it.interval.high - it.interval.low) / 2 for it in found if it.interval is not None]
    if not ratios:
        return "no ratio"
    return (
        f"ratios from {min(ratios):.4f} to {max(ratios):.4f}, {median(ratios):.4f} in the middle; "
        f"intervals +- {median(halves):.4f} in the middle"
    )


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
