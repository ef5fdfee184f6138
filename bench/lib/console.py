"""What a bench says while it runs, and the status it ends with."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from lib.failure import BenchFailure

COULD_NOT_RUN = 2
INTERRUPTED = 130


def say(text: str) -> None:
    """Progress and failures, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


def status_of(bench: Callable[[], int]) -> int:
    """The status a bench returns, or what it means that it did not come to
    its end. SIGTERM interrupts it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return bench()
    except BenchFailure as failure:
        say(f"could not run: {failure}")
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
