"""A stalled server and memory: cells that only plumb takes part in."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import peers
from lib import process
from lib.failure import BenchFailure
from lib.outcome import Check
from lib.table import mebibytes
from lib.verdict import Verdict
from peers import Load, Plumb
from web import Site

STALL_LOAD = Load(connections=50, seconds=10.0, per_s=2000)
STALL_AFTER_SECONDS, STALL_SECONDS = 4.0, 1.0
# Of all that is due in 10 s, the tenth that is due in the stall waits evenly
# from 1 s down to nothing.
STALL_TRUTH_NS = {"p95": 500e6, "p99": 900e6}
# What has gathered takes some time to be worked off, which moves the middle of
# the stall more than its end.
STALL_TOLERANCE = {"p95": 0.05, "p99": 0.02}

MEMORY_REQUESTS, MEMORY_CONNECTIONS = 10_000_000, 50
MEMORY_BYTES_MAX = 30 * 1000 * 1000
SAMPLE_SECONDS = 0.1
PATIENCE_SECONDS = 900.0


def stall(plumb: Plumb, site: Site, place: Sequence[str]) -> Check:
    """Does the response time show a server that stops for a second?"""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        command = [*place, *plumb.command(site, STALL_LOAD, Path(scratch))]
        with process.running(command, stderr=subprocess.PIPE) as client:
            time.sleep(STALL_AFTER_SECONDS)
            os.kill(site.pid, signal.SIGSTOP)
            try:
                time.sleep(STALL_SECONDS)
            finally:
                os.kill(site.pid, signal.SIGCONT)
            printed, _ = client.communicate(timeout=PATIENCE_SECONDS)
    times = peers.result(printed)["response_ns"]
    assert isinstance(times, Mapping)
    right, found = True, []
    for name, truth in STALL_TRUTH_NS.items():
        right &= abs(times[name] - truth) <= STALL_TOLERANCE[name] * truth
        found.append(f"{name}: {times[name] / 1e6:.0f} ms, expected {truth / 1e6:.0f} ms")
    verdict = Verdict.MET if right else Verdict.MISSED
    return Check("stall", verdict, tuple(found), {"response_ns": times})


def memory(
    plumb: Plumb, site: Site, place: Sequence[str], requests: int = MEMORY_REQUESTS
) -> Check:
    """How much memory do that many requests take at most?"""
    words = ["--connections", str(MEMORY_CONNECTIONS), "--count", str(requests), "--warmup", "0s"]
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        command = [*place, *plumb.ping(site.url, words, Path(scratch))]
        # the report goes to a file, because nobody empties a pipe meanwhile
        with open(Path(scratch, "printed"), "w+", encoding="utf-8") as printed:
            with process.running(command, stdout=printed.fileno()) as client:
                most = _most_resident(client)
            printed.seek(0)
            done = peers.result(printed.read())["operations"]
    met = done == requests and most <= MEMORY_BYTES_MAX
    found = (f"{done:,} of {requests:,} requests", f"{mebibytes(most)} resident at most")
    return Check("memory", Verdict.MET if met else Verdict.MISSED, found, {"bytes": most})


def _most_resident(client: subprocess.Popen[str]) -> int:
    start, most = time.monotonic(), 0
    while client.poll() is None:
        if time.monotonic() - start > PATIENCE_SECONDS:
            raise BenchFailure(f"`plumb http ping` took over {PATIENCE_SECONDS:.0f} s")
        most = max(most, process.memory_bytes(client.pid).get("VmHWM", 0))
        time.sleep(SAMPLE_SECONDS)
    return most
