"""wrk that sends events, and what it says of their answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lib import process
from lib.failure import BenchFailure

SCRIPT = Path(__file__).resolve().parent / "event.lua"
THREADS = 2


@dataclass(frozen=True)
class Load:
    """One load, every request of which was answered well."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def send(
    url: str, connections: int, seconds: float, size: int = 300
) -> Load:
    """Events of `size` bytes over so many connections, as fast as they are answered."""
    threads = min(THREADS, connections)
    words = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "10s"]
    said = process.run([*words, "-s", str(SCRIPT), url, "--", str(size)], seconds + 60)
    found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    if found.pop("wrong"):
        raise BenchFailure(f"{url}: not every event was taken: {said.strip()[-300:]}")
    return Load(**found)
