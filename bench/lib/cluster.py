"""A PostgreSQL server of the bench's own, in a folder that goes with it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

USER = "plumb"
VERSIONS = Path("/usr/lib/postgresql")
# The server refuses root, so it runs as `nobody` there.
NOBODY = 65534
START_SECONDS = 60.0
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
autovacuum = off
"""


@contextmanager
def serving(place: Sequence[str]) -> Iterator[int]:
    """A server that trusts whoever connects over loopback; its port."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        _give(Path(scratch))
        data = Path(scratch, "data")
        port = process.free_port()
        words = ["-D", str(data), "-U", USER, "-A", "trust", "--locale=C", "--no-sync"]
        process.run(_as_nobody("initdb", words), START_SECONDS)
        with data.joinpath("postgresql.conf").open("a", encoding="ascii") as settings:
            settings.write(SETTINGS)
        command = [*place, *_as_nobody("postgres", ["-D", str(data), "-p", str(port)])]
        with process.running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            process.await_listening(server, port)
            try:
                yield port
            finally:
                server.send_signal(signal.SIGINT)  # SIGTERM waits for clients
                server.wait(START_SECONDS)


def pgbench() -> str:
    """The program, of the version of the server."""
    return str(_binaries() / "pgbench")


def _binaries() -> Path:
    found = [entry / "bin" for entry in VERSIONS.glob("*") if entry.name.isdigit()]
    if not found:
        raise BenchFailure(f"no server below {VERSIONS}; install postgresql")
    return max(found, key=lambda folder: int(folder.parent.name))


def _as_nobody(name: str, words: Sequence[str]) -> list[str]:
    command = [str(_binaries() / name), *words]
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def _give(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
