#!/usr/bin/env python3
"""How far apart remotes begin, and what their control costs.

Remotes in network namespaces of their own, each with a wall clock that is set
wrong and drifts, drive one load of a target in another; controller, target and
nats-server are in the hub. When each begins is what tcpdump sees at the target:
the second packet of each with a request in it: the first one tries its
connection, before the load.

Exits with 0 when every target is met and 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, machine, process, results  # noqa: E402
from lib.console import say  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.namespace import inside, ip, namespaces  # noqa: E402
from lib.options import add_shared, positive  # noqa: E402
from lib.table import table  # noqa: E402
from lib.verdict import exit_status  # noqa: E402

HUB = "plumb-bench-hub"
HUB_ADDRESS, TARGET_PORT, NATS_PORT, MONITOR_PORT = "10.87.0.1", 4444, 4222, 8222
AHEAD_MAX_NS, DRIFT_MAX_PPB = 50_000_000, 100_000
SPREAD_P99_NS = 5_000_000
CONTROL_SHARE = 0.01
LOAD_SECONDS = 20
REQUEST_BYTES = 900  # less than a request, more than anything before it


@dataclass
class Outcome(results.Judged):
    """All that was measured so far."""

    spreads_ns: list[int] = field(default_factory=list)
    told_ns: list[int] = field(default_factory=list)
    uncertainties_ns: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Reads the options, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--remotes", type=positive(int), default=8, help="%(default)s")
    add("--loads", type=positive(int), default=200, help="loads that are begun: %(default)s")
    add("--nats-server", default="nats-server", help="the program: %(default)s")
    add_shared(parser)
    options = parser.parse_args(arguments)
    program = build.plumb(options.plumb, not options.no_build)
    build.package("tcpdump", "tcpdump")
    server = [options.nats_server, "--version"]
    versions = {"plumb": [str(program), "--version"], "nats-server": server}
    outcome = Outcome(machine.facts(build.REPOSITORY, versions), vars(options))
    chance = random.Random(options.seed)
    try:
        with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch, ExitStack() as stack:
            folder = Path(scratch)
            enter = stack.enter_context
            enter(hub())
            nats = enter(in_space(HUB, [options.nats_server, "-a", HUB_ADDRESS, "-p",
                                                str(NATS_PORT), "-m", str(MONITOR_PORT)]))  # fmt: skip
            enter(in_space(HUB, [str(program), "net", "serve", "--quiet", "--listen",
                                         f"{HUB_ADDRESS}:{TARGET_PORT}"]))  # fmt: skip
            for number in range(options.remotes):
                enter(spoke(number))
                ahead = chance.randint(-AHEAD_MAX_NS, AHEAD_MAX_NS)
                drift = chance.randint(-DRIFT_MAX_PPB, DRIFT_MAX_PPB)
                enter(in_space(space(number), [
                    str(program), "remote", "--nats", f"nats://{HUB_ADDRESS}:{NATS_PORT}",
                    "--name", f"r{number}", "--clock", f"{ahead},{drift}",
                    "--allow-target", "10.87.0.0/16"]))  # fmt: skip
            spreads(program, folder, options.remotes, options.loads, outcome)
            control(program, folder, options.remotes, nats.pid, outcome)
        outcome.complete = True
    finally:
        print(table(("what", "figure"), outcome.rows))
        for text, verdict in outcome.targets:
            print(f"{text}: {verdict.value}")
        print(f"all figures in {results.write('remotes', outcome)}")
    return exit_status([verdict for _, verdict in outcome.targets])


def space(number: int) -> str:
    """The name of a remote's namespace."""
    return f"plumb-bench-r{number}"


@contextmanager
def hub() -> Iterator[None]:
    """A namespace with a bridge."""
    with namespaces(HUB):
        ip("-n", HUB, "link", "add", "br0", "type", "bridge")
        ip("-n", HUB, "addr", "add", f"{HUB_ADDRESS}/16", "dev", "br0")
        ip("-n", HUB, "link", "set", "br0", "up")
        yield


@contextmanager
def spoke(number: int) -> Iterator[None]:
    """A namespace at the hub."""
    name, port = space(number), f"port{number}"
    with namespaces(name):
        ip("link", "add", "veth0", "netns", name, "type", "veth", "peer", "name", port, "netns", HUB)
        ip("-n", HUB, "link", "set", port, "master", "br0", "up")
        ip("-n", name, "addr", "add", f"10.87.1.{number + 1}/16", "dev", "veth0")
        ip("-n", name, "link", "set", "veth0", "up")
        yield


