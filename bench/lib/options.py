"""The options that the benches share, and how their values are read."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

Number = TypeVar("Number", int, float)


def add_shared(parser: argparse.ArgumentParser) -> None:
    """`--seed`, `--no-build` and `--plumb`."""
    add = parser.add_argument
    add("--seed", type=int, default=random.SystemRandom().randrange(2**32),
        help="of the order within the rounds; random unless given")  # fmt: skip
    add("--no-build", action="store_true", help="do not build plumb, take it as it is")
    add("--plumb", type=Path, help="take this plumb and do not build; else target/release/plumb")


def seed_of(seed: int, experiment: str) -> int:
    """The same experiment has the same order for the same seed, whatever else runs."""
    return random.Random(f"{seed} {experiment}").randrange(2**32)


def names(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """Reads a comma-separated list of allowed names."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in allowed]
        if unknown:
            expected = ", ".join(allowed)
            raise argparse.ArgumentTypeError(f"no '{unknown[0]}', expected some of {expected}")
        return chosen

    return read


def numbers(text: str) -> list[int]:
    """Reads comma-separated positive integers."""
    return [positive(int)(word) for word in text.split(",")]


def positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Reads one number above zero."""

    def read(text: str) -> Number:
        with suppress(ValueError):
            value = kind(text)
            if 0 < value < float("inf"):
                return value
        raise argparse.ArgumentTypeError(f"'{text}', expected a number above 0")

    return read
