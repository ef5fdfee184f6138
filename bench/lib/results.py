"""The file a run leaves behind."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path

from lib.verdict import Verdict

FOLDER = Path(__file__).resolve().parents[1] / "results"


@dataclasses.dataclass
class Outcome:
    """What every bench writes beside what it measured; `complete` once it came to its end."""

    machine: dict[str, object]
    options: dict[str, object]
    complete: bool = False


@dataclasses.dataclass
class Judged(Outcome):
    """The same of a bench that judges its figures one by one."""

    targets: list[tuple[str, Verdict]] = dataclasses.field(default_factory=list)

    def judge(self, text: str, holds: bool | None) -> None:
        """Takes note of a target that a figure meets or misses; None where that is not known."""
        known = Verdict.MET if holds else Verdict.MISSED
        self.targets.append((text, Verdict.UNKNOWN if holds is None else known))


def write(bench: str, document: object) -> Path:
    """Writes `<UTC>-<bench>.json`; dataclasses become objects."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{bench}.json"
    path.write_text(json.dumps(document, indent=1, default=_plain) + "\n")
    return path


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"cannot write a {type(value).__name__}")
