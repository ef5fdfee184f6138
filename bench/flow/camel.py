"""The peer: a route of Apache Camel with an embedded Artemis."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib import build, process
from lib.cluster import USER
from lib.failure import BenchFailure

HERE = Path(__file__).resolve().parent
PARTS = build.TARGET / "bench" / "camel"
START_SECONDS = 60.0
POLL_SECONDS = 0.1


def prepare() -> None:
    """Fetches the libraries with Maven and compiles the route, unless both are there."""
    build.package("mvn", "maven")
    if not (PARTS / "lib").is_dir():
        words = ["mvn", "--quiet", "--batch-mode", "--file", str(HERE / "camel" / "pom.xml")]
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={PARTS / 'lib'}"]
        process.run([*words, *goal], 900)
    source = HERE / "camel" / "Route.java"
    compiled = PARTS / "classes" / "Route.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        words = ["javac", "-cp", f"{PARTS / 'lib'}/*", "-d", str(PARTS / "classes"), str(source)]
        process.run(words, 120)


@contextmanager
def serving(
    database: int, folder: Path, place: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The route in a process of its own, inserting at the server on port `database`; its port."""
    port = process.free_port()
    address = f"jdbc:postgresql://127.0.0.1:{database}/postgres?user={USER}"
    classes = f"{PARTS / 'classes'}:{PARTS / 'lib'}/*"
    command = [*place, "java", "-cp", classes, "Route", str(port), address, str(folder)]
    with process.running(command, stdout=subprocess.DEVNULL) as server:
        _await(server, port)
        yield server, port


def _await(server: subprocess.Popen[str], port: int) -> None:
    """A virtual machine takes longer to begin than other servers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return process.await_listening(server, port)
        except (BenchFailure, FileNotFoundError):
            time.sleep(POLL_SECONDS)
    raise BenchFailure(f"the route does not listen on port {port}")
