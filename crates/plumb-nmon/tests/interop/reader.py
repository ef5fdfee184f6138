"""Reads an nmon file with pyNmonAnalyzer and prints what it found as JSON."""

import json
import logging
import sys
import tempfile

from pynmonanalyzer import pyNmonParser

warnings = []


class Keep(logging.Handler):
    def emit(self, record):
        warnings.append(record.getMessage())


logging.getLogger().addHandler(Keep())
logging.getLogger().setLevel(logging.WARNING)

with tempfile.TemporaryDirectory() as folder:
    parser = pyNmonParser.pyNmonParser(sys.argv[1], outdir=folder)
    tables = parser.parse()
    parser.output("csv")  # fails when a time cannot be read
json.dump({"tables": tables, "facts": parser.sysInfo, "warnings": warnings}, sys.stdout)
