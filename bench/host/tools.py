"""The recorders compared: how each is started, and what it costs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

SADC = "/usr/lib/sysstat/sadc"
# Subjects beyond the core readers: what the others do not read either.
BEYOND_CORE = "pressure-cpu,pressure-memory,pressure-io,rdma,smc,processes,top"
PACKAGES = {"strace": "strace", "vmstat": "procps", "nmon": "nmon", "collectl": "collectl",
            "prometheus-node-exporter": "prometheus-node-exporter", SADC: "sysstat"}  # fmt: skip
EXPORTER_READY_SECONDS = 10.0
OPENS = ("open(", "openat(", "openat2(", "creat(")


@dataclass(frozen=True)
class Tool:
    """A recorder that runs in the foreground for a number of seconds."""

    name: str
    command: Sequence[str]

    def words(self, seconds: int, scratch: Path) -> list[str]:
        """Its command line for so many seconds, writing below `scratch`."""
        values = {"seconds": str(seconds), "samples": str(seconds + 1), "out": str(scratch)}
        return [word.format(**values) for word in self.command]


def plumb(program: Path, every: str, *more: str) -> list[str]:
    """`plumb host watch` of the core readers, as a stream of JSON."""
    watch = [str(program), "host", "watch", "--json", "--every", every, "--for", "{seconds}s"]
    return [*watch, *more]


def tools(program: Path) -> list[Tool]:
    """All that run by themselves; node_exporter must be asked, see `exporting`."""
    core = ("--without", BEYOND_CORE)
    return [
        Tool("plumb, core, 1 s", plumb(program, "1s", *core)),
        Tool("plumb, core, 100 ms", plumb(program, "100ms", *core)),
        Tool("plumb, everything, 1 s", plumb(program, "1s")),
        Tool("vmstat, 1 s", ["vmstat", "-n", "1", "{samples}"]),
        Tool("sadc -S ALL, 1 s", [SADC, "-S", "ALL", "1", "{samples}", "{out}/sadc"]),
        Tool("collectl -scdmn, 1 s", ["collectl", "-i1", "-c", "{samples}", "-scdmn", "-f", "{out}"]),
    ]  # fmt: skip


@contextmanager
def nmon(seconds: int, scratch: Path) -> Iterator[int]:
    """nmon leaves its terminal and says its process id; it ends by itself, or here."""
    words = ["nmon", "-p", "-F", str(scratch / "nmon"), "-s", "1", "-c", str(seconds + 30)]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=scratch).stdout
    pid = int(said.split()[-1])
    try:
        yield pid
    finally:
        end_by_id(pid)


def end_by_id(pid: int) -> None:
    """Asks a process that is no child of ours to end."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it has ended by itself


@contextmanager
def exporting() -> Iterator[int]:
    """node_exporter, asked once a second."""
    port = process.free_port()
    name = "prometheus-node-exporter"
    quiet = subprocess.DEVNULL
    words = [name, f"--web.listen-address=127.0.0.1:{port}"]
    stop = threading.Event()
    with process.running(words, stdout=quiet, stderr=quiet) as server:
        url = f"http://127.0.0.1:{port}/metrics"
        _await(url)
        asking = threading.Thread(target=_ask, args=(url, stop))
        asking.start()
        try:
            yield server.pid
        finally:
            stop.set()
            asking.join()


def _await(url: str) -> None:
    deadline = time.monotonic() + EXPORTER_READY_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise BenchFailure("node_exporter does not answer")


def _ask(url: str, stop: threading.Event) -> None:
    while not stop.wait(1.0):
        try:
            urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            return  # it has ended; the figures say so


@dataclass(frozen=True)
class Calls:
    """System calls of one sample in the steady state."""

    name: str
    calls: float
    opens: float


def calls(tool: Tool, every_s: float, scratch: Path) -> Calls:
    """What a longer run calls more than a shorter one, a sample."""
    short, long = 4, 12
    few, many = (_traced(tool.words(seconds, scratch), scratch) for seconds in (short, long))
    samples = (long - short) / every_s
    return Calls(tool.name, (many[0] - few[0]) / samples, (many[1] - few[1]) / samples)


def _traced(words: Sequence[str], scratch: Path) -> tuple[int, int]:
    if shutil.which("strace") is None:
        raise BenchFailure("strace is not installed")
    trace = scratch / "trace"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", str(trace), *words],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BenchFailure(f"`{' '.join(words)}` ended with {done.returncode} under strace")
    lines = [line for line in trace.read_text(errors="replace").splitlines() if "(" in line]
    for left in scratch.glob("sadc*"):
        left.unlink()
    return len(lines), sum(any(word in line for word in OPENS) for line in lines)
