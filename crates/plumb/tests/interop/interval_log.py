"""Reads an interval log with HdrHistogram's own reader; prints what it found as JSON."""

import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader


def new_histogram():
    return HdrHistogram(1, 3_600_000_000_000, 3)


reader = HistogramLogReader(sys.argv[1], new_histogram())
series = {}
lines = 0
while (interval := reader.get_next_interval_histogram()) is not None:
    lines += 1
    name = interval.get_tag().split(";")[0]
    series.setdefault(name, new_histogram()).add(interval)

found = {
    name: {
        "count": whole.get_total_count(),
        "p50": whole.get_value_at_percentile(50),
        "p99": whole.get_value_at_percentile(99),
        "low": whole.get_lowest_equivalent_value(whole.get_value_at_percentile(50)),
        "high": whole.get_highest_equivalent_value(whole.get_value_at_percentile(50)),
    }
    for name, whole in series.items()
}
json.dump({"lines": lines, "start": reader.get_start_time_sec(), "series": found}, sys.stdout)
