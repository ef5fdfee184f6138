#!/usr/bin/env python3
"""Measures what a second lock server costs: with a replica behind a veth pair, and without.

The servers run on CPU 1, client and replica on CPU 0, each replica in a network
namespace of its own (needs root). Both servers stand all the time and are asked
in turns. Exits with 0 when both targets are met, 1 when one is missed, and 2 when
it could not be run.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import peers  # noqa: E402
from lib import build, console, process  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.namespace import inside, ip, namespaces  # noqa: E402
from lib.options import positive  # noqa: E402
from lib.placement import on_cpu  # noqa: E402

HERE, THERE = "plumb-bench-l0", "plumb-bench-l1"
ADDRESSES = {HERE: "10.88.1.1", THERE: "10.88.1.2"}
DEPTH = 64
# Of the pairs a second without a replica, and round trips of the network that one adds.
PAIRS_LEAST, ADDED_MOST = 0.6, 1.3
WAIT_SECONDS = 30.0


def main() -> int:
    """Measures and prints; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--rounds", type=positive(int), default=20, help="of each: %(default)s")
    add("--seconds", type=positive(float), default=0.6, help="of each entry: %(default)s")
    add("--seed", type=int, default=1, help="of the order within a round: %(default)s")
    add("--plumb", type=Path, help="the program; else it is built")
    add("--no-build", action="store_true", help="the program was built before")
    options = parser.parse_args()
    program = build.plumb(options.plumb, not options.no_build)
    with wire(), tempfile.TemporaryDirectory(prefix="plumb-replica-") as folder:
        with plain(program) as alone, pair(program) as replicated:
            return measured(program, options, {"alone": alone, "replicated": replicated}, folder)


def measured(
    program: Path, options: argparse.Namespace, servers: dict[str, str], folder: str
) -> int:
    """Asks both in turns; the exit status."""
    order = random.Random(options.seed)
    pairs: dict[str, list[float]] = {name: [] for name in servers}
    trips: dict[str, list[float]] = {name: [] for name in servers}
    for done in range(options.rounds):
        names = list(servers)
        order.shuffle(names)
        for name in names:
            deep = load(program, servers[name], DEPTH, options.seconds, folder)
            pairs[name].append(peers.named(deep, "pairs"))
            lone = load(program, servers[name], 1, options.seconds, folder)
            trips[name].append(float(lone["service_ns"]["p50"]))
        say(f"round {done + 1} of {options.rounds}")
    ratios = [with_ / without for with_, without in zip(pairs["replicated"], pairs["alone"])]
    added = [with_ - without for with_, without in zip(trips["replicated"], trips["alone"])]
    network = round_trip(program, options.seconds, folder)
    ratio, more = statistics.median(ratios), statistics.median(added) / network
    print(f"pairs a second at depth {DEPTH}: {spread(pairs['alone'])} alone, "
          f"{spread(pairs['replicated'])} with a replica")  # fmt: skip
    print(f"ratio {ratio:.3f} (rounds {min(ratios):.3f} to {max(ratios):.3f}), "
          f"at least {PAIRS_LEAST} wanted")  # fmt: skip
    print(f"round trip at depth 1: {spread(trips['alone'])} ns alone, "
          f"{spread(trips['replicated'])} ns with a replica; of the network {network:.0f} ns")  # fmt: skip
    print(f"added {more:.2f} round trips of the network, at most {ADDED_MOST} wanted")
    return 0 if ratio >= PAIRS_LEAST and more <= ADDED_MOST else 1


def spread(values: Sequence[float]) -> str:
    """Median, lowest and highest."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


@contextmanager
def wire() -> Iterator[None]:
    """Two namespaces with a veth pair between them."""
    with namespaces(*ADDRESSES):
        ip("link", "add", "veth0", "netns", HERE, "type", "veth", "peer", "name", "veth0",
           "netns", THERE)  # fmt: skip
        for name, address in ADDRESSES.items():
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "veth0")
            ip("-n", name, "link", "set", "veth0", "up")
        yield


@contextmanager
def serving(
    program: Path, space: str, cpu: int, verb: str, words: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a namespace, and where it listens."""
    command = [*inside(space), *on_cpu(cpu), str(program), verb, "serve"]
    command += ["--listen", f"{ADDRESSES[space]}:0", *words]
    with process.running(command) as server:
        yield server, f"{ADDRESSES[space]}:{process.announced_port(server)}"


@contextmanager
def plain(program: Path) -> Iterator[str]:
    """A server without a replica."""
    with serving(program, HERE, 1, "lock", ["--quiet"]) as (_, address):
        yield address


@contextmanager
def pair(program: Path) -> Iterator[str]:
    """A server whose replica is in sync."""
    with serving(program, HERE, 1, "lock", ["--quiet"]) as (_, address):
        follow = ["--quiet", "--replica-of", address]
        with serving(program, THERE, 0, "lock", follow):
            wait_for_sync(program, address)
            yield address


def wait_for_sync(program: Path, address: str) -> None:
    """Asks until both have every lock."""
    command = [*inside(HERE), str(program), "lock", "status", address, "--json"]
    for _ in range(100):
        ended = process.ended([*command, "--over", "100ms"], WAIT_SECONDS)
        if json.loads(ended.out)["figures"]["in_sync"] == 1:
            return
    raise BenchFailure("the replica does not come in sync")


def load(program: Path, address: str, depth: int, seconds: float, folder: str) -> dict:
    """One entry of a client on CPU 0."""
    command = [*inside(HERE), *on_cpu(0), str(program), "lock", "load", "pairs"]
    command += [address, "--depth", str(depth), "--warmup", "200ms", "--json"]
    command += ["--for", f"{round(1000 * seconds)}ms", "--out", f"{folder}/out"]
    return result(command, folder)


def round_trip(program: Path, seconds: float, folder: str) -> float:
    """The median round trip of the network, nanoseconds."""
    with serving(program, THERE, 1, "net") as (_, address):
        command = [*inside(HERE), *on_cpu(0), str(program), "net", "ping", address]
        command += ["--size", "100", "--for", f"{round(1000 * seconds)}ms", "--json"]
        return float(result([*command, "--out", f"{folder}/out"], folder)["service_ns"]["p50"])


def result(command: Sequence[str], folder: str) -> dict:
    """The only result of a run, whose folder is removed."""
    ended = process.ended(command, WAIT_SECONDS)
    # plumb ends with 1 when it does not trust its own figures; the bench judges by itself
    if ended.status not in (0, 1):
        raise BenchFailure(f"{command[5:9]} ended with {ended.status}: {ended.said()}")
    process.run(["rm", "-r", f"{folder}/out"], WAIT_SECONDS)
    return peers.result(json.loads(ended.out))


if __name__ == "__main__":
    sys.exit(console.status_of(main))
