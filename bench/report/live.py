#!/usr/bin/env python3
"""Measures whether the live view on a terminal costs the measurement anything.

Exits with 0 when the target is met, 1 when it is missed, and 2 when it could
not be judged. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import console, costs, experiment, process  # noqa: E402
from lib.costs import MARGIN_PERCENT, NO_VERDICT  # noqa: E402
from lib.options import add_shared, positive  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.table import table  # noqa: E402

PAIRS = 20
SECONDS = 3
# Without a terminal, once more without one (what differs there is noise), and with one.
PLAIN, AGAIN, LIVE = "plain", "again", "live"
VARIANTS = {PLAIN: PLAIN, AGAIN: PLAIN, LIVE: LIVE}


@dataclass(frozen=True)
class Cost:
    """Median round trip of a variant over that without a terminal."""

    variant: str
    verdict: str
    ratio: float
    low: float
    high: float


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=positive(int), default=PAIRS, help="rounds: %(default)s")
    parser.add_argument("--seconds", type=positive(int), default=SECONDS, help="of a block: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    # what differs in the A/A is noise, and no target
    return costs.run(options, lambda it: measure(it, options),
                     lambda it: it.variant if it.variant == LIVE else None, print_outcome)  # fmt: skip


def measure(program: Path, options: argparse.Namespace) -> list[Cost]:
    """Round trips with and without a terminal, in turns."""
    words = (*on_cpu(1), str(program), "net", "serve", "--listen", "127.0.0.1:0", "--quiet")
    with process.running(words, stderr=subprocess.DEVNULL) as server:
        port = process.announced_port(server)
        entry = f"{sys.executable} {__file__} entry {{}} {program} {port} {options.seconds}"
        variants = {name: entry.format(view) for name, view in VARIANTS.items()}
        asked = ["--exec", f"--pairs={options.pairs}", f"--seed={options.seed}",
                 f"--margin={MARGIN_PERCENT}%"]  # fmt: skip
        compared = experiment.compare(program, variants, asked)
    for fault in compared.faults():
        console.say(fault)
    return [cost(name, compared) for name in (AGAIN, LIVE)]


def cost(name: str, compared: experiment.Comparison) -> Cost:
    """What was found of a variant; not a number where nothing was, and no verdict where an entry failed."""
    nothing = float("nan")
    effect, interval = compared.effect(name, PLAIN), compared.judged(name, PLAIN)
    if effect is None or effect.ratio is None:
        return Cost(name, NO_VERDICT, nothing, nothing, nothing)
    if interval is None:
        return Cost(name, NO_VERDICT, effect.ratio, nothing, nothing)
    return Cost(name, effect.verdict, effect.ratio, interval.low, interval.high)


def print_outcome(outcome: costs.Outcome) -> None:
    """The table, the targets, and where everything lies."""
    rows = [[it.variant, it.verdict, f"{it.ratio:.4f}", f"{it.low:.4f} to {it.high:.4f}"]
            for it in outcome.costs]  # fmt: skip
    if rows:
        print(table(("standard error", "verdict", "median over plain", "interval"), rows))
    costs.report(outcome, "live")


def entry(view: str, program: str, port: str, seconds: str) -> int:
    """One block: round trips with standard error as `view` says; prints their median, nanoseconds."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [program, "net", "ping", f"127.0.0.1:{port}", "--json", "--pin", "0", "--for",
                 f"{seconds}s", "--host-interval", "0s", "--out", f"{scratch}/run"]  # fmt: skip
        if view == LIVE:
            ours, theirs = pty.openpty()
            reader = threading.Thread(target=drain, args=(ours,), daemon=True)
            reader.start()
            ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, check=False)
            os.close(theirs)
        else:
            ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    record = json.loads(ended.stdout)
    print(record["results"][0]["response_ns"]["p50"])
    return 0


def drain(terminal: int) -> None:
    """Takes what is drawn, as a terminal does, until nobody draws any more."""
    try:
        while os.read(terminal, 65_536):
            pass
    except OSError:
        return


if __name__ == "__main__":
    if sys.argv[1:2] == ["entry"]:
        sys.exit(entry(*sys.argv[2:]))
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
