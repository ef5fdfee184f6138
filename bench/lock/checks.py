"""Cells with one outcome: many locks, live wildcards, journals, orders, redis-benchmark."""

from __future__ import annotations

import json
import socket
import statistics
import tempfile
import threading
import time
from pathlib import Path

import peers
from lib import build, process
from lib.failure import BenchFailure
from lib.outcome import Check
from lib.placement import on_cpu
from lib.verdict import Verdict
from peers import HOST, LIMIT, PLUMB, REDIS, Load, Server, Tools

OWNERS, LOCKS = 10, 55_000
CREATE_SECONDS, DEQUEUE_SECONDS, VERIFY_SECONDS = 0.5, 0.1, 0.1
LOCK_BYTES, HOLD_UP_SECONDS = 160, 0.005
MASKS, MASKS_RATIO, ROUNDS = 16, 3.0, 7
# Of `plumb lock load pairs`: arguments of another length never meet.
ARGUMENT_BYTES = 29
# Of each load without turns; a comparison has its own.
LOAD_SECONDS = 2.0
JOURNALS = ("none", "interval", "always")
CLIENTS = (1, 5)
ORDER_FIGURES = ("enqueues a minute", "bound set by the round trip", "share of the bound")
BENCHMARK_REQUESTS, PATIENCE_SECONDS = 200_000, 120.0


def fill(tools: Tools, locks: int) -> list[Check]:
    """Many locks: how long they take, and how much memory."""
    found = [_filled(PLUMB, tools, locks), _filled(REDIS, tools, locks)]
    with peers.serving(LIMIT, tools, on_cpu(1)) as server:
        words = ["fill", HOST, str(server.port), str(OWNERS), str(locks), "64"]
        resting = process.memory_bytes(server.pid)["VmRSS"]
        printed = json.loads(
            process.run([*on_cpu(0), str(tools.limit), *words], PATIENCE_SECONDS)
        )
        each = (process.memory_bytes(server.pid)["VmHWM"] - resting) / (OWNERS * locks)
    lines = (f"created in {printed['create_s']:.3f} s, released in {printed['release_s']:.3f} s",
             f"{each:.0f} bytes a lock")  # fmt: skip
    return [*found, Check("fill, limit", None, lines, printed)]


def _filled(kind: str, tools: Tools, locks: int) -> Check:
    numbers, place = (OWNERS, locks), on_cpu(0)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        with peers.serving(kind, tools, on_cpu(1)) as server:
            resting = process.memory_bytes(server.pid)["VmRSS"]
            seconds: dict[str, float] = {}
            for verb in ("create", "verify", "destroy"):
                watch = _HoldUp(server) if verb == "verify" else None
                result = peers.filled(verb, server, numbers, tools, place, Path(scratch))
                if watch is not None:
                    seconds["hold-up"] = watch.longest()
                seconds[verb] = result["duration_ns"] / 1e9
                if verb == "create":
                    grown = process.memory_bytes(server.pid)["VmRSS"] - resting
    each = grown / (OWNERS * locks)
    met = (
        seconds["create"] < CREATE_SECONDS
        and seconds["destroy"] < DEQUEUE_SECONDS
        and seconds["verify"] < VERIFY_SECONDS
        and seconds["hold-up"] <= HOLD_UP_SECONDS
        and each <= LOCK_BYTES
    )
    lines = [f"{name}: {value:.4f} s" for name, value in seconds.items()]
    verdict = (Verdict.MET if met else Verdict.MISSED) if kind == PLUMB else None
    return Check(f"fill, {kind}", verdict, (*lines, f"{each:.0f} bytes a lock"), seconds)


class _HoldUp:
    """A client beside the others that asks again and again: how long does it wait at most?"""

    def __init__(self, server: Server) -> None:
        self._longest, self._over = 0.0, threading.Event()
        self._socket = socket.create_connection((HOST, server.port), timeout=PATIENCE_SECONDS)
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            self._socket.sendall(b"PING\r\n")
            if not self._socket.recv(64):
                return
            self._longest = max(self._longest, time.monotonic() - begun)

    def longest(self) -> float:
        """Ends it; the longest wait, in seconds."""
        self._over.set()
        self._thread.join()
        self._socket.close()
        return self._longest


