"""Medians and their exact intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A median and the interval that covers the true one.

    `confidence` is the true level of the interval, a share of 1. It is at
    least CONFIDENCE, except below six samples: there even the whole range of
    the samples covers less, and `confidence` says how little."""

    median: float
    low: float
    high: float
    confidence: float
    count: int


def estimate(samples: Sequence[float]) -> Estimate | None:
    """Median of `samples` with its binomial sign interval; None without any.

    For n samples and a rank k from 1, the interval from the k-th smallest to
    the k-th largest misses the true median with probability
    2 * P(B < k), B binomial with n trials of 1/2: the only assumption is that
    the samples are independent. The largest k that keeps CONFIDENCE is taken.
    """
    if not samples:
        return None
    ordered = sorted(samples)
    rank = _widest_rank(len(ordered))
    return Estimate(
        median=median(ordered),
        low=ordered[rank - 1],
        high=ordered[-rank],
        confidence=_coverage(len(ordered), rank),
        count=len(ordered),
    )


def _widest_rank(count: int) -> int:
    rank = 1
    while 2 * (rank + 1) <= count and _coverage(count, rank + 1) >= CONFIDENCE:
        rank += 1
    return rank


def _coverage(count: int, rank: int) -> float:
    missed = sum(comb(count, below) for below in range(rank)) / 2**count
    return float(max(0.0, 1 - 2 * missed))
