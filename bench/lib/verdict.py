"""Targets, and whether a measured ratio meets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from lib.experiment import Interval


class Verdict(Enum):
    """What is known about a target after the run."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Target:
    """A bound on a ratio, from above or from below."""

    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:.2f}"

    def judge(self, interval: Interval | None) -> Verdict:
        """Met when all of the interval of the ratio keeps the bound, and missed when
        none of it does; unknown when there is no interval, or the bound is within."""
        if interval is None:
            return Verdict.UNKNOWN
        keeps = {self._keeps(interval.low), self._keeps(interval.high)}
        if len(keeps) > 1:
            return Verdict.UNKNOWN
        return Verdict.MET if keeps.pop() else Verdict.MISSED

    def _keeps(self, ratio: float) -> bool:
        return ratio <= self.bound if self.sign == "<=" else ratio >= self.bound


def at_most(bound: float) -> Target:
    """The ratio may not be above `bound`."""
    return Target("<=", bound)


def at_least(bound: float) -> Target:
    """The ratio may not be below `bound`."""
    return Target(">=", bound)


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """2 when something is unknown, else 1 when a target was missed."""
    if not verdicts or Verdict.UNKNOWN in verdicts:
        return 2
    return 1 if Verdict.MISSED in verdicts else 0
