"""What can be wrong with a folder."""

from __future__ import annotations

from pathlib import Path


class PlumblineError(Exception):
    """Anything that this package raises of its own."""


class NotFound(PlumblineError, FileNotFoundError):
    """There is no run or experiment where one was named."""

    def __init__(self, path: Path, wanted: str) -> None:
        super().__init__(f"no {wanted} at {path}: name a folder with a {wanted} in it, or the file itself")
        self.path = path


class BrokenFolder(PlumblineError, ValueError):
    """A file is there and is not what plumb wrote: it was cut, altered, or is of another version."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class BrokenHistogram(PlumblineError, ValueError):
    """A text is no encoded histogram of plumb: it was cut, altered, or is of another layout."""
