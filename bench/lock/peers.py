"""The lock servers compared, and the clients that drive them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

HOST = "127.0.0.1"
PLUMB, REDIS, LIMIT, LONE = KINDS = ("plumb", "redis", "limit", "lone")
# The limit, and the limit that serves one client at a time and blocks in its receive.
LIMITS = (LIMIT, LONE)
# What both sides are told that are to keep their processors' ticks.
HELD = "--hold-tick"
GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class Tools:
    """The programs."""

    plumb: Path
    limit: Path


@dataclass(frozen=True)
class Server:
    """A lock server that is ready."""

    kind: str
    port: int
    pid: int
    # It keeps the tick of its processor while it waits, and so do its clients.
    holds_tick: bool = False

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"{HOST}:{self.port}"


@contextmanager
def serving(
    kind: str,
    tools: Tools,
    place: Sequence[str],
    words: Sequence[str] = (),
    holds_tick: bool = False,
) -> Iterator[Server]:
    """A server of this kind until the block ends; `words` are more options of plumb's."""
    held = [HELD] if holds_tick else []
    if kind == PLUMB:
        command = [*place, str(tools.plumb), "lock", "serve", "--listen", f"{HOST}:0", "--quiet"]
        with process.running([*command, *held, *words]) as server:
            yield Server(kind, process.announced_port(server), server.pid, holds_tick)
        return
    port = process.free_port()
    if kind == REDIS:
        command = ["redis-server", "--port", str(port), "--bind", HOST, "--save", ""]
        command += ["--appendonly", "no", "--daemonize", "no"]
    else:
        verb = "lone-server" if kind == LONE else "server"
        command = [str(tools.limit), *held, verb, str(port)]
    with process.running([*place, *command], stdout=process.subprocess.DEVNULL) as server:
        process.await_listening(server, port)
        yield Server(kind, port, server.pid, holds_tick)


@dataclass(frozen=True)
class Load:
    """Locks taken and released, as fast as can be."""

    connections: int
    depth: int
    seconds: float


def pairs_command(server: Server, load: Load, tools: Tools, out: Path) -> list[str]:
    """The client of the server: the limit has its own, the others are driven by plumb."""
    connections, depth = str(load.connections), str(load.depth)
    held = [HELD] if server.holds_tick else []
    if server.kind in LIMITS:
        words = [HOST, str(server.port), connections, depth, str(load.seconds)]
        return [str(tools.limit), *held, "pairs", *words]
    words = [str(tools.plumb), "lock", "load", "pairs", server.address]
    words += ["--connections", connections, "--depth", depth, "--warmup", "200ms"]
    words += ["--for", f"{round(1000 * load.seconds)}ms", "--json", "--out", str(out / "out")]
    return words + held + (["--target-kind", "redis"] if server.kind == REDIS else [])


def pairs_of(server: Server, printed: str) -> float:
    """Pairs a second; an error when one failed."""
    found = json.loads(printed)
    if server.kind in LIMITS:
        return float(found["per_s"])
    return named(result(found), "pairs")


def result(document: dict) -> dict:
    """The only result of a run of plumb; an error when a lock was refused."""
    found = document["results"][0]
    if found["failures"] or found["dropped"]:
        raise BenchFailure(f"plumb lost operations: {found['failures']}, {found['dropped']}")
    return found


def named(found: dict, name: str) -> float:
    """A figure of a result."""
    return next(float(it["value"]) for it in found["figures"] if it["name"] == name)


def filled(
    verb: str, server: Server, numbers: tuple[int, int], tools: Tools, place: Sequence[str],
    out: Path,
) -> dict:  # fmt: skip
    """Runs `create`, `verify` or `destroy` to its end; its result."""
    words = [*place, str(tools.plumb), "lock", "load", verb, server.address, *map(str, numbers)]
    words += ["--json", "--out", str(out / f"{verb}-{os.getpid()}-{os.urandom(4).hex()}")]
    words += ["--depth", "64"]  # what the server can do, not the way to it
    if server.kind == REDIS:
        words += ["--target-kind", "redis"]
    ended = process.ended(words, GRACE_SECONDS)
    # plumb ends with 1 when it does not trust its own figures; the bench judges by itself
    if ended.status not in (0, 1):
        raise BenchFailure(f"{verb} ended with {ended.status}: {ended.said()}")
    return result(json.loads(ended.out))
