"""Checks tables of percentiles against HdrHistogram's own counts of the same histogram.

Arguments: a file with an encoded histogram (V2, base64), and the table made of it. Prints the lines
that are right, those that are not, and mean and deviation as HdrHistogram has them."""

import json
import sys

from hdrh.histogram import HdrHistogram

UNIT = 1_000.0

with open(sys.argv[1], encoding="ascii") as file:
    histogram = HdrHistogram.decode(file.read().strip())
counts = [
    (histogram.get_highest_equivalent_value(item.value_iterated_to), item.count_at_value_iterated_to)
    for item in histogram.get_recorded_iterator()
]
total = histogram.get_total_count()


def at(level):
    """The highest value of the first bucket with which the share `level` is reached."""
    seen = 0
    for value, count in counts:
        seen += count
        if seen / total >= level - 1e-15:
            break
    return value, seen


right, wrong = 0, []
with open(sys.argv[2], encoding="ascii") as file:
    lines = [line.rstrip("\n") for line in file]
head = "%12s %14s %10s %14s" % ("Value", "Percentile", "TotalCount", "1/(1-Percentile)")
if lines[:2] != [head, ""]:
    wrong.append(lines[0])
for line in lines[2:]:
    if line.startswith("#"):
        continue
    level = float(line.split()[1])
    value, seen = at(level)
    expected = "%12.3f %2.12f %10d" % (value / UNIT, level, seen)
    if level < 1:
        expected += " %14.2f" % (1 / (1 - level))
    if line == expected:
        right += 1
    else:
        wrong.append(line + " is not " + expected)
found = {
    "right": right,
    "wrong": wrong,
    "count": total,
    "mean": histogram.get_mean_value() / UNIT,
    "deviation": histogram.get_stddev() / UNIT,
}
json.dump(found, sys.stdout)
