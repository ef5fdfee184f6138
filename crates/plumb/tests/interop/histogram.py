"""Decodes one encoded histogram with HdrHistogram's own decoder; prints its figures as JSON."""

import json
import sys

from hdrh.histogram import HdrHistogram

whole = HdrHistogram.decode(sys.argv[1])
quantiles = {"p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}
figures = {name: whole.get_value_at_percentile(share) for name, share in quantiles.items()}
json.dump({"count": whole.get_total_count(), **figures}, sys.stdout)
