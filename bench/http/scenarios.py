"""Scenarios: many users who think, and a load that goes on for long."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import peers
from checks import PATIENCE_SECONDS, SAMPLE_SECONDS
from lib import process
from lib.failure import BenchFailure
from lib.outcome import Check
from lib.table import mebibytes
from lib.verdict import Verdict
from peers import Plumb
from web import HOST, PAGE, Site

USERS, THINK_SECONDS, RAMP_SECONDS, USERS_SECONDS = 10_000, 10, 20, 60
USERS_CPU_MAX, USERS_BYTES_MAX = 0.15, 150 * 1000 * 1000
LONG_REQUESTS, LONG_USERS = 10_000_000, 50
# What grows after the first tenth of a load grows with the number of its samples.
LONG_BYTES_GROWN_MAX = 5 * 1000 * 1000
SETTLED_SHARE = 0.1

USERS_SCENARIO = """
base = "http://{host}:{port}"
for = "{seconds}s"
warmup = "{warmup}s"
[[scenario]]
name = "thinker"
users = {users}
ramp = "{ramp}s"
think = {{ exponential = "{think}s", max = "{think_max}s" }}
[[scenario.step]]
get = "{page}"
"""
LONG_SCENARIO = """
base = "http://{host}:{port}"
[[scenario]]
name = "worker"
users = {users}
iterations = {iterations}
[[scenario.step]]
get = "{page}"
"""


def users(
    plumb: Plumb, site: Site, place: Sequence[str], count: int = USERS, seconds: int = USERS_SECONDS
) -> Check:
    """What do that many users cost who think most of the time?"""
    ramp = max(1, RAMP_SECONDS * count // USERS)
    warmup = ramp + THINK_SECONDS
    text = USERS_SCENARIO.format(
        host=HOST, port=site.port, page=PAGE, users=count, ramp=ramp, seconds=seconds,
        warmup=warmup, think=THINK_SECONDS, think_max=6 * THINK_SECONDS,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        with _playing(plumb, text, place, Path(scratch)) as (client, printed):
            time.sleep(warmup + 1)
            before, since = process.cpu_seconds(client.pid), time.monotonic()
            time.sleep(max(1, seconds - 3))
            spent = process.cpu_seconds(client.pid) - before
            share = spent / (time.monotonic() - since)
            most = process.memory_bytes(client.pid).get("VmHWM", 0)
            _await(client)
            printed.seek(0)
            result = peers.result(printed.read())
    start_up = result["driver"]["start_up_ns"]  # type: ignore[index]
    lag = result["driver"]["lag_ns"]  # type: ignore[index]
    met = share < USERS_CPU_MAX and most < USERS_BYTES_MAX and start_up["count"] == count
    found = (
        f"{count:,} users, {result['operations']:,} requests",
        f"{share:.1%} of a core, at most {USERS_CPU_MAX:.0%}",
        f"{mebibytes(most)} resident at most, {mebibytes(USERS_BYTES_MAX)} allowed",
        f"start-up: median {start_up['p50'] / 1e6:.2f} ms, longest {start_up['max'] / 1e6:.2f} ms",
        f"scheduling lag: p99 {lag['p99'] / 1e6:.3f} ms",
    )
    raw = {"cpu_share": share, "bytes": most, "start_up_ns": start_up, "lag_ns": lag}
    return Check("users", Verdict.MET if met else Verdict.MISSED, found, raw)


def long(
    plumb: Plumb, site: Site, place: Sequence[str], requests: int = LONG_REQUESTS
) -> Check:
    """Does memory grow with the number of requests?"""
    iterations = requests // LONG_USERS
    asked = iterations * LONG_USERS
    text = LONG_SCENARIO.format(
        host=HOST, port=site.port, page=PAGE, users=LONG_USERS, iterations=iterations
    )
    served_before = site.requests()
    settled = 0
    most = 0
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        with _playing(plumb, text, place, Path(scratch)) as (client, printed):
            start = time.monotonic()
            while client.poll() is None:
                if time.monotonic() - start > PATIENCE_SECONDS:
                    raise BenchFailure(f"`plumb http load` took over {PATIENCE_SECONDS:.0f} s")
                resident = process.memory_bytes(client.pid).get("VmRSS", 0)
                most = max(most, resident)
                if not settled and site.requests() - served_before > SETTLED_SHARE * asked:
                    settled = resident
                time.sleep(SAMPLE_SECONDS)
            printed.seek(0)
            done = peers.result(printed.read())["operations"]
    grown = most - settled
    met = done == asked and settled > 0 and grown <= LONG_BYTES_GROWN_MAX
    found = (
        f"{done:,} of {asked:,} requests",
        f"{mebibytes(settled)} resident after a tenth, {mebibytes(most)} at most",
    )
    raw = {"settled_bytes": settled, "most_bytes": most}
    return Check("long", Verdict.MET if met else Verdict.MISSED, found, raw)


@contextmanager
def _playing(
    plumb: Plumb, text: str, place: Sequence[str], scratch: Path
) -> Iterator[tuple[subprocess.Popen[str], TextIO]]:
    """`plumb http load` of a scenario, and the file of its report, because
    nobody empties a pipe meanwhile."""
    scenario = scratch / "scenario.toml"
    scenario.write_text(text, encoding="utf-8")
    command = [*place, str(plumb.program), "http", "load", str(scenario)]
    command += ["--json", "--out", str(scratch / "out")]
    with open(scratch / "printed", "w+", encoding="utf-8") as printed:
        with process.running(command, stdout=printed.fileno()) as client:
            yield client, printed


def _await(client: subprocess.Popen[str]) -> None:
    try:
        client.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired as expired:
        raise BenchFailure("`plumb http load` does not end") from expired
