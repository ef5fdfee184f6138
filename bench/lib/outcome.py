"""What a bench found: plumb beside one baseline a row, and cells with an outcome of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lib import build, results
from lib.experiment import Comparison
from lib.failure import BenchFailure
from lib.table import NOTHING, figure, level, ratio, table
from lib.verdict import Target, Verdict

PLUMB = "plumb"
# The baseline once more, so that the noise is known.
AGAIN = "again"
HEAD = ("cell", "baseline", "baseline's", "plumb's", "plumb/baseline", "A/A", "interval", "kept",
        "thrown", "target", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Check:
    """A cell with one outcome, what it found in words, and all it read; no
    verdict where there is no target."""

    cell: str
    verdict: Verdict | None
    found: tuple[str, ...]
    raw: Mapping[str, object]

    def __str__(self) -> str:
        verdict = self.verdict.value if self.verdict else "no target"
        return "\n".join([f"{self.cell}: {verdict}", *(f"  {it}" for it in self.found)])


def cells(found: Comparison | None, baseline: str, again: str = AGAIN) -> list[str]:
    """What a table shows of plumb over `baseline`: the figures of both, their
    ratio, that of the baseline to itself, the level of the interval, and the
    rounds kept and thrown."""
    effect = found.effect(PLUMB, baseline) if found else None
    noise = found.effect(again, baseline) if found else None
    return [
        figure(effect and effect.baseline),
        figure(effect and effect.candidate),
        ratio(effect),
        ratio(noise),
        level(effect),
        str(found.kept()) if found else NOTHING,
        str(found.thrown()) if found else NOTHING,
    ]


@dataclass(frozen=True)
class Row:
    """One cell after it was measured."""

    cell: str
    baseline: str
    comparison: Comparison | None
    target: Target | None
    verdict: Verdict | None
    errors: Sequence[str]

    def cells(self) -> list[str]:
        """One line of the table below HEAD."""
        return [
            self.cell,
            self.baseline,
            *cells(self.comparison, self.baseline),
            str(self.target or NOTHING),
            self.verdict.value if self.verdict else NOTHING,
        ]


def compared(
    cell: str, baseline: str, target: Target | None, compare: Callable[[], Comparison]
) -> Row:
    """Compares; what could not be compared, or went wrong, judges nothing."""
    unknown = target and Verdict.UNKNOWN
    try:
        found = compare()
    except BenchFailure as failure:
        return Row(cell, baseline, None, target, unknown, [str(failure)])
    verdict = target and target.judge(found.judged(PLUMB, baseline))
    return Row(cell, baseline, found, target, verdict, found.faults())


@dataclass
class Outcome(results.Outcome):
    """All that was measured so far."""

    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """One for each target."""
        judged = (found.verdict for found in [*self.rows, *self.checks])
        return [verdict for verdict in judged if verdict is not None]

    def show(self, bench: str, title: str) -> None:
        """The table and the checks on standard output, everything else in the results."""
        if not self.rows and not self.checks:
            return
        path = results.write(bench, self)
        if self.rows:
            print(title)
            print(table(HEAD, [found.cells() for found in self.rows]))
            for found in self.rows:
                for error in found.errors:
                    print(f"{found.cell} against {found.baseline}: {error}")
        for check in self.checks:
            print(check)
        print(f"seed {self.options['seed']}, all figures in {path.relative_to(build.REPOSITORY)}")
