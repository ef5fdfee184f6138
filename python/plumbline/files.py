"""Files as plumb writes them: read whole, and held against what they say of themselves."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from .errors import BrokenFolder, NotFound

_SUMS = "SHA256SUMS"


def document(path: Path, name: str, schemas: tuple[str, ...]) -> tuple[Path, dict[str, Any]]:
    """The JSON document ``name`` of the folder ``path``, or at ``path``, of one of ``schemas``; with its own path."""
    file = path / name if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(path, name) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenFolder(file, f"it cannot be read: {error}") from error
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise BrokenFolder(file, f"no JSON, line {error.lineno}, column {error.colno}: {error.msg}") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in schemas:
        raise BrokenFolder(file, f"it is `{schema}`, and this package reads {', '.join(schemas)}")
    verify(file)
    return file, found


def verify(file: Path) -> None:
    """Refuses a file that is not the one whose digest stands beside it. Without digests it is taken as it is."""
    sums = file.parent / _SUMS
    try:
        lines = sums.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenFolder(sums, f"it cannot be read: {error}") from error
    for line in lines:
        digest, _, name = line.partition("  ")
        if name == file.name and hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise BrokenFolder(file, "it is not what was written when it ended: SHA256SUMS has another digest")


def field(file: Path, of: Any, name: str) -> Any:
    """What ``of``, a part of the document in ``file``, has under ``name``."""
    if not isinstance(of, dict) or name not in of:
        raise BrokenFolder(file, f"the field `{name}` is missing")
    return of[name]
