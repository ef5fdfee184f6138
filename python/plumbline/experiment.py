"""Experiments: variants in turns, their blocks, and what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .errors import NotFound
from .files import document, field
from .run import ORDER, PathLike, Run

_COMPARISON = "comparison.json"
_ORDERS = ("plumb.order/1", "plumb.order/2")
_COMPARISONS = ("plumb.comparison/1",)


class Experiment:
    """The folder of an experiment, as ``plumb ab`` and ``plumb lab run`` leave it.

    Raises :class:`~plumbline.NotFound` and :class:`~plumbline.BrokenFolder`.
    """

    def __init__(self, path: PathLike) -> None:
        self.folder: Path = Path(path)
        """Where it lies."""
        self._file, self.order = document(self.folder, ORDER, _ORDERS)
        self.variants: list[str] = [
            field(self._file, it, "name") for it in field(self._file, self.order, "variants")
        ]
        """Names of the variants; the first is the baseline."""

    def blocks(self) -> pd.DataFrame:
        """One row a block and result, in the order in which they were taken.

        ``round`` (from 1), ``variant``, ``folder``, ``block_failed`` (why it came to nothing), and what
        :meth:`Run.frame` has of its run.
        """
        frames = []
        for block in field(self._file, self.order, "blocks"):
            around = {
                "round": field(self._file, block, "round"),
                "variant": self.variants[field(self._file, block, "variant")],
                "folder": field(self._file, block, "folder"),
                "block_failed": block.get("failed"),
            }
            try:
                frame = self.run(around["folder"]).frame()
            except NotFound:
                if around["block_failed"] is None:
                    raise
                frame = pd.DataFrame([{}])
            for at, (name, value) in enumerate(around.items()):
                frame.insert(at, name, value)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def run(self, folder: str) -> Run:
        """The run of the block in ``folder``, as the blocks name it."""
        return Run(self.folder / folder)

    def comparison(self) -> dict[str, Any]:
        """``comparison.json`` as it stands. Raises :class:`~plumbline.NotFound` before the experiment was judged."""
        return document(self.folder, _COMPARISON, _COMPARISONS)[1]

    def verdicts(self) -> pd.DataFrame:
        """One row a contrast and figure, the primary one first.

        ``candidate``, ``baseline``, the labels as ``label_...``, ``figure``, ``unit``, ``role`` (``primary`` is
        tested), ``baseline_value`` and ``candidate_value`` in that unit, ``ratio`` (candidate over baseline), its
        interval ``low`` and ``high`` with its true ``level``, ``p``, ``p_adjusted``, ``verdict`` (``better``,
        ``worse``, ``equivalent``, ``no-difference-shown``, ``untestable``, ``none``; missing of a figure that is not
        tested), ``sentence``.
        """
        file = self.folder / _COMPARISON
        rows = []
        for contrast in field(file, self.comparison(), "contrasts"):
            labels = {f"label_{name}": value for name, value in field(file, contrast, "labels").items()}
            for endpoint in field(file, contrast, "endpoints"):
                interval = endpoint.get("interval") or {}
                rows.append(
                    {
                        "candidate": field(file, contrast, "candidate"),
                        "baseline": field(file, contrast, "baseline"),
                        **labels,
                        "figure": field(file, endpoint, "key"),
                        "unit": field(file, endpoint, "unit"),
                        "role": field(file, endpoint, "role"),
                        "baseline_value": field(file, endpoint, "baseline"),
                        "candidate_value": field(file, endpoint, "candidate"),
                        "ratio": endpoint.get("ratio"),
                        "low": interval.get("low"),
                        "high": interval.get("high"),
                        "level": interval.get("level"),
                        "p": endpoint.get("p"),
                        "p_adjusted": endpoint.get("p_adjusted"),
                        "verdict": endpoint.get("verdict"),
                        "sentence": field(file, contrast, "sentence"),
                    }
                )
        return pd.DataFrame(rows)

    def pairs(self) -> pd.DataFrame:
        """The primary figure of every round: ``candidate``, the labels as ``label_...``, ``round``, ``baseline_value``,
        ``candidate_value`` and ``ratio``."""
        file = self.folder / _COMPARISON
        rows = []
        for contrast in field(file, self.comparison(), "contrasts"):
            labels = {f"label_{name}": value for name, value in field(file, contrast, "labels").items()}
            for endpoint in field(file, contrast, "endpoints")[:1]:
                for block in field(file, endpoint, "blocks"):
                    baseline, candidate = block.get("baseline"), block.get("candidate")
                    rows.append(
                        {
                            "candidate": contrast["candidate"],
                            **labels,
                            "round": field(file, block, "round"),
                            "baseline_value": baseline,
                            "candidate_value": candidate,
                            "ratio": candidate / baseline if baseline and candidate else None,
                        }
                    )
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"<Experiment {self.folder.name}: {', '.join(self.variants)}>"
