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
from dataclasses import dataclass, replace
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console, costs, experiment, process  # noqa: E402
from lib.costs import MARGIN_PERCENT, NO_VERDICT  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import add_shared, positive  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.table import table  # noqa: E402

PAIRS = 20
BLOCK = "3s"
# Figures every 100 ms, ten times as often as without being asked.
INTERVAL = "100ms"
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


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=positive(int), default=PAIRS, help="rounds: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    return costs.run(options, lambda it: measure(it, options.pairs, options.seed),
                     lambda it: f"receiver that {it.receiver}", print_outcome)  # fmt: skip


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
        if said.status not in experiment.COMPARED:
            raise BenchFailure(f"`plumb ab` ended with {said.status}: {said.said()}")
        document = json.loads(said.out)
        broken = faults(document, json.loads(Path(scratch, "ab", "order.json").read_text()))
    for fault in broken:
        console.say(fault)
    found = [cost(it) for it in document["contrasts"]]
    return [replace(it, verdict=NO_VERDICT) for it in found] if broken else found


def faults(document: dict, order: dict) -> list[str]:
    """Why the experiment ended early, and why blocks came to nothing: the others are no sample of all. A block
    that foreign load took away is none of these, for it is measured again."""
    early = document["design"].get("cut_short")
    blocks = [it for it in order["blocks"] if "failed" in it]
    failed = [f"{VARIANTS[it['variant']]} failed: {it['failed']}" for it in blocks]
    return [early, *failed] if early else failed


def cost(contrast: dict) -> Cost:
    """The primary figure of a contrast, a time, as changes in percent; not a number where nothing was found."""
    nothing = float("nan")
    primary = next(iter(contrast["endpoints"]), {})
    interval = primary.get("interval") or {"low": nothing, "high": nothing}
    ratios = (primary.get("ratio", nothing), interval["high"], interval["low"])
    change, low, high = (100 * (1 - it) for it in ratios)
    return Cost(contrast["candidate"], primary.get("verdict", NO_VERDICT), change, low, high)


def print_outcome(outcome: costs.Outcome) -> None:
    """The table, the targets, and where everything lies."""
    rows = [[it.receiver, it.verdict, f"{it.change_percent:+.2f}",
             f"{it.low_percent:+.2f} to {it.high_percent:+.2f}"] for it in outcome.costs]  # fmt: skip
    if rows:
        print(table(("receiver", "verdict", "median, % (+ is better)", "interval"), rows))
    costs.report(outcome, "telemetry")


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
