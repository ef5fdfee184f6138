"""Experiments: variants measured in turns by `plumb ab`, and what it found."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import process
from lib.failure import BenchFailure

# Exit statuses of `plumb ab` after which there is a comparison.
COMPARED = (0, 1, 3)
# Of an entry that somebody disturbed, EX_TEMPFAIL of sysexits.h: its round is
# repeated. Any other failure of an entry is a fault.
DISTURBED = 75
# How `plumb ab` begins the reason for a block that ended so.
DISTURBED_MARK = "disturbed: "
# Whose variants are commands of the shell.
EXEC = "--exec"
UNDECIDED = ("none", "untestable")


@dataclass(frozen=True)
class Interval:
    """Covers the true ratio with the probability `level`, a share of 1."""

    low: float
    high: float
    level: float

    def covers(self, ratio: float) -> bool:
        """Whether `ratio` lies within."""
        return self.low <= ratio <= self.high


@dataclass(frozen=True)
class Effect:
    """What the primary figure says of a candidate: the medians of both, and
    candidate over baseline. What could not be computed is None."""

    baseline: float
    candidate: float
    ratio: float | None
    interval: Interval | None
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """A document of the form `plumb.comparison/1`."""

    document: Mapping[str, Any]

    def effect(self, candidate: str, baseline: str) -> Effect | None:
        """Of one candidate; None when no figure of both is there."""
        for contrast in self.document["contrasts"]:
            if (contrast["candidate"], contrast["baseline"]) == (candidate, baseline):
                return _effect(contrast["endpoints"])
        return None

    def judged(self, candidate: str, baseline: str) -> Interval | None:
        """The interval that a target is held against. None where an entry failed as well: the rounds that are
        left are no sample of all, for whatever made it fail would have shown in the others."""
        effect = self.effect(candidate, baseline)
        return None if effect is None or self.faults() else effect.interval

    def kept(self) -> int:
        """Rounds that count: every variant has a block in them."""
        return int(self.document["design"]["complete_rounds"])

    def thrown(self) -> int:
        """Rounds that do not."""
        return int(self.document["design"]["rounds"]) - self.kept()

    def faults(self) -> list[str]:
        """What went wrong, in sentences: why the experiment ended early, and
        for each variant the last of its failures that was no disturbance."""
        return [_shortened(fault) for fault in self._faults()]

    def _faults(self) -> Iterator[str]:
        if "cut_short" in self.document["design"]:
            yield self.document["design"]["cut_short"]
        for variant in self.document["variants"]:
            reasons = [left_out["reason"] for left_out in variant["left_out"]]
            broken = [reason for reason in reasons if not reason.startswith(DISTURBED_MARK)]
            if broken:
                yield f"{variant['name']} failed in {len(broken)} of the rounds: {broken[-1]}"


def compare(
    plumb: Path, variants: Mapping[str, str], words: Sequence[str], place: Sequence[str] = ()
) -> Comparison:
    """Runs `plumb ab`; the first of `variants`, names and commands, is the
    baseline. `place` stands in front of the command line."""
    with tempfile.TemporaryDirectory(prefix="plumb-bench-") as scratch:
        command = [*place, str(plumb), "ab", "--json", "--out", str(Path(scratch, "out"))]
        command += ["--names", ",".join(variants), *words]
        if EXEC in words:
            command += ["--foreign-limit", "100%"]  # its entries judge that
        command += variants.values()
        ended = process.ended(command)
    if ended.status not in COMPARED:
        raise BenchFailure(f"`plumb ab` ended with {ended.status}: {_shortened(ended.said())}")
    return Comparison(json.loads(ended.out))


def _effect(endpoints: Sequence[Mapping[str, Any]]) -> Effect | None:
    if not endpoints:
        return None
    primary = endpoints[0]
    found = primary.get("interval")
    return Effect(
        baseline=primary["baseline"],
        candidate=primary["candidate"],
        ratio=primary.get("ratio"),
        interval=found and Interval(found["low"], found["high"], found["level"]),
        verdict=primary.get("verdict", UNDECIDED[0]),
    )


def _shortened(reason: str) -> str:
    """Without the words of the commands, which fill several lines."""
    return re.sub(r"`.*`", "the command", reason, flags=re.DOTALL)
