"""Rounds: every contender once, in a random order, on a quiet machine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lib import foreign
from lib.foreign import Disturbance

# Foreign load comes in bursts; a round begun at once would meet the same one.
CALM_SECONDS = 1.0


@dataclass(frozen=True)
class Sample:
    """What one entry gave: the figure compared, and all the program printed."""

    figure: float
    raw: Mapping[str, object]


Contender = Callable[[], Sample]


@dataclass
class Round:
    """One attempt at a round, in the order its entries ran.

    `thrown` says why it does not count; the entries after the disturbed one
    are then missing."""

    entries: dict[str, Sample] = field(default_factory=dict)
    disturbances: dict[str, Disturbance] = field(default_factory=dict)
    thrown: str | None = None


@dataclass(frozen=True)
class Played:
    """All rounds of one cell, kept and thrown away, as they came."""

    rounds: Sequence[Round]

    def kept(self) -> list[Round]:
        """The rounds in which nobody else used the machine."""
        return [r for r in self.rounds if r.thrown is None]

    def thrown(self) -> int:
        """How many rounds do not count."""
        return len(self.rounds) - len(self.kept())

    def figures(self, name: str) -> list[float]:
        """The figure of one contender in each round kept."""
        return [r.entries[name].figure for r in self.kept() if name in r.entries]

    def ratios(self, name: str, base: str) -> list[float]:
        """The figure of `name` over that of `base`, round by round."""
        return [a / b for a, b in zip(self.figures(name), self.figures(base)) if b > 0]


def play(
    contenders: Mapping[str, Contender],
    wanted: int,
    order: random.Random,
    servers: Sequence[int],
) -> Played:
    """Plays until `wanted` rounds are kept, at most twice as many in all."""
    rounds: list[Round] = []
    kept = 0
    while kept < wanted and len(rounds) < 2 * wanted:
        if rounds and rounds[-1].thrown is not None:
            time.sleep(CALM_SECONDS)
        rounds.append(_round(contenders, order, servers))
        kept += rounds[-1].thrown is None
    return Played(rounds)


def _round(
    contenders: Mapping[str, Contender], order: random.Random, servers: Sequence[int]
) -> Round:
    current = Round()
    for name in order.sample(list(contenders), len(contenders)):
        before = foreign.look(servers)
        current.entries[name] = contenders[name]()
        current.disturbances[name] = foreign.between(before, foreign.look(servers))
        reason = current.disturbances[name].reason()
        if reason is not None:
            current.thrown = f"{name}: {reason}"
            break
    return current
