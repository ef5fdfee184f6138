"""Reads what ``plumb`` leaves behind: folders of runs and of experiments.

Times are integer nanoseconds and sizes bytes, as in the files; a column says its unit in its name. What was not
measured is missing (``None``, ``NaN``), never zero. A folder that is broken raises :class:`BrokenFolder` with the file
and what is wrong; nothing is guessed.

>>> import plumbline
>>> runs = plumbline.read_runs("plumb-runs")          # a frame, one row a result
>>> run = plumbline.Run("plumb-runs/2026-11-21T083048Z-net-ping")
>>> run.results[0].response.quantile(0.99)            # nanoseconds, as plumb says it
>>> run.intervals("response")                         # a frame over time
>>> plumbline.Experiment("plumb-runs/nagle").verdicts()
"""

from .errors import BrokenFolder, BrokenHistogram, NotFound, PlumblineError
from .experiment import Experiment
from .histogram import Histogram
from .run import Result, Run, find_runs, read_runs

__all__ = [
    "BrokenFolder",
    "BrokenHistogram",
    "Experiment",
    "Histogram",
    "NotFound",
    "PlumblineError",
    "Result",
    "Run",
    "find_runs",
    "read_runs",
]
__version__ = "0.1.0"
