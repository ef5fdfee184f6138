"""A bench that asks whether something beside a measurement costs it anything."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lib import build, machine, results
from lib.verdict import Verdict, exit_status

# What may be lost at the most, percent of the median.
MARGIN_PERCENT = 2
# As `plumb ab` says it where it has none.
NO_VERDICT = "none"


class Cost(Protocol):
    """What was found of one variant."""

    @property
    def verdict(self) -> str:
        """As `plumb ab` says it."""


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    costs: list[Cost] = field(default_factory=list)
    targets: list[tuple[str, Verdict]] = field(default_factory=list)


def run(
    options: argparse.Namespace,
    measure: Callable[[Path], Sequence[Cost]],
    name: Callable[[Cost], str | None],
    show: Callable[[Outcome], None],
) -> int:
    """Measures, judges each cost that `name` names, None where it has no target, and shows what there
    is; the exit status."""
    program = build.plumb(options.plumb, not options.no_build)
    facts = machine.facts(build.REPOSITORY, {"plumb": [str(program), "--version"]})
    outcome = Outcome(facts, vars(options))
    try:
        outcome.costs = list(measure(program))
        named = [(name(it), it) for it in outcome.costs]
        outcome.targets = [(_target(its), _judged(it)) for its, it in named if its is not None]
        outcome.complete = True
    finally:
        show(outcome)
    return exit_status([verdict for _, verdict in outcome.targets])


def report(outcome: Outcome, bench: str) -> None:
    """The targets, and where everything lies."""
    for target, verdict in outcome.targets:
        print(f"{target}: {verdict.value}")
    print(f"all figures in {results.write(bench, outcome)}")


def _target(name: str) -> str:
    return f"{name}: no slower, within {MARGIN_PERCENT} %"


def _judged(found: Cost) -> Verdict:
    """Not slower is shown by the interval within the margin."""
    if found.verdict in ("equivalent", "better"):
        return Verdict.MET
    return Verdict.MISSED if found.verdict == "worse" else Verdict.UNKNOWN
