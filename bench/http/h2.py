#!/usr/bin/env python3
"""Measures plumb over HTTP/2 against h2load, in turns, on this machine: what a request costs the
client, and how many a second there are.

nginx with one worker serves the page of `run.py` over clear text. Exits with 0 when every target is
met, 1 when one is missed, and 2 when one could not be judged. bench/README.md says how the figures
are taken.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import web  # noqa: E402
from entry import CPU, SETTLE_SECONDS  # noqa: E402
from lib import build, console, machine, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.options import add_shared, names, positive  # noqa: E402
from lib.outcome import AGAIN, Outcome  # noqa: E402
from lib.placement import on_cpu  # noqa: E402
from lib.verdict import at_most, exit_status  # noqa: E402
from peers import H2LOAD, OHA, PLUMB, H2load, Load, Oha, Peer, Plumb  # noqa: E402
from run import Cell, measured  # noqa: E402

# Connections and the requests under way on each.
CELLS = {"10x10": (10, 10), "1x100": (1, 100), "10x1": (10, 1)}
TARGETS = {"10x10": at_most(1.00)}
BASELINES = (H2LOAD, OHA)
ROUNDS, SECONDS = 12, 1.0
TITLE = "Processor time of the client for a request over HTTP/2: median, in ns"


def main(arguments: Sequence[str]) -> int:
    """Reads the options, prepares, measures, reports; the exit status."""
    options = parse(arguments)
    process.raise_file_limit()
    tools = prepare(options)
    versions = {"nginx": ["nginx", "-v"], H2LOAD: ["h2load", "--version"]}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    try:
        with web.serving(on_cpu(1)) as site:
            for name in options.cells:
                connections, streams = CELLS[name]
                load = Load(connections, options.seconds, None, streams)
                for peer in (tools[PLUMB], tools[H2LOAD]):
                    say(f"{name}: {peer.words[0]} {rate(peer, site, load):,.0f} requests a second")
                for cell in cells(name, load, tools):
                    outcome.rows.append(measured(cell, options, tools[PLUMB], site))
                    say(f"{name} against {outcome.rows[-1].baseline}: done")
        outcome.complete = True
    finally:
        outcome.show("h2", TITLE)
    return exit_status(outcome.verdicts())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with their defaults."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--cells", type=names(tuple(CELLS)), default=list(CELLS),
        help="connections x streams, comma-separated: %(default)s")  # fmt: skip
    add("--baselines", type=names(BASELINES), default=[H2LOAD],
        help="h2load is always there; oha is built: %(default)s")  # fmt: skip
    add("--rounds", type=positive(int), default=ROUNDS, help="to keep: %(default)s")
    add("--seconds", type=positive(float), default=SECONDS, help="of each entry: %(default)s")
    add_shared(parser)
    return parser.parse_args(arguments)


def prepare(options: argparse.Namespace) -> dict[str, Peer]:
    """Builds and installs what is compared."""
    build.package("nginx", "nginx-light")
    build.package("h2load", "nghttp2-client")
    tools: dict[str, Peer] = {
        PLUMB: Plumb(build.plumb(options.plumb, not options.no_build)),
        H2LOAD: H2load(Path("h2load")),
    }
    if OHA in options.baselines:
        tools[OHA] = Oha(build.crate("oha"))
    return tools


def cells(name: str, load: Load, tools: dict[str, Peer]) -> list[Cell]:
    """The comparisons of one load; h2load stands twice, so that the noise is known."""
    h2load, plumb = tools[H2LOAD], tools[PLUMB]
    contenders = {H2LOAD: h2load, AGAIN: h2load, PLUMB: plumb}
    found = [Cell(f"cpu, {name}", CPU, load, contenders, TARGETS.get(name))]
    if OHA in tools:
        found.append(Cell(f"cpu, {name}", CPU, load, {OHA: tools[OHA], PLUMB: plumb}, None))
    return found


def rate(peer: Peer, site: web.Site, load: Load) -> float:
    """Requests a second that the server answers once the client runs, as it counts them itself."""
    longer = replace(load, seconds=load.seconds + 2 * SETTLE_SECONDS)
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [*on_cpu(0), *peer.command(site, longer, Path(scratch))]
        with process.running(words, stdout=quiet, stderr=quiet):
            time.sleep(SETTLE_SECONDS)
            before, began = site.requests(), time.monotonic()
            time.sleep(load.seconds)
            return (site.requests() - before - 1) / (time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
