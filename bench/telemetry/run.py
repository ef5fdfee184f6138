#!/usr/bin/env python3
"""Measures what sending figures costs the measurement, with receivers that answer and that do not.

Exits with 0 when every target is met, 1 when one is missed, and 2 when one
could not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, machine, process, results  # noqa: E402
from lib.options import add_shared, positive  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import Verdict, exit_status  # noqa: E402

PAIRS = 20
BLOCK = "3s"
# Figures every 100 ms, ten times as often as without being asked.
INTERVAL = "100ms"
MARGIN_PERCENT = 2
RECEIVER = Path(__file__).with_name("receiver.py")
VARIANTS = ("none", "answers", "silent")
TIMEOUT_SECONDS = 3_600.0


@dataclass(frozen=True)
class Cost:
    """What one receiver costs: the change of the median, plus is better, and its interval."""

    receiver: str
    verdict: str
    change_percent: float
    low_percent: float
    high_percent: float


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    costs: list[Cost] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=positive(int), default=PAIRS, help="rounds: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    try:
        outcome.costs = measure(program, options.pairs, options.seed)
        outcome.targets = [judge(cost) for cost in outcome.costs]
        outcome.complete = True
    finally:
        print_outcome(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def measure(program: Path, pairs: int, seed: int) -> list[Cost]:
    """Round trips without a receiver, with one that answers, and with one that does not, in turns."""
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="plumb-bench-"))

        def port(*words: str) -> int:
            server = process.running(words, stderr=subprocess.DEVNULL)
            return process.announced_port(stack.enter_context(server))

        # both sides on processors of their own: moving about would cost more than what is measured
        echo = port(*on_cpu(1), str(program), "net", "serve", "--listen", "127.0.0.1:0")
        answers = port(sys.executable, str(RECEIVER), "answer")
        silent = port(sys.executable, str(RECEIVER), "silent")
        ping = f"net ping 127.0.0.1:{echo} --interval {INTERVAL} --pin 0"
        commands = [ping, *(f"{ping} --remote-write http://127.0.0.1:{it}" for it in (answers, silent))]
        words = [str(program), "ab", "--json", f"--pairs={pairs}", f"--block={BLOCK}", f"--seed={seed}",
                 f"--margin={MARGIN_PERCENT}%", f"--names={','.join(VARIANTS)}",
                 f"--out={scratch}/ab", *commands]  # fmt: skip
        said = process.ended(words, TIMEOUT_SECONDS)
    return [cost(it) for it in json.loads(said.out)["contrasts"]]


def cost(contrast: dict) -> Cost:
    """The primary figure of a contrast, a time, as changes in percent."""
    primary = contrast["endpoints"][0]
    interval = primary.get("interval") or {"low": float("nan"), "high": float("nan")}
    change, low, high = (100 * (1 - it) for it in (primary["ratio"], interval["high"], interval["low"]))
    return Cost(contrast["candidate"], primary["verdict"], change, low, high)


def judge(found: Cost) -> tuple[str, Verdict]:
    """A receiver may not make round trips slower; with the interval within the margin that is shown."""
    target = f"receiver that {found.receiver}: no slower, within {MARGIN_PERCENT} %"
    if found.verdict in ("equivalent", "better"):
        return target, Verdict.MET
    return target, Verdict.MISSED if found.verdict == "worse" else Verdict.UNKNOWN


def print_outcome(outcome: Outcome) -> None:
    """The table, the targets, and where everything lies."""
    rows = [[it.receiver, it.verdict, f"{it.change_percent:+.2f}",
             f"{it.low_percent:+.2f} to {it.high_percent:+.2f}"] for it in outcome.costs]  # fmt: skip
    if rows:
        print(table(("receiver", "verdict", "median, % (+ is better)", "interval"), rows))
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write('telemetry', outcome)}")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
