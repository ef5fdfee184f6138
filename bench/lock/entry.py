#!/usr/bin/env python3
"""One entry of a comparison: a client takes and releases locks on a server that is there.

    entry.py plumb 3200 --server 4711 --figure cpu_ns

Prints the figure. Exits with 75 when somebody else used the machine meanwhile,
and with 1 when the client failed; why is the last line of standard error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import peers  # noqa: E402
from lib import console, entries, process  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from peers import Load, Server, Tools  # noqa: E402

CPU, PAIRS = FIGURES = ("cpu_ns", "pair_ns")
# An entry that was disturbed waits so long before the next one begins.
CALM_SECONDS = 0.5
# Longer than a client takes to start, to measure what it costs itself, to connect
# and to warm up.
SETTLE_SECONDS = 0.5
PATIENCE_SECONDS = 30.0


def command(
    server: Server, load: Load, figure: str, tools: Tools, place: Sequence[str],
    family: Collection[int],
) -> str:  # fmt: skip
    """The shell command of an entry."""
    words = [__file__, server.kind, str(server.port)]
    words += ["--server", str(server.pid), "--figure", figure]
    words += ["--plumb", str(tools.plumb), "--limit", str(tools.limit)]
    words += ["--connections", str(load.connections), "--depth", str(load.depth)]
    words += ["--seconds", str(load.seconds)]
    words += ["--hold-tick"] if server.holds_tick else []
    return entries.command(words, place, family)


def main(arguments: Sequence[str]) -> int:
    """Runs one client while it watches the machine; the exit status."""
    options = parse(arguments)
    server = Server(options.kind, options.port, options.server, options.hold_tick)
    load = Load(options.connections, options.depth, options.seconds)
    tools = Tools(options.plumb, options.limit)
    return entries.watched(
        lambda: measured(server, load, tools, options.client, options.figure),
        options.family, CALM_SECONDS,
    )  # fmt: skip


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options; `command` writes all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("kind", choices=peers.KINDS, help="what the server is")
    add("port", type=int, help="of the server")
    add("--server", type=int, required=True, help="process id of the server")
    add("--plumb", type=Path, required=True, help="the program plumb")
    add("--limit", type=Path, required=True, help="the program limit_lock")
    add("--hold-tick", action="store_true", help="both sides keep their processors' ticks")
    add("--figure", choices=FIGURES, default=CPU, help="which figure to print: %(default)s")
    add("--connections", type=int, default=1, help="each with locks of its own: %(default)s")
    add("--depth", type=int, default=1, help="requests under way on each: %(default)s")
    add("--seconds", type=float, default=1.0, help="how long: %(default)s")
    entries.add_shared(parser)
    return parser.parse_args(arguments)


def measured(
    server: Server, load: Load, tools: Tools, place: Sequence[str], figure: str
) -> float:
    """Nanoseconds of time for a pair, or of the server's processor for an operation.

    The server's own clock of processor time runs over a stretch in the middle
    of a longer load, so that connecting and warming up are no part of it. The
    operations of that stretch are the client's rate of pairs times its length,
    twice."""
    longer = Load(load.connections, load.depth, load.seconds + 2 * SETTLE_SECONDS)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        driven = load if figure == PAIRS else longer
        words = [*place, *peers.pairs_command(server, driven, tools, Path(scratch))]
        if figure == PAIRS:
            return 1e9 / peers.pairs_of(server, ended(words, load))
        return cpu_ns(server, load, words)


def cpu_ns(server: Server, load: Load, words: Sequence[str]) -> float:
    """A look at the server's clock while the client runs at full speed: both
    ends of the look lie within the load, of which `words` run more than it asks
    for at either end."""
    with process.running(words, stderr=process.subprocess.PIPE) as client:
        time.sleep(SETTLE_SECONDS)
        before, begun = process.cpu_seconds(server.pid), time.monotonic()
        time.sleep(load.seconds)
        spent, lasted = process.cpu_seconds(server.pid) - before, time.monotonic() - begun
        running = client.poll() is None
        out, err = client.communicate(timeout=PATIENCE_SECONDS)
    if not running or client.returncode not in (0, 1):
        raise BenchFailure(f"the client ended early, with {client.returncode}: {err[-500:]}")
    operations = 2 * peers.pairs_of(server, out) * lasted
    return 1e9 * spent / operations


def ended(words: Sequence[str], load: Load) -> str:
    """What a client printed that must succeed."""
    client = process.ended(words, load.seconds + PATIENCE_SECONDS)
    # plumb ends with 1 when it does not trust its own figures; the bench judges by itself
    if client.status not in (0, 1):
        raise BenchFailure(f"the client ended with {client.status}: {client.said()}")
    return client.out


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
