"""The clients compared: how each is started, and how its output is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lib.failure import BenchFailure
from web import HOST, PAGE, Site

WRK, H2LOAD, OHA, LIMIT, PLUMB = KINDS = ("wrk", "h2load", "oha", "limit", "plumb")
# What a client is told that is to keep its processor's tick: the server is another's.
LIMIT_HELD, PLUMB_HELD = "--hold-tick", "--hold-tick=client"
# What the limit is told that is neither to read nor to time an answer.
BARE = "--bare"
# What plumb sends.
REQUEST = (
    "GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: plumb/0.1.0\r\nAccept: */*\r\n\r\n"
)


@dataclass(frozen=True)
class Load:
    """What is asked of a client: as fast as possible, or at a rate."""

    connections: int
    seconds: float
    per_s: int | None = None
    # Requests under way on each connection of HTTP/2; `None`: HTTP/1.1.
    streams: int | None = None


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
    """`h2load`, with `--h1` unless streams are asked for, one thread."""

    program: Path

    @property
    def words(self) -> list[str]:
        """`h2load`, and the program."""
        return [H2LOAD, "--program", str(self.program)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For whole seconds."""
        length = ["-t", "1", "-c", str(load.connections), "-D", str(math.ceil(load.seconds))]
        if load.streams is not None:
            return [str(self.program), "-m", str(load.streams), *length, site.h2_url]
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
        if load.streams is not None:
            words += ["--http2", "-p", str(load.streams)]
            return [str(self.program), *words, site.h2_url]
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
class Limit:
    """`limit_http`: sends the request that plumb sends over one connection, and judges and times
    the answers."""

    program: Path
    # It keeps the tick of its processor while it waits.
    holds_tick: bool = False
    # It neither reads nor times an answer.
    bare: bool = False

    @property
    def words(self) -> list[str]:
        """`limit`, and the program."""
        bare = [BARE] if self.bare else []
        return [LIMIT, "--program", str(self.program), *_held(self.holds_tick), *bare]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For a time."""
        if load.connections != 1 or load.per_s is not None:
            raise BenchFailure("the limit has one connection and no rate")
        request = REQUEST.format(path=PAGE, host=HOST, port=site.port)
        how = [LIMIT_HELD] if self.holds_tick else []
        how += [BARE] if self.bare else []
        return [str(self.program), *how, str(site.port), request, str(load.seconds)]

    def p50_ns(self, printed: str) -> float:
        """As it prints it; a bare one prints nothing."""
        return float(json.loads(printed)["p50_ns"])


@dataclass(frozen=True)
class Plumb:
    """`plumb http ping`."""

    program: Path
    # The client keeps the tick of its processor while it waits.
    holds_tick: bool = False

    @property
    def words(self) -> list[str]:
        """`plumb`, and the program."""
        return [PLUMB, "--program", str(self.program), *_held(self.holds_tick)]

    def command(self, site: Site, load: Load, scratch: Path) -> list[str]:
        """For a time, without a warm-up."""
        words = ["--connections", str(load.connections), "--for", f"{round(1000 * load.seconds)}ms"]
        if load.per_s is not None:
            words += ["--rate", f"{load.per_s}/s"]
        url = site.url
        if load.streams is not None:
            words += ["--http", "2", "--streams", str(load.streams)]
            url = site.h2_url
        return self.ping(url, [*words, "--warmup", "0s"], scratch)

    def ping(self, url: str, words: list[str], scratch: Path) -> list[str]:
        """`plumb http ping` of `url` with `words`."""
        command = [str(self.program), "http", "ping", url, *words]
        command += [PLUMB_HELD] if self.holds_tick else []
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


def named(kind: str, program: Path, *, holds_tick: bool, bare: bool) -> Peer:
    """The peer whose `words` were written."""
    if kind == PLUMB:
        return Plumb(program, holds_tick)
    if kind == LIMIT:
        return Limit(program, holds_tick, bare)
    kinds: dict[str, type] = {WRK: Wrk, H2LOAD: H2load, OHA: Oha}
    return kinds[kind](program)


def _held(holds_tick: bool) -> tuple[str, ...]:
    return ("--hold-tick",) if holds_tick else ()
