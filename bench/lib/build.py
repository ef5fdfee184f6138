"""Builds and installs what a bench runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lib.failure import BenchFailure

C_FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread")


def c_program(source: Path, into: Path) -> Path:
    """Compiles one C file with `cc`; the program has the name of the file."""
    into.mkdir(parents=True, exist_ok=True)
    program = into / source.stem
    _must(["cc", *C_FLAGS, "-o", str(program), str(source)])
    return program


def cargo_release(repository: Path) -> None:
    """Builds the release binaries into the target folder of the repository."""
    _must(
        ["cargo", "build", "--release", "--locked"]
        + ["--manifest-path", str(repository / "Cargo.toml")]
        + ["--target-dir", str(repository / "target")]
    )


def package(command: str, name: str) -> None:
    """Installs a package with apt-get unless its command is there."""
    if shutil.which(command) is None:
        try:
            _must(["apt-get", "install", "--yes", "--no-install-recommends", name])
        except BenchFailure as failure:
            hint = f"install {name} by hand, or try `apt-get update`"
            raise BenchFailure(f"{failure}; {hint}") from failure


def _must(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise BenchFailure(f"`{command[0]}` is not installed") from error
    except subprocess.CalledProcessError as error:
        raise BenchFailure(f"`{' '.join(command)}` ended with {error.returncode}") from error
