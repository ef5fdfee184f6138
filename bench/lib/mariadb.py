"""A MariaDB server of the bench's own, in a folder that goes with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

USER = "plumb"
DATABASE = "erp"
SERVER = "/usr/sbin/mariadbd"
INSTALLER = "/usr/bin/mariadb-install-db"
# The server refuses root, so it runs as `nobody` there.
NOBODY = 65534
START_SECONDS = 60.0
USERS = f"""
CREATE USER IF NOT EXISTS {USER}@'127.0.0.1';
GRANT ALL ON *.* TO {USER}@'127.0.0.1';
CREATE DATABASE IF NOT EXISTS {DATABASE};
"""


@contextmanager
def serving(place: Sequence[str], *words: str) -> Iterator[int]:
    """A server that trusts whoever connects over loopback; its port."""
    if not Path(SERVER).exists():
        raise BenchFailure(f"no {SERVER}; install mariadb-server")
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        _give(Path(scratch))
        data, users = Path(scratch, "data"), Path(scratch, "users.sql")
        users.write_text(USERS, encoding="ascii")
        port = process.free_port()
        install = [INSTALLER, "--no-defaults", f"--datadir={data}", f"--tmpdir={scratch}"]
        install += ["--auth-root-authentication-method=normal", "--skip-test-db"]
        process.run(_as_nobody(install), START_SECONDS)
        serve = [SERVER, "--no-defaults", f"--datadir={data}", f"--socket={scratch}/socket"]
        serve += [f"--tmpdir={scratch}", f"--init-file={users}"]
        serve += [f"--port={port}", "--bind-address=127.0.0.1"]
        command = [*place, *_as_nobody([*serve, "--skip-name-resolve", *words])]
        with process.running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            process.await_listening(server, port)
            try:
                yield port
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(START_SECONDS)


def mysqlslap() -> str:
    """The program."""
    found = shutil.which("mariadb-slap") or shutil.which("mysqlslap")
    if not found:
        raise BenchFailure("no mysqlslap; install mariadb-client")
    return found


def _as_nobody(command: Sequence[str]) -> list[str]:
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def _give(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
