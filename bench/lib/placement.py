"""Where the client and the server of a cell run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lib.failure import BenchFailure

LOOPBACK = "127.0.0.1"
VETH_CLIENT, VETH_SERVER = "10.77.0.1", "10.77.0.2"
PINNED, UNPINNED, VETH = "pinned", "unpinned", "veth"
PLACEMENTS = (PINNED, UNPINNED, VETH)


@dataclass(frozen=True)
class Placement:
    """Words put in front of a command, and the address the server is bound to."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]
    host: str


@contextmanager
def placed(name: str) -> Iterator[Placement]:
    """A placement by its name; what it needs exists until the block ends."""
    if name == UNPINNED:
        yield Placement(name, (), (), LOOPBACK)
    elif name == PINNED:
        yield Placement(name, on_cpu(0), on_cpu(1), LOOPBACK)
    elif name == VETH:
        with _two_namespaces() as (client, server):
            yield Placement(
                name, (*_inside(client), *on_cpu(0)), (*_inside(server), *on_cpu(1)), VETH_SERVER
            )
    else:
        raise BenchFailure(f"no placement '{name}', expected one of {', '.join(PLACEMENTS)}")


def on_cpu(cpu: int) -> tuple[str, ...]:
    """Keeps a command on one processor."""
    if cpu not in os.sched_getaffinity(0):
        raise BenchFailure(f"CPU {cpu} may not be used here; try --placements unpinned")
    return ("taskset", "-c", str(cpu))


def _inside(namespace: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", namespace)


@contextmanager
def _two_namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces and the veth pair between them.

    The names carry the process id, so that two runs do not meet. Removing a
    namespace removes its end of the pair, and with it the other."""
    names = tuple(f"plumb-{os.getpid()}-{side}" for side in ("client", "server"))
    made: list[str] = []
    try:
        for name in names:
            _ip("netns", "add", name)
            made.append(name)
        _join(*names)
        yield names[0], names[1]
    finally:
        for name in made:
            _ip("netns", "del", name)


def _join(client: str, server: str) -> None:
    _ip("link", "add", "veth0", "netns", client, "type", "veth",
        "peer", "name", "veth0", "netns", server)  # fmt: skip
    for namespace, address in ((client, VETH_CLIENT), (server, VETH_SERVER)):
        _ip("-n", namespace, "address", "add", f"{address}/30", "dev", "veth0")
        for device in ("lo", "veth0"):
            _ip("-n", namespace, "link", "set", device, "up")


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BenchFailure("no `ip` command; install iproute2, or leave veth out") from error
    if done.returncode != 0:
        raise BenchFailure(
            f"`ip {' '.join(words)}`: {done.stderr.strip()}; the veth placement needs root, "
            "try --placements pinned,unpinned"
        )