@contextmanager
def in_space(name: str, words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program in a namespace, which it ends with."""
    with process.running([*inside(name), *words]) as running:
        yield running


def load(program: Path, folder: Path, remotes: int, words: list[str]) -> dict[str, object]:
    """The record of one load of all remotes."""
    command = [*inside(HUB), str(program), "net", "ping",
               f"{HUB_ADDRESS}:{TARGET_PORT}", "--remotes",
               f"nats://{HUB_ADDRESS}:{NATS_PORT}/" + ",".join(f"r{it}" for it in range(remotes)),
               "--connections", str(remotes), "--json", "--out", str(folder / "run"), *words]  # fmt: skip
    ended = process.ended(command, 120.0)
    if not ended.out.startswith("{"):
        raise BenchFailure(f"a load of {remotes} remotes failed: {ended.said()}")
    process.run(["rm", "-r", str(folder / "run")], 30.0)
    record: dict[str, object] = json.loads(ended.out)
    return record


def quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that is not below this share of them."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@contextmanager
def seen_at_target(kept: Path) -> Iterator[subprocess.Popen[str]]:
    """Keeps the packets with a whole request in them, as they come to the target.

    They go to a file: a pipe that is read at the end holds up tcpdump, which then sees no more.
    """
    command = [*inside(HUB), "tcpdump", "-l", "-n", "-q", "-tt",
               "--time-stamp-precision=nano", "-i", "br0",
               f"tcp dst port {TARGET_PORT} and greater {REQUEST_BYTES}"]  # fmt: skip
    with kept.open("w") as out, process.running(
        command, stdout=out, stderr=subprocess.DEVNULL
    ) as running:
        time.sleep(1.0)  # it says on no stream of its own when it looks
        yield running


def spreads(program: Path, folder: Path, remotes: int, loads: int, outcome: Outcome) -> None:
    """Begins one short load after the other."""
    kept = folder / "packets"
    with seen_at_target(kept) as dump:
        ended_at = []
        for number in range(loads):
            # long enough that nobody is done, and evaluates, before the last has begun
            words = ["--for", "300ms", "--warmup", "0s", "--seed", str(number + 1)]
            record = load(program, folder, remotes, words)
            ended_at.append(time.time_ns())
            options = record["plan"]["options"]  # type: ignore[index]
            outcome.told_ns.append(options["remotes-start-spread-ns"])
            known = [remote["clock-uncertainty-ns"] for remote in options["remotes"]]
            outcome.uncertainties_ns.append(max(known))
        time.sleep(1.0)
        dump.terminate()
        dump.wait(10.0)
    lines = kept.read_text().splitlines()
    words = [line.split(" ") for line in lines if line[:1].isdigit()]
    packets = [(int(word[0].replace(".", "")), word[2]) for word in words]
    began_at = [0, *ended_at]
    for since, until in zip(began_at, ended_at, strict=False):
        requests: dict[str, list[int]] = {}
        for at, source in packets:
            if since < at <= until:
                requests.setdefault(source.rpartition(".")[0], []).append(at)
        # the first request of a connection comes when it stands, and belongs to no load
        first = [times[1] for times in requests.values() if len(times) > 1]
        if len(first) != remotes:
            raise BenchFailure(f"the target saw {len(first)} remotes of {remotes}")
        outcome.spreads_ns.append(max(first) - min(first))
    rows = outcome.rows
    for share in (0.5, 0.99, 1.0):
        what = f"start spread of {remotes} remotes at the target, p{share * 100:.0f} of {loads} loads"
        rows.append([what, f"{quantile(outcome.spreads_ns, share) / 1e6:.3f} ms"])
    for share in (0.5, 0.99):
        told = f"{quantile(outcome.told_ns, share) / 1e6:.3f} ms"
        rows.append([f"the same by the remotes' own account, p{share * 100:.0f}", told])
    worst = quantile(outcome.uncertainties_ns, 0.99)
    rows.append(["what the controller takes the clocks to be off at most, p99", f"{worst / 1e6:.3f} ms"])
    text = f"start spread at most {SPREAD_P99_NS / 1e6:.0f} ms at the 99th percentile"
    outcome.judge(text, quantile(outcome.spreads_ns, 0.99) <= SPREAD_P99_NS)
    say(f"{loads} loads: done")


def control(program: Path, folder: Path, remotes: int, nats: int, outcome: Outcome) -> None:
    """What controlling a load costs, beside what the load itself sends."""

    def traffic() -> tuple[float, int]:
        url = f"http://{HUB_ADDRESS}:{MONITOR_PORT}/varz"
        command = [*inside(HUB), "curl", "-s", url]
        told = json.loads(process.run(command, 30.0))
        return process.cpu_seconds(nats), told["in_bytes"] + told["out_bytes"]

    before_cpu, before_bytes = traffic()
    record = load(program, folder, remotes, ["--for", f"{LOAD_SECONDS}s", "--size", "1000B"])
    after_cpu, after_bytes = traffic()
    operations = record["results"][0]["operations"]  # type: ignore[index]
    carried = operations * 2 * 1000
    share = (after_bytes - before_bytes) / carried
    cpu = (after_cpu - before_cpu) / LOAD_SECONDS / (os.cpu_count() or 1)
    rows = outcome.rows
    rows.append(["bytes through nats-server beside the load's", f"{share:.3%}"])
    rows.append(["nats-server, of all processors", f"{cpu:.3%}"])
    outcome.judge("control below 1 % of the bytes of the load", share < CONTROL_SHARE)
    outcome.judge("nats-server below 1 % of all processors", cpu < CONTROL_SHARE)


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
