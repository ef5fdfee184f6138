"""`plumb net serve`, and what `plumb net ping` says of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

Figures = Mapping[str, float]


@contextmanager
def serving(
    plumb: Path, place: Sequence[str], host: str, options: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An echo server that runs until the block ends, and the port it picked."""
    command = [*place, str(plumb), "net", "serve", "--quiet", "--listen", f"{host}:0", *options]
    with process.running(command) as server:
        yield server, process.announced_port(server)


def figures(printed: str) -> Figures:
    """Those of the first result; an error when an operation was lost."""
    result = json.loads(printed)["results"][0]
    if result["failures"] or result["dropped"]:
        raise BenchFailure(
            f"plumb lost operations: failures {result['failures']}, dropped {result['dropped']}"
        )
    return {
        "count": result["operations"],
        "p50_ns": result["service_ns"]["p50"],
        "per_s": result["throughput_per_s"],
    }
