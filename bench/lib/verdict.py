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
    interval of the ratio must be below that, too; `whole`: it must keep the bound."""

    sign: str
    bound: float
    below: float | None = None
    whole: bool = False

    def __str__(self) -> str:
        if self.whole:
            return f"all {self.sign} {self.bound:.2f}"
        also = "" if self.below is None else f", all < {self.below:.2f}"
        return f"{self.sign} {self.bound:.2f}{also}"

    def judge(self, interval: Interval | None) -> Verdict:
        """Met when the interval of the ratio includes the bound or beats it, where
        the whole interval must keep it only in that case, and missed when all of it
        is beyond; unknown when there is no interval, or too wide a one."""
        if interval is None:
            return Verdict.UNKNOWN
        if self.whole:
            return self._judge_whole(interval)
        within = interval.low <= self.bound if self.sign == "<=" else interval.high >= self.bound
        below = self.below is None or interval.high < self.below
        return Verdict.MET if within and below else Verdict.MISSED


    def _judge_whole(self, interval: Interval) -> Verdict:
        low, high = interval.low, interval.high
        worst, best = (high, low) if self.sign == "<=" else (low, high)
        keeps = self._keeps(worst), self._keeps(best)
        return {
            (True, True): Verdict.MET,
            (False, False): Verdict.MISSED,
        }.get(keeps, Verdict.UNKNOWN)

    def _keeps(self, ratio: float) -> bool:
        return ratio <= self.bound if self.sign == "<=" else ratio >= self.bound


def at_most(bound: float, below: float | None = None) -> Target:
    """The ratio may not be above `bound`, nor its interval reach up to `below`."""
    return Target("<=", bound, below)


def at_least(bound: float) -> Target:
    """The ratio may not be below `bound`."""
    return Target(">=", bound)


def all_at_least(bound: float) -> Target:
    """No part of the interval of the ratio may be below `bound`."""
    return Target(">=", bound, whole=True)


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """2 when something is unknown, else 1 when a target was missed."""
    if not verdicts or Verdict.UNKNOWN in verdicts:
        return 2
    return 1 if Verdict.MISSED in verdicts else 0
