"""An experiment of `plumb lab run`, taken and read back: its comparison and its blocks."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lib import process
from lib.failure import BenchFailure

Record = Mapping[str, Any]
Labels = Mapping[str, str]

# Exit statuses of `plumb lab run` after which there is a comparison.
COMPARED = (0, 1, 3)
SECONDS_MAX = 3600.0
NOTHING = "-"
# A ratio that is told as such, and not in percent.
MANY_TIMES = 20.0
VERDICTS = {
    "no-difference-shown": "no difference shown",
    "untestable": "cannot be tested",
    "none": "no verdict",
    None: "not tested",
}


@dataclass(frozen=True)
class Block:
    """One run of one variant in one cell."""

    round: int
    cell: int
    variant: str
    folder: Path
    result: Record

    def host_samples(self) -> list[dict[str, str]]:
        """What the machine did meanwhile, a row a sample, the warm-up included."""
        files = sorted(self.folder.glob("*.csv"))
        if len(files) != 1:
            raise BenchFailure(f"{self.folder} has {len(files)} recordings, expected 1")
        with files[0].open(newline="", encoding="utf-8") as rows:
            return list(csv.DictReader(rows))


    def left(self, name: str) -> str | None:
        """A file that the commands of the block left in its own folder; None when there is none."""
        path = self.folder.parent.parent / "files" / self.folder.name / name
        return path.read_text(encoding="utf-8") if path.is_file() else None


Figure = Callable[[Block], "float | None"]


class Experiment:
    """What came of one experiment file."""

    def __init__(self, folder: Path, comparison: Record) -> None:
        self.comparison = comparison
        self._contrasts: Sequence[Record] = comparison["contrasts"]
        order = json.loads(Path(folder, "order.json").read_text(encoding="utf-8"))
        self.cells: list[Labels] = [cell["labels"] for cell in order["cells"]]
        self.variants: list[str] = [variant["name"] for variant in order["variants"]]
        taken = (block for block in order["blocks"] if "failed" not in block)
        self.blocks = [block for found in taken if (block := self._counted(folder, found))]

    def medians(self, cell: Labels, variant: str, of: Figure) -> float | None:
        """Median over the blocks of a variant that count; None when nothing was measured."""
        figures = self.figures(cell, variant, of)
        return median(figures) if figures else None

    def figures(self, cell: Labels, variant: str, of: Figure) -> list[float]:
        """What was measured in the blocks of a variant that count."""
        found = (of(block) for block in self._of(cell, variant))
        return [figure for figure in found if figure is not None]

    def keys(self, cell: Labels, variant: str, name: str) -> str:
        """The keys of a table of the record, such as the statuses, over all blocks of a variant."""
        found = {key for block in self._of(cell, variant) for key in block.result.get(name, {})}
        return ", ".join(sorted(found)) or NOTHING

    def differences(self, cell: Labels, of: Figure) -> float | None:
        """Median over the rounds of a figure of the second variant minus that of the first."""
        first, second = (self._by_round(cell, name, of) for name in self.variants[:2])
        both = [second[at] - figure for at, figure in first.items() if at in second]
        return median(both) if both else None

    def change(self, cell: Labels, candidate: str, key: str) -> str:
        """How much better a candidate is in percent of the baseline, its interval, the verdict.

        What takes many times as long is told in times.
        """
        contrasts = (it for it in self._contrasts_of(cell) if it["candidate"] == candidate)
        endpoints = (endpoint for contrast in contrasts for endpoint in contrast["endpoints"])
        found = next((endpoint for endpoint in endpoints if endpoint["key"] == key), None)
        if found is None or "ratio" not in found:
            return NOTHING
        ratios = [found["ratio"]]
        if interval := found.get("interval"):
            ratios += [interval["low"], interval["high"]]
        verdict = found.get("verdict")
        return f"{_told(ratios, found['better'])} {VERDICTS.get(verdict, verdict)}"

    def foreign(self) -> float | None:
        """The largest share of the processors that others took during a block, percent."""
        shares = [block.result.get("host", {}).get("foreign_pct") for block in self.blocks]
        return max((share for share in shares if share is not None), default=None)

    def rounds(self) -> str:
        """How many rounds count, of how many."""
        design = self.comparison["design"]
        return f"{design['complete_rounds']} of {design['rounds']} rounds complete"

    def _of(self, cell: Labels, variant: str) -> list[Block]:
        at = self.cells.index(cell)
        return [block for block in self.blocks if (block.cell, block.variant) == (at, variant)]

    def _by_round(self, cell: Labels, variant: str, of: Figure) -> dict[int, float]:
        taken = ((block.round, of(block)) for block in self._of(cell, variant))
        return {at: figure for at, figure in taken if figure is not None}

    def _contrasts_of(self, cell: Labels) -> list[Record]:
        return [c for c in self._contrasts if cell.items() <= c["labels"].items()]

    def _counted(self, folder: Path, found: Record) -> Block | None:
        """A block that stands in a pair; None for one that was left out."""
        name = self.variants[found["variant"]]
        pairs = {
            figures["round"]
            for contrast in self._contrasts_of(self.cells[found["cell"]])
            if name in (contrast["baseline"], contrast["candidate"])
            for figures in contrast["endpoints"][0]["blocks"]
        }
        if found["round"] not in pairs:
            return None
        at = Path(folder, found["folder"])
        results = json.loads(at.joinpath("run.json").read_text(encoding="utf-8"))["results"]
        if len(results) != 1:
            raise BenchFailure(f"{at} has {len(results)} results, expected 1")
        return Block(found["round"], found["cell"], name, at, results[0])


def predicted_s(plumb: Path, file: str, words: Sequence[str]) -> float:
    """Seconds that the blocks of `file` are expected to take; starting servers is not in it."""
    at = words.index("--rounds") if "--rounds" in words else len(words)
    wanted = words[at : at + 2]
    command = [str(plumb), "lab", "run", file, "--dry-run", "--json", *wanted]
    ended = process.ended(command, SECONDS_MAX)
    if ended.status != 0:
        asked = f"`plumb lab run {file} --dry-run`"
        raise BenchFailure(f"{asked} ended with {ended.status}: {ended.said()}")
    return float(json.loads(ended.out)["predicted_ns"]) / 1e9


def run(plumb: Path, file: str, folder: Path, words: Sequence[str]) -> Experiment:
    """Runs the experiment `file` of the working folder into `folder`."""
    command = [str(plumb), "lab", "run", file, "--json", "--out", str(folder), *words]
    ended = process.ended(command, SECONDS_MAX)
    if ended.status not in COMPARED:
        raise BenchFailure(f"`plumb lab run {file}` ended with {ended.status}: {ended.said()}")
    comparison = json.loads(ended.out)
    if any(not contrast["endpoints"] for contrast in comparison["contrasts"]):
        left_out = [it["reason"] for v in comparison["variants"] for it in v["left_out"]]
        raise BenchFailure(f"{file}: no pair somewhere: {left_out[-1] if left_out else ended.err}")
    return Experiment(folder, comparison)


def _told(ratios: Sequence[float], better: str) -> str:
    """A ratio to the baseline and the two ends of its interval, if there is one."""
    if ratios[0] >= MANY_TIMES:
        times = [f"{ratio:,.0f}" for ratio in ratios]
        return f"times {times[0]}" + (f" ({times[1]} to {times[2]})" if times[1:] else "")
    sign = -1 if better == "lower" else 1
    percent = [100 * sign * (ratio - 1) for ratio in ratios]
    ends = sorted(percent[1:])
    return f"{percent[0]:+.1f} %" + (f" ({ends[0]:+.1f} to {ends[1]:+.1f})" if ends else "")
