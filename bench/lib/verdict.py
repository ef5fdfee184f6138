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
    """A bound on a ratio, from above or from below; `below`: the whole
    interval of the ratio must be below that, too."""

    sign: str
    bound: float
    below: float | None = None

    def __str__(self) -> str:
        also = "" if self.below is None else f", all < {self.below:.2f}"
        return f"{self.sign} {self.bound:.2f}{also}"

    def judge(self, interval: Interval | None) -> Verdict:
        """Met when the interval of the ratio includes the bound or beats it;
        unknown when there is no interval."""
        if interval is None:
            return Verdict.UNKNOWN
        within = interval.low <= self.bound if self.sign == "<=" else interval.high >= self.bound
        below = self.below is None or interval.high < self.below
        return Verdict.MET if within and below else Verdict.MISSED


def at_most(bound: float, below: float | None = None) -> Target:
    """The ratio may not be above `bound`, nor its interval reach up to `below`."""
    return Target("<=", bound, below)


def at_least(bound: float) -> Target:
    """The ratio may not be below `bound`."""
    return Target(">=", bound)


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """2 when something is unknown, else 1 when a target was missed."""
    if not verdicts or Verdict.UNKNOWN in verdicts:
        return 2
    return 1 if Verdict.MISSED in verdicts else 0