def masks(tools: Tools) -> Check:
    """What generic locks of others, each with a mask of its own, cost everybody."""
    load = Load(1, 64, LOAD_SECONDS)
    with peers.serving(PLUMB, tools, on_cpu(1)) as bare, peers.serving(
        PLUMB, tools, on_cpu(1)
    ) as masked, socket.create_connection((HOST, masked.port)) as holder:
        reader = holder.makefile("rb")
        for number in range(MASKS):
            # as long as the arguments of the load, which never begin with a z
            places = range(ARGUMENT_BYTES - 1)
            mask = "".join("@" if place % MASKS == number else "z" for place in places)
            line = f"ENQ masks S VBAK z{mask}"
            holder.sendall(f"{line}\r\n".encode())
            if not reader.readline().startswith(b":"):
                raise BenchFailure(f"`{line}` was refused")
        each: dict[str, list[float]] = {"none": [], "masks": []}
        for turn in range(ROUNDS):
            order = [("none", bare), ("masks", masked)]
            for name, server in order if turn % 2 == 0 else reversed(order):
                each[name].append(1e9 / _pairs(server, load, tools))
    found = {name: statistics.median(times) for name, times in each.items()}
    ratio = found["masks"] / found["none"]
    verdict = Verdict.MET if ratio <= MASKS_RATIO else Verdict.MISSED
    line = f"{found['none']:.0f} ns a pair without, {found['masks']:.0f} ns with {MASKS} masks"
    return Check("masks", verdict, (line, f"ratio {ratio:.2f}, at most {MASKS_RATIO}"), each)


def journal(tools: Tools) -> list[Check]:
    """What each policy of the journal costs; there is no target."""
    loads = [Load(*load, LOAD_SECONDS) for load in ((1, 1), (50, 1), (1, 64))]
    found = []
    for policy in JOURNALS:
        with tempfile.TemporaryDirectory(prefix="plumb-bench-") as folder:
            words = ["--journal", folder, "--journal-policy", policy]
            with peers.serving(PLUMB, tools, on_cpu(1), words) as server:
                rates = {
                    f"{load.connections} x {load.depth}": _pairs(server, load, tools)
                    for load in loads
                }
        lines = tuple(f"{name}: {rate:,.0f} pairs/s" for name, rate in rates.items())
        found.append(Check(f"journal, {policy}", None, lines, rates))
    return found


def orders(tools: Tools) -> Check:
    """The pattern of sales and distribution: lock operations a minute; there is no target."""
    lines, raw = [], {}
    with peers.serving(PLUMB, tools, on_cpu(1)) as server:
        for clients in CLIENTS:
            found = _orders(server, clients, tools)
            raw[str(clients)] = found
            lines.append(
                f"{clients} clients: {found['enqueues a minute']:,.0f} enqueues/min, "
                f"{found['share of the bound']:.2f} of the {found['bound set by the round trip']:,.0f} "
                "that the round trip allows"
            )
    few, many = (raw[str(clients)]["enqueues a minute"] for clients in CLIENTS)
    lines.append(f"ratio {many / few:.2f}")
    return Check("orders", None, tuple(lines), raw)


def _orders(server: Server, clients: int, tools: Tools) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [*on_cpu(0), str(tools.plumb), "lock", "load", "sd", server.address]
        words += ["--connections", str(clients), "--for", f"{round(1000 * LOAD_SECONDS)}ms"]
        words += ["--json", "--out", str(Path(scratch) / "out")]
        ended = process.ended(words, LOAD_SECONDS + PATIENCE_SECONDS)
    if ended.status not in (0, 1):
        raise BenchFailure(f"the client ended with {ended.status}: {ended.said()}")
    found = peers.result(json.loads(ended.out))
    return {name: peers.named(found, name) for name in ORDER_FIGURES}


def redis_benchmark(tools: Tools) -> Check:
    """`redis-benchmark` with SET NX PX on both: a key a request, out of so many."""
    build.package("redis-benchmark", "redis-tools")
    rates: dict[str, float] = {}
    for kind in (REDIS, PLUMB):
        for depth in (1, 16, 64):
            with peers.serving(kind, tools, on_cpu(1)) as server:
                rates[f"{kind}, 50 x {depth}"] = _benchmark(server, depth)
    lines = tuple(f"{name}: {rate:,.0f} requests/s" for name, rate in rates.items())
    return Check("redis-benchmark", None, lines, rates)


def _benchmark(server: Server, depth: int) -> float:
    words = ["redis-benchmark", "-h", HOST, "-p", str(server.port), "-c", "50", "--csv"]
    words += ["-n", str(BENCHMARK_REQUESTS), "-P", str(depth), "-r", "1000000"]
    words += ["SET", "key:__rand_int__", "owner", "NX", "PX", "30000"]
    printed = process.run([*on_cpu(0), *words], PATIENCE_SECONDS)
    last = [line for line in printed.splitlines() if line.startswith('"SET')]
    if not last:
        raise BenchFailure(f"redis-benchmark printed no result: {printed[-300:]}")
    return float(last[-1].rsplit('","', 7)[1].strip('"'))


def _pairs(server: Server, load: Load, tools: Tools) -> float:
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        words = [*on_cpu(0), *peers.pairs_command(server, load, tools, Path(scratch))]
        ended = process.ended(words, load.seconds + PATIENCE_SECONDS)
    if ended.status not in (0, 1):
        raise BenchFailure(f"the client ended with {ended.status}: {ended.said()}")
    return peers.pairs_of(server, ended.out)
