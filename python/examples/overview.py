"""Shows what lies in a folder of runs: the runs, the slowest of them over time, and the verdicts of experiments.

    python overview.py plumb-runs
"""

import sys
from pathlib import Path

import plumbline


def main(folder: str) -> None:
    runs = plumbline.read_runs(folder, skip_broken=True)
    for problem in runs.attrs["broken"]:
        print(f"left out: {problem}", file=sys.stderr)
    if runs.empty:
        sys.exit(f"no runs in {folder}")
    columns = ["run", "layer", "verb", "target", "operations", "throughput_per_s", "response_p50_ns", "response_p99_ns"]
    # a figure that is not valid is no figure
    print(runs[runs["latency_valid"]][columns].to_string(index=False))

    valid = runs[runs["latency_valid"] & runs["response_p99_ns"].notna()]
    if not valid.empty:
        slowest = plumbline.Run(valid.loc[valid["response_p99_ns"].idxmax(), "folder"])
        times = slowest.intervals("response")
        print(f"\n{slowest}")
        print(times[["start_s", "rate_per_s", "p50_ns", "p99_ns", "max_ns"]].to_string(index=False))

    for order in sorted(Path(folder).glob("**/order.json")):
        experiment = plumbline.Experiment(order.parent)
        print(f"\n{experiment}")
        try:
            verdicts = experiment.verdicts()
        except plumbline.NotFound:
            print("  not compared: it is under way, or was broken off")
            continue
        primary = verdicts[verdicts["role"] == "primary"] if not verdicts.empty else verdicts
        for row in primary.itertuples():
            print(f"  {row.verdict}: {row.sentence}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "plumb-runs")
