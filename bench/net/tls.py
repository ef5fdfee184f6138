"""The peers of the TLS cell: OpenSSL in C, and plumb, with one certificate.

TLS 1.3 and AES-128 in GCM on both: the limit allows nothing else, and plumb
asks for it first.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib import build, echo, process
from lib.failure import BenchFailure
from lib.placement import Placement
from peers import PLUMB_TLS, TLS, Limit, Plumb, Server, ready


@dataclass(frozen=True)
class Certificate:
    """A certificate for loopback that vouches for itself, and its key."""

    cert: Path
    key: Path


@dataclass(frozen=True, kw_only=True)
class LimitTls(Limit):
    """`limit_tls`; its client believes any certificate."""

    certificate: Certificate

    @property
    def words(self) -> list[str]:
        """`tls`, and the program."""
        return [TLS, "--program", str(self.program)]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """`limit_tls server 0 CERT KEY HOST`."""
        command = [*placement.server, str(self.program), "server", "0"]
        command += [str(self.certificate.cert), str(self.certificate.key), placement.host]
        with process.running(command) as server:
            yield ready(placement, process.announced_port(server), server)


@dataclass(frozen=True, kw_only=True)
class PlumbTls(Plumb):
    """`plumb net serve --tls` and `plumb net ping --tls`."""

    certificate: Certificate

    @property
    def words(self) -> list[str]:
        """`plumb-tls`, the program, and whom the client believes."""
        return [PLUMB_TLS, "--program", str(self.program), "--ca", str(self.certificate.cert)]

    @contextmanager
    def serving(self, placement: Placement) -> Iterator[Server]:
        """On a port the server picks and announces."""
        options = ["--tls", "--cert", str(self.certificate.cert), "--key", str(self.certificate.key)]
        place, host = placement.server, placement.host
        with echo.serving(self.program, place, host, options) as (server, port):
            yield ready(placement, port, server)


def certificate(folder: Path, host: str) -> Certificate:
    """Makes one with `openssl`, valid for a day."""
    build.package("openssl", "openssl")
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-noenc", "-days", "1", "-subj", "/CN=bench"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    command += ["-addext", f"subjectAltName=IP:{host}"]
    command += ["-keyout", str(made.key), "-out", str(made.cert)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchFailure(f"openssl made no certificate: {done.stderr[-500:]}")
    made.key.chmod(0o600)
    return made
