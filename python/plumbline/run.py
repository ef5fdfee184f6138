"""Runs: what one measurement left behind."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Iterator, Optional, Union

import pandas as pd

from .errors import BrokenFolder, BrokenHistogram, PlumblineError
from .files import document, field, verify
from .histogram import Histogram

RECORD = "run.json"
ORDER = "order.json"
SCHEMA = "plumb.run/1"
_LOG = "intervals.hlog"
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
# Levels below a folder that is named, and below an experiment.
_DEPTH_MAX = 4
_BLOCKS_DEPTH = 2

PathLike = Union[str, "os.PathLike[str]"]


class Result:
    """One point of a run: what came of it under some labels."""

    def __init__(self, file: Path, record: dict[str, Any]) -> None:
        self._file = file
        self.record: dict[str, Any] = record
        """The result as ``run.json`` has it."""
        self.labels: dict[str, str] = dict(field(file, record, "labels"))
        """What distinguishes it: ``size``, ``connections``, ..."""
        self.operations: int = field(file, record, "operations")
        """Correct answers."""
        self.failures: dict[str, int] = dict(field(file, record, "failures"))
        """Failed operations by kind."""
        self.throughput_per_s: float = field(file, record, "throughput_per_s")
        """Correct answers a second."""
        validity = field(file, record, "validity")
        self.valid: bool = field(file, validity, "valid")
        """False when no figure of it may be used."""
        self.latency_valid: bool = field(file, validity, "latency_valid")
        """False when no time of it may be used."""
        self.reasons: list[str] = [str(field(file, it, "text")) for it in field(file, validity, "reasons")]
        """What was found, the gravest first."""

    def distribution(self, name: str) -> Optional[Histogram]:
        """The histogram of ``name``, such as ``service_ns`` or ``first_byte_ns``: nanoseconds; ``None`` when it was not
        measured."""
        found = self.record.get(name)
        if found is None:
            return None
        try:
            histogram = Histogram.decode(
                field(self._file, found, "histogram"), field(self._file, found, "min"), field(self._file, found, "max")
            )
        except BrokenHistogram as error:
            raise BrokenFolder(self._file, f"{name}: {error}") from error
        if histogram.count != field(self._file, found, "count"):
            raise BrokenFolder(self._file, f"{name}: {histogram.count} values, and a count of {found['count']}")
        return histogram

    @property
    def response(self) -> Optional[Histogram]:
        """Response times, from the due time to the last byte, nanoseconds; ``None`` when nothing succeeded."""
        return self.distribution("response_ns")

    def row(self) -> dict[str, Any]:
        """Its figures as a row: labels, counts, throughput, and quantiles of the response times in nanoseconds."""
        row: dict[str, Any] = {f"label_{name}": value for name, value in self.labels.items()}
        row.update(
            operations=self.operations,
            failed=sum(self.failures.values()),
            dropped=self.record.get("dropped"),
            duration_ns=self.record.get("duration_ns"),
            throughput_per_s=self.throughput_per_s,
            valid=self.valid,
            latency_valid=self.latency_valid,
        )
        times = self.record.get("response_ns") or {}
        row.update({f"response_{name}_ns": times.get(name) for name in (*_QUANTILES, "min", "max", "mean")})
        return row


class Run:
    """The folder of a run.

    ``path`` is the folder or its ``run.json``. Raises :class:`~plumbline.NotFound` and
    :class:`~plumbline.BrokenFolder`.
    """

    def __init__(self, path: PathLike) -> None:
        self.file, self.record = document(Path(path), RECORD, (SCHEMA,))
        self.folder: Path = self.file.parent
        """Where it lies."""
        plan = field(self.file, self.record, "plan")
        self.layer: str = field(self.file, plan, "layer")
        """For example ``net``."""
        self.verb: str = field(self.file, plan, "verb")
        """For example ``ping``."""
        self.command: list[str] = list(field(self.file, plan, "command"))
        """The words of the command line."""
        self.options: dict[str, Any] = dict(field(self.file, plan, "options"))
        """Every option with the value in force."""
        self.target: str = field(self.file, field(self.file, self.record, "target"), "address")
        """As the user named it."""
        self.status: str = field(self.file, self.record, "status")
        """``complete``, ``interrupted``, ``broken`` or ``running``."""
        self.valid: bool = field(self.file, field(self.file, self.record, "validity"), "valid")
        """False when not every figure may be used."""
        started = field(self.file, self.record, "started")
        try:
            self.started: pd.Timestamp = pd.Timestamp(started)
            """When it began, UTC."""
        except ValueError as error:
            raise BrokenFolder(self.file, f"`{started}` is no time") from error
        self.results: list[Result] = [Result(self.file, it) for it in field(self.file, self.record, "results")]
        """One a point of the plan, in the order in which they were measured."""

    def frame(self) -> pd.DataFrame:
        """One row a result: ``run``, ``started``, ``layer``, ``verb``, ``target``, ``status``, the labels as
        ``label_...``, counts, ``throughput_per_s`` and quantiles of the response times in nanoseconds."""
        around = {
            "run": self.folder.name,
            "started": self.started,
            "layer": self.layer,
            "verb": self.verb,
            "target": self.target,
            "status": self.status,
        }
        return typed(pd.DataFrame([{**around, **result.row()} for result in self.results]))

    def intervals(self, series: Optional[str] = None) -> pd.DataFrame:
        """What happened when, from ``intervals.hlog``: one row an interval and series. The steps of a scenario, which have
        a line each there, are one row.

        Columns: ``series`` (``response``, ``service``, ...), the labels as ``label_...``, ``start_s`` and ``length_s``
        (seconds, from the beginning of the run), ``count``, ``rate_per_s``, quantiles (``p50_ns`` ...) and ``max_ns``,
        and ``histogram``. Only ``series`` when it is named. A last line without its end, as an interruption leaves it,
        is left out.
        """
        whole: dict[tuple[str, float], tuple[float, list[Histogram]]] = {}
        for tag, start_s, length_s, histogram in self._log():
            if series in (None, tag.partition(";")[0]):
                whole.setdefault((tag, start_s), (length_s, []))[1].append(histogram)
        rows = []
        for (tag, start_s), (length_s, histograms) in whole.items():
            histogram = Histogram.merged(histograms)
            name, *labels = tag.split(";")
            row: dict[str, Any] = {"series": name}
            row.update((f"label_{key}", value) for key, _, value in (it.partition("=") for it in labels))
            row.update(start_s=start_s, length_s=length_s, count=histogram.count)
            row["rate_per_s"] = histogram.count / length_s if length_s > 0 else None
            row.update((f"{name}_ns", histogram.quantile(q)) for name, q in _QUANTILES.items())
            row.update(max_ns=histogram.maximum, histogram=histogram)
            rows.append(row)
        return typed(pd.DataFrame(rows))

    def _log(self) -> Iterator[tuple[str, float, float, Histogram]]:
        """The lines of the log: tag, start and length in seconds, histogram."""
        path = self.folder / _LOG
        try:
            text = path.read_text(encoding="utf-8")
            verify(path)
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenFolder(path, f"it cannot be read: {error}") from error
        whole, _, _ = text.rpartition("\n")
        for number, line in enumerate(whole.split("\n"), start=1):
            if not line or line[0] in '#"':
                continue
            tag, _, rest = line.partition(",") if line.startswith("Tag=") else ("Tag=", ",", line)
            fields = rest.split(",")
            try:
                start_s, length_s = float(fields[0]), float(fields[1])
                histogram = Histogram.decode(fields[3])
            except BrokenHistogram as error:
                raise BrokenFolder(path, f"line {number}: {error}") from error
            except (ValueError, IndexError) as error:
                raise BrokenFolder(
                    path, f"line {number}: expected [Tag=TAG,]start,length,max,histogram"
                ) from error
            yield tag[len("Tag=") :], start_s, length_s, histogram

    def host(self) -> pd.DataFrame:
        """What the machine that drove the load did meanwhile, from the CSV file beside the record; one row a sample,
        columns as in the file. Empty when it was not watched."""
        return self._samples(self._name().replace("/", "_"))

    def far_host(self) -> pd.DataFrame:
        """The same of the machine behind ``--far-host``. Empty when none was asked for."""
        far = self.record.get("far")
        if far is None:
            return pd.DataFrame()
        # the name that another machine gives itself is made the name of a file
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", str(field(self.file, far, "name")).lstrip(".")) or "far"
        return self._samples(f"{stem}-far" if stem == self._name() else stem)

    def _name(self) -> str:
        return str(field(self.file, field(self.file, self.record, "host"), "name"))

    def _samples(self, stem: str) -> pd.DataFrame:
        path = self.folder / f"{stem}.csv"
        if not path.is_file():
            return pd.DataFrame()
        verify(path)
        try:
            return pd.read_csv(path, comment="#")
        except (ValueError, OSError) as error:
            raise BrokenFolder(path, f"no samples of a machine: {error}") from error

    def __repr__(self) -> str:
        return f"<Run {self.folder.name}: {self.layer} {self.verb} {self.target}, {len(self.results)} results>"


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with whole nanoseconds, which a missing one does not turn into floats."""
    whole = [name for name in frame.columns if name.endswith("_ns")]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def find_runs(path: PathLike) -> Iterator[Path]:
    """The folders of runs at ``path`` and up to four levels below it, in the order of their names, and the blocks of
    the experiments that are found there; links and hidden folders are not followed."""
    yield from _find(Path(path), _DEPTH_MAX)


def _find(path: Path, levels: int) -> Iterator[Path]:
    if (path / ORDER).is_file():
        levels = _BLOCKS_DEPTH  # its blocks belong to it, wherever it lies
    elif (path / RECORD).is_file():
        yield path
        return
    if levels == 0 or not path.is_dir():
        return
    for inner in sorted(path.iterdir()):
        if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
            yield from _find(inner, levels - 1)


def read_runs(path: PathLike, skip_broken: bool = False) -> pd.DataFrame:
    """Every run below ``path`` as one frame, a row a result (see :meth:`Run.frame`), with ``folder``.

    A broken folder raises, unless ``skip_broken`` is true: then it is left out, and the frame's
    ``attrs["broken"]`` says which and why.
    """
    frames, broken = [], []
    for folder in find_runs(path):
        try:
            frame = Run(folder).frame()
        except PlumblineError as error:
            if not skip_broken:
                raise
            broken.append(str(error))
            continue
        frame.insert(0, "folder", str(folder))
        frames.append(frame)
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    whole.attrs["broken"] = broken
    return whole
