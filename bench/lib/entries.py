"""Entries of comparisons: a client runs in a process of its own while the machine is watched."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Sequence

from lib import foreign, process
from lib.console import say
from lib.experiment import DISTURBED
from lib.failure import BenchFailure

FAILED = 1
# Who disturbed an entry is judged here, for every peer alike: plumb does not know
# which servers belong to it.
PLUMB_LIMIT = "PLUMB_FOREIGN_LIMIT"


def command(words: Sequence[str], place: Sequence[str], family: Collection[int]) -> str:
    """The shell command of an entry, a script and its `words`; the shell gives
    way to it, so that whoever ends the command ends the entry itself, and waits
    for it."""
    client = ["--client", shlex.join(place), "--family", ",".join(map(str, family))]
    return f"exec {shlex.join([sys.executable, *words, *client])}"


def add_shared(parser: argparse.ArgumentParser) -> None:
    """`--client` and `--family`, which `command` writes."""
    add = parser.add_argument
    add("--client", type=shlex.split, default=[],
        help="words in front of the client, such as 'taskset -c 0'")  # fmt: skip
    add("--family", type=_process_ids, default=[],
        help="processes that are not foreign, the servers and the bench")  # fmt: skip


def _process_ids(text: str) -> list[int]:
    """Reads a comma-separated list."""
    return [int(word) for word in text.split(",")]


def watched(measure: Callable[[], float], family: Collection[int], calm_seconds: float) -> int:
    """Prints what `measure` finds, unless somebody else used the machine
    meanwhile; the exit status. Foreign load comes in bursts: an entry begun at
    once would meet the same one, so that a disturbed one waits before it ends."""
    # Parents only wait; what little they do is the bench's own.
    family = {*family, *process.parents(until=family)}
    os.environ[PLUMB_LIMIT] = "100%"
    before = foreign.look(family)
    try:
        figure = measure()
    except BenchFailure as failure:
        say(" ".join(str(failure).split()))
        return FAILED
    disturbed = foreign.between(before, foreign.look(family)).reason()
    if disturbed is not None:
        time.sleep(calm_seconds)
        say(disturbed)
        return DISTURBED
    print(figure)
    return 0
