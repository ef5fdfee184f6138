#!/usr/bin/env python3
"""What is set on an application server against what a report attributes to it.

    attribution.py --plumb target/release/plumb --seconds 4 --rounds 3

Each cell sets one time: a wait in a database call, in the load of a program, or on
the way back from the lock server. The error is the attributed mean less what was
set and less what the same part takes without it, measured in the same round; one
user, so that nobody waits for anybody.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WITHIN_SHARE = 0.10
WITHIN_MS = 0.2
READY = re.compile(r"(?:on|at) (\d+\.\d+\.\d+\.\d+:\d+)")
CATALOG = 'get = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/catalog/page001.htm"'
ORDER = (
    'path = "/sap/bc/sd/orders"\nheaders = { Content-Type = "application/json" }\n'
    """body = '{"customer": "C-1", "items": [{"material": "M-01", "quantity": 1}]}'\n"""
    'check = { status = "201" }'
)


@dataclass(frozen=True)
class Cell:
    """One time that is set, and the part that should hold it."""

    name: str
    part: str
    set_ms: float
    step: str
    server: str = ""
    locks: Sequence[str] = field(default_factory=tuple)


def cells() -> list[Cell]:
    """A short and a long time of each kind."""
    found = []
    for ms in (0, 1, 5, 20):
        wait = f'database-wait = "{ms}ms"'
        found.append(Cell(f"database {ms} ms", "database", ms, CATALOG, f"[step]\n{wait}"))
        load = f'[programs]\nbuffer-size = "1KiB"\nload-wait = "{ms}ms"'
        found.append(Cell(f"load {ms} ms", "program", ms, CATALOG, load))
        back = ("--delay-back", f"{ms}ms") if ms else ()
        found.append(Cell(f"lock {ms} ms", "lock", ms, ORDER, locks=("lock", *back)))
    return found


@contextlib.contextmanager
def serving(words: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    log = folder / f"{words[1]}-{len(list(folder.iterdir()))}.log"
    with log.open("w+b") as out, subprocess.Popen(words, cwd=folder, stdout=out, stderr=out) as it:
        try:
            yield ready(it, log)
        finally:
            it.terminate()


def ready(server: subprocess.Popen[bytes], log: Path) -> str:
    """The address that a server says it listens on."""
    for _ in range(200):
        found = READY.search(log.read_text(errors="replace"))
        if found:
            return found.group(1)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.05)
            break
    raise SystemExit(f"a server does not start: {log.read_text(errors='replace')}")


def measured(plumb: str, cell: Cell, seconds: int, folder: Path) -> float:
    """The mean of the part, milliseconds."""
    with contextlib.ExitStack() as servers:
        config = cell.server
        if cell.locks:
            at = servers.enter_context(
                serving([plumb, "lock", "serve", "--listen", "127.0.0.1:0"], folder)
            )
            if len(cell.locks) > 1:
                line = [plumb, "net", "delay", at, "--listen", "127.0.0.1:0", *cell.locks[1:]]
                at = servers.enter_context(serving(line, folder))
            config += f'\n[locks]\nserver = "{at}"\n'
        (folder / "app.toml").write_text(config)
        serve = [plumb, "app", "serve", "app.toml", "--listen", "127.0.0.1:0"]
        base = servers.enter_context(serving(serve, folder))
        (folder / "s.toml").write_text(
            f'base = "http://{base}"\n[[scenario]]\nname = "one"\nusers = 1\n'
            f'[[scenario.step]]\nname = "step"\n{cell.step}\n'
        )
        record = played(plumb, seconds, folder)
    (part,) = record["results"][0]["parts"]
    attribution = part["attribution"]
    if attribution.get("cannot_be_split"):
        raise SystemExit(f"{cell.name}: {attribution['cannot_be_split']}")
    means = {it["kind"]: it["time"]["mean_ns"] / 1e6 for it in attribution["parts"]}
    return float(means.get(cell.part, 0.0))


def played(plumb: str, seconds: int, folder: Path) -> dict:
    """The record of the scenario."""
    who = {"PLUMB_HTTP_USER": "demo", "PLUMB_HTTP_PASSWORD": "demo"}
    words = [plumb, "http", "load", "s.toml", "--for", f"{seconds}s", "--warmup", "500ms", "--json"]
    done = subprocess.run(words, cwd=folder, env={**os.environ, **who}, capture_output=True)
    if not done.stdout:
        raise SystemExit(done.stderr.decode(errors="replace"))
    record = json.loads(done.stdout)
    if not record["validity"]["valid"]:
        print("not valid:", record["validity"]["reasons"][0]["text"][:90], file=sys.stderr)
    return record


def main() -> int:
    """Prints a row a cell; the exit status says whether all are within the bound."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--plumb", default="target/release/plumb")
    options.add_argument("--seconds", type=int, default=4)
    options.add_argument("--rounds", type=int, default=3)
    words = options.parse_args()
    plumb = str(Path(words.plumb).resolve())
    found: dict[str, list[float]] = {cell.name: [] for cell in cells()}
    for _ in range(words.rounds):
        for cell in cells():
            with tempfile.TemporaryDirectory() as folder:
                found[cell.name].append(measured(plumb, cell, words.seconds, Path(folder)))
    print(f"{'cell':<16} {'set':>8} {'attributed':>11} {'without':>8} {'error':>8}  within")
    missed = 0
    for cell in cells():
        without = found[f"{cell.name.split()[0]} 0 ms"]
        added = [one - none for one, none in zip(found[cell.name], without, strict=True)]
        mean = statistics.median(found[cell.name])
        error = statistics.median(added) - cell.set_ms
        within = abs(error) <= max(WITHIN_SHARE * cell.set_ms, WITHIN_MS)
        missed += not within
        print(
            f"{cell.name:<16} {cell.set_ms:>5.1f} ms {mean:>8.3f} ms "
            f"{statistics.median(without):>5.3f} ms {error:>+8.3f}  {'yes' if within else 'NO'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
