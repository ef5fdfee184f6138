"""The clients compared: how each is started, and how its output is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lib.failure import BenchFailure
from web import Site

WRK, H2LOAD, OHA, PLUMB = KINDS = ("wrk", "h2load", "oha", "plumb")


@dataclass(frozen=True)
class Load:
    """What is asked of a client: as fast as possible, or at a rate."""

    connections: int
    seconds: float
    per_s: int | None = None


class Peer(Protocol):
    """Anything that can be compared."""

    @property
    def words(self) -> list[str]:
        """Its kind, and its program."""

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """The command line of one client."""

    def p50_ns(self, printed: str) -> float:
        """The median response time it printed, in nanoseconds."""


@dataclass(frozen=True)
class Wrk:
    """`wrk`, one thread."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`wrk`, and the program."""
        return [WRK, "--program", str(self.program)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For whole seconds."""
        length = ["-t", "1", "-c", str(load.connections), "-d", f"{math.ceil(load.seconds)}s"]
        return [str(self.program), *length, site.url]

    def p50_ns(self, printed: str) -> float:
        """It has no open load to compare."""
        raise BenchFailure("wrk has no constant rate")


@dataclass(frozen=True)
class H2load:
    """`h2load --h1`, one thread."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`h2load`, and the program."""
        return [H2LOAD, "--program", str(self.program)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For whole seconds."""
        length = ["-t", "1", "-c", str(load.connections), "-D", str(math.ceil(load.seconds))]
        return [str(self.program), "--h1", *length, site.url]

    def p50_ns(self, printed: str) -> float:
        """It prints no median."""
        raise BenchFailure("h2load prints no median")


@dataclass(frozen=True)
class Oha:
    """`oha`; at a rate with its correction for what had to wait."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`oha`, and the program."""
        return [OHA, "--program", str(self.program)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For a time."""
        words = ["--no-tui", "--output-format", "json", "-c", str(load.connections)]
        words += ["-z", f"{round(1000 * load.seconds)}ms"]
        if load.per_s is not None:
            words += ["-q", str(load.per_s), "--latency-correction"]
        return [str(self.program), *words, site.url]

    def p50_ns(self, printed: str) -> float:
        """Its percentiles are seconds."""
        said = json.loads(printed)
        # what was under way at the end is cut off
        failed = said["errorDistribution"].items()
        errors = {what: n for what, n in failed if "deadline" not in what}
        if errors or set(said["statusCodeDistribution"]) != {"200"}:
            raise BenchFailure(f"oha lost requests: {errors}, {said['statusCodeDistribution']}")
        return 1e9 * float(said["latencyPercentiles"]["p50"])


@dataclass(frozen=True)
class Plumb:
    """`plumb http ping`."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`plumb`, and the program."""
        return [PLUMB, "--program", str(self.program)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For a time, without a warm-up."""
        words = ["--connections", str(load.connections), "--for", f"{round(1000 * load.seconds)}ms"]
        if load.per_s is not None:
            words += ["--rate", f"{load.per_s}/s"]
        return self.ping(site, [*words, "--warmup", "0s"], scratch)

    def ping(self, site: Site, words: list[str], scratch: Path) -> list[str]:
        """`plumb http ping` with `words`."""
        command = [str(self.program), "http", "ping", site.url, *words]
        return [*command, "--json", "--out", str(scratch / "out")]

    def p50_ns(self, printed: str) -> float:
        """From the due time."""
        return float(result(printed)["response_ns"]["p50"])


def result(printed: str) -> Mapping[str, object]:
    """The only result of a run of plumb; an error when a request was lost."""
    found = json.loads(printed)["results"][0]
    if found["failures"] or found["dropped"]:
        raise BenchFailure(
            f"plumb lost requests: failures {found['failures']}, dropped {found['dropped']}"
        )
    return found


def named(kind: str, program: Path) -> Peer:
    """The peer whose `words` were written."""
    kinds: dict[str, type] = {WRK: Wrk, H2LOAD: H2load, OHA: Oha, PLUMB: Plumb}
    return kinds[kind](program)
