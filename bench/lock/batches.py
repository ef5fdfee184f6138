"""The longest of many batches of SET, while a table grows from nothing to millions of keys."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Sequence

import peers
from lib.failure import BenchFailure
from lib.outcome import Check
from lib.placement import on_cpu
from lib.verdict import Verdict
from peers import HOST, PLUMB, REDIS, Server, Tools

KEYS, BATCH = 3_000_000, 100
# A pause of the machine is in one round, what the server does by itself in all of them.
ROUNDS = 3
# Room for all keys: two rows for each KiB.
TABLE = ("--table-size", "4GiB")
PATIENCE_SECONDS = 30.0
OK = b"+OK\r\n"


def longest(tools: Tools, keys: int) -> Check:
    """The longest batch of plumb and of Redis, each of its quietest round."""
    found: dict[str, list[float]] = {PLUMB: [], REDIS: []}
    for round_number in range(ROUNDS):
        kinds = [PLUMB, REDIS] if round_number % 2 == 0 else [REDIS, PLUMB]
        for kind in kinds:
            words: Sequence[str] = TABLE if kind == PLUMB else ()
            with peers.serving(kind, tools, on_cpu(1), words) as server:
                found[kind].append(_longest_of(server, keys))
    ours, theirs = min(found[PLUMB]), min(found[REDIS])
    lines = [
        f"{kind}: {1e3 * min(each):.2f} ms (rounds {', '.join(f'{1e3 * it:.2f}' for it in each)})"
        for kind, each in found.items()
    ]
    verdict = Verdict.MET if ours <= theirs else Verdict.MISSED
    return Check(f"longest batch of {BATCH} SET, {keys} keys", verdict, tuple(lines), found)


def _longest_of(server: Server, keys: int) -> float:
    """Seconds of the longest batch, of all keys once."""
    worst = 0.0
    gc.disable()
    try:
        with socket.create_connection((HOST, server.port), PATIENCE_SECONDS) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for first in range(0, keys, BATCH):
                batch = b"".join(_set(number) for number in range(first, first + BATCH))
                begun = time.perf_counter()
                client.sendall(batch)
                said = b""
                while len(said) < BATCH * len(OK):
                    part = client.recv(65_536)
                    if not part:
                        raise BenchFailure(f"{server.kind} hung up")
                    said += part
                worst = max(worst, time.perf_counter() - begun)
                if said != BATCH * OK:
                    raise BenchFailure(f"{server.kind} refused a key: {said[:200]!r}")
    finally:
        gc.enable()
    return worst


def _set(number: int) -> bytes:
    key = b"key:%012d" % number
    words = (b"SET", key, b"token", b"NX", b"PX", b"3600000")
    return b"*6\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
