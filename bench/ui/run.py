#!/usr/bin/env python3
"""Measures how long pages of `plumb ui` take over many runs.

Exits with 0 when every target is met, 1 when one is missed, and 2 when it
could not run. bench/README.md says how the figures are taken.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

from lib import build, console, process  # noqa: E402
from lib.failure import BenchFailure  # noqa: E402
from lib.options import positive  # noqa: E402

PAGE_MS_MAX, SEARCH_MS_MAX = 200.0, 100.0
# Longer than this no index takes; without an end a fault would wait for ever.
INDEX_S_MAX = 120.0
RUN_S_MAX = 60.0
TARGETS, COMMANDS = 20, ("ping", "stream", "check")


@contextmanager
def serving(plumb: Path, runs: Path) -> Iterator[App]:
    """`plumb ui` over a folder, which is ended behind the block and waited for: it writes its index."""
    server = subprocess.Popen([plumb, "ui", runs], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    try:
        yield App(server)
    except (OSError, http.client.HTTPException) as error:
        raise BenchFailure(f"`plumb ui` does not answer: {error}") from error
    finally:
        server.terminate()
        server.wait()


class App:
    """`plumb ui` at work, and a browser that is logged on."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdout is not None
        self.address = server.stdout.readline().removeprefix("listening on ").strip()
        secret = server.stdout.readline().strip().partition("#")[2]
        self.connection = http.client.HTTPConnection(self.address, timeout=120)
        self.connection.request("POST", "/session", urllib.parse.urlencode({"secret": secret}),
                                {"Origin": f"http://{self.address}"})
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def get(self, path: str) -> tuple[float, str]:
        """Milliseconds to the last byte of a page, and the page."""
        began = time.perf_counter()
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        page = answer.read().decode()
        took = (time.perf_counter() - began) * 1e3
        if answer.status != 200:
            raise BenchFailure(f"{path} is answered with {answer.status}, 200 expected")
        return took, page

    def wait(self) -> float:
        """Seconds until the index holds all folders."""
        began = time.perf_counter()
        while any(note in self.get("/")[1]
                  for note in ("are being looked at;", "are being read:")):
            if time.perf_counter() - began > INDEX_S_MAX:
                raise BenchFailure(f"the index is not whole after {INDEX_S_MAX} s")
            time.sleep(0.2)
        return time.perf_counter() - began


def main(arguments: Sequence[str]) -> int:
    """Reads the options, makes the folders, measures, reports; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=positive(int), default=10_000, help="folders of runs")
    parser.add_argument("--asks", type=positive(int), default=40, help="requests of each kind")
    parser.add_argument("--plumb", type=Path, help="take this program, and do not build")
    parser.add_argument("--template", type=Path, help="the run whose folder is repeated")
    chosen = parser.parse_args(arguments)
    plumb = build.plumb(chosen.plumb, True)
    with tempfile.TemporaryDirectory(prefix="plumb-bench-ui-") as made:
        runs = Path(made) / "runs"
        template = chosen.template or measured(plumb, Path(made) / "template")
        if not (template / "run.json").is_file():
            raise BenchFailure(f"{template} is no folder of a run")
        generate(template, runs, chosen.runs)
        return measure(plumb, runs, chosen.asks)


def measured(plumb: Path, folder: Path) -> Path:
    """A short run of `net ping` on loopback."""
    words = [str(plumb), "net", "serve", "--listen", "127.0.0.1:0"]
    with process.running(words, stderr=subprocess.DEVNULL) as server:
        address = f"127.0.0.1:{process.announced_port(server)}"
        words = [str(plumb), "net", "ping", address, "--for", "1s", "--out", str(folder)]
        ended = process.ended(words, RUN_S_MAX)
    if not (folder / "run.json").exists():
        raise BenchFailure(f"no run to repeat: {ended.said()}")
    return folder


def generate(template: Path, runs: Path, count: int) -> None:
    """Folders like `template`, of many days, targets and commands, with their digests."""
    choose = random.Random(1)
    record = json.loads((template / "run.json").read_text())
    intervals = (template / "intervals.hlog").read_bytes()
    sum_of_intervals = hashlib.sha256(intervals).hexdigest()
    began = datetime(2024, 1, 1, tzinfo=timezone.utc)
    for number in range(count):
        moment = began + timedelta(minutes=97 * number)
        record["started"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        record["target"]["address"] = f"db{choose.randrange(TARGETS)}:3298"
        record["plan"]["verb"] = choose.choice(COMMANDS)
        folder = runs / f"{moment:%Y-%m-%dT%H%M%SZ}-net-{record['plan']['verb']}"
        folder.mkdir(parents=True)
        text = json.dumps(record, indent=2).encode()
        (folder / "run.json").write_bytes(text)
        (folder / "intervals.hlog").write_bytes(intervals)
        sums = f"{hashlib.sha256(text).hexdigest()}  run.json\n{sum_of_intervals}  intervals.hlog\n"
        (folder / "SHA256SUMS").write_text(sums)


def measure(plumb: Path, runs: Path, asks: int) -> int:
    """Asks for pages, prints how long they took; the exit status."""
    with serving(plumb, runs) as app:
        first, _ = app.get("/")
        print(f"first page while the index is made: {first:.0f} ms")
        print(f"index made in {app.wait():.1f} s")
    with serving(plumb, runs) as app:
        worst = pages(app, asks)
    found = max(worst["first"], worst["page"]) <= PAGE_MS_MAX
    searches = max(worst["search"], worst["search without a hit"]) <= SEARCH_MS_MAX
    print(f"first page below {PAGE_MS_MAX:.0f} ms: {'met' if found else 'MISSED'}")
    print(f"search below {SEARCH_MS_MAX:.0f} ms: {'met' if searches else 'MISSED'}")
    return 0 if found and searches else 1


def pages(app: App, asks: int) -> dict[str, float]:
    """Asks for pages of each kind, prints how long they took, and says what the longest took."""
    first, page = app.get("/")
    print(f"first page after a start, index there: {first:.0f} ms, {len(page) // 1024} KiB")
    app.wait()
    choose = random.Random(2)
    kinds = {
        "page": lambda: f"/?page={choose.randrange(1, 50)}",
        "search": lambda: f"/?q=db{choose.randrange(TARGETS)}+{choose.choice(COMMANDS)}",
        "search without a hit": lambda: f"/?q=nothing+{choose.randrange(1000)}",
        "filter": lambda: f"/?target=db{choose.randrange(TARGETS)}%3A3298&from=2024-06-01",
        "trends": lambda: "/trends",
    }
    worst = {"first": first}
    for kind, path in kinds.items():
        times = sorted(app.get(path())[0] for _ in range(asks))
        worst[kind] = times[-1]
        print(f"{kind}: median {statistics.median(times):.0f} ms, longest {times[-1]:.0f} ms")
    _, page = app.get("/trends")
    series = page.partition("/trend?series=")[2].partition('"')[0]
    times = [app.get(f"/trend?series={series}")[0] for _ in range(5)]
    print(f"trend of one series: median {statistics.median(times):.0f} ms")
    return worst


if __name__ == "__main__":
    sys.exit(console.status_of(lambda: main(sys.argv[1:])))
