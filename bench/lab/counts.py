"""How often the method was right, over experiments whose answer is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lib.experiment import UNDECIDED, Effect
from lib.verdict import Verdict

CALLED = ("better", "worse")
# Targets are counts of so many experiments; other numbers go in proportion.
PER = 20
WORSE_MIN, COVERED_MIN, CALLED_MAX = 18, 17, 3


@dataclass(frozen=True)
class Count:
    """In how many of the planned experiments something was so, and in how
    many there is nothing to say."""

    variants: str
    what: str
    found: int
    undecided: int
    planned: int
    target: str | None = None
    verdict: Verdict | None = None


def of_different(
    variants: str, effects: Sequence[Effect | None], planned: int, ratios: Sequence[float]
) -> list[Count]:
    """Of a candidate that is slower. The first of `ratios` is the one that
    the interval must cover; the others are only counted."""
    worse = _count(variants, "called worse", effects, planned, lambda it: it.verdict == "worse")
    covered = [
        _count(variants, f"interval covers {ratio:.4f}", effects, planned, _covers(ratio))
        for ratio in ratios
    ]
    return [_at_least(WORSE_MIN, worse), _at_least(COVERED_MIN, covered[0]), *covered[1:]]


def of_equal(variants: str, effects: Sequence[Effect | None], planned: int) -> list[Count]:
    """Of a candidate that is the same."""
    called = _count(variants, "called different", effects, planned, lambda it: it.verdict in CALLED)
    covered = _count(variants, "interval covers 1.0000", effects, planned, _covers(1.0))
    return [_at_most(CALLED_MAX, called), covered]


def decided(effects: Sequence[Effect | None]) -> list[Effect]:
    """Those of experiments that came to a verdict."""
    return [it for it in effects if it is not None and it.interval and it.verdict not in UNDECIDED]


def _covers(ratio: float) -> Callable[[Effect], bool]:
    return lambda effect: effect.interval is not None and effect.interval.covers(ratio)


def _count(
    variants: str,
    what: str,
    effects: Sequence[Effect | None],
    planned: int,
    holds: Callable[[Effect], bool],
) -> Count:
    known = decided(effects)
    found = sum(holds(effect) for effect in known)
    return Count(variants, what, found, planned - len(known), planned)


def _at_least(share: int, count: Count) -> Count:
    """Unknown when the experiments that are missing could still reach it."""
    bound = -(-share * count.planned // PER)
    verdict = Verdict.MISSED
    if count.found >= bound:
        verdict = Verdict.MET
    elif count.found + count.undecided >= bound:
        verdict = Verdict.UNKNOWN
    return replace(count, target=f">= {bound}", verdict=verdict)


def _at_most(share: int, count: Count) -> Count:
    """Unknown when the experiments that are missing could still exceed it."""
    bound = share * count.planned // PER
    verdict = Verdict.MET
    if count.found > bound:
        verdict = Verdict.MISSED
    elif count.found + count.undecided > bound:
        verdict = Verdict.UNKNOWN
    return replace(count, target=f"<= {bound}", verdict=verdict)
