"""Where the client and the server of a cell run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lib.failure import BenchFailure
from lib.namespace import inside, ip, namespaces

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
                name, (*inside(client), *on_cpu(0)), (*inside(server), *on_cpu(1)), VETH_SERVER
            )
    else:
        raise BenchFailure(f"no placement '{name}', expected one of {', '.join(PLACEMENTS)}")


def on_cpu(cpu: int) -> tuple[str, ...]:
    """Keeps a command on one processor."""
    if cpu not in os.sched_getaffinity(0):
        raise BenchFailure(f"CPU {cpu} may not be used here; try --placements unpinned")
    return ("taskset", "-c", str(cpu))


@contextmanager
def _two_namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces and the veth pair between them.

    The names carry the process id, so that two runs do not meet. Removing a
    namespace removes its end of the pair, and with it the other."""
    client, server = (f"plumb-{os.getpid()}-{side}" for side in ("client", "server"))
    with namespaces(client, server):
        _join(client, server)
        yield client, server


def _join(client: str, server: str) -> None:
    ip("link", "add", "veth0", "netns", client, "type", "veth",
        "peer", "name", "veth0", "netns", server)  # fmt: skip
    for namespace, address in ((client, VETH_CLIENT), (server, VETH_SERVER)):
        ip("-n", namespace, "address", "add", f"{address}/30", "dev", "veth0")
        ip("-n", namespace, "link", "set", "veth0", "up")
