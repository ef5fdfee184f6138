"""Writes statistics.json: what scipy says of random samples.

    pip install scipy && python3 make.py > statistics.json
"""

import itertools
import json
import math

import numpy as np
import scipy
from scipy import stats


def signed_rank(random):
    for n in (1, 5, 6, 8, 10, 12, 15, 20, 25, 40, 50):
        effects = random.normal(0.3, 1, n)
        found = stats.wilcoxon(effects, method="exact", alternative="two-sided")
        above = np.abs(effects).argsort().argsort()[effects > 0].sum() + (effects > 0).sum()
        yield {"effects": effects.tolist(), "statistic": float(above), "p": found.pvalue}


def signed_rank_tied(random):
    exact = stats.PermutationMethod(n_resamples=np.inf)
    for n in (6, 8, 10, 12):
        effects = random.integers(-4, 7, n).astype(float)
        kept = effects[effects != 0]
        ranks = stats.rankdata(np.abs(kept))
        found = stats.wilcoxon(kept, method=exact)
        yield {
            "effects": effects.tolist(),
            "statistic": float(ranks[kept > 0].sum()),
            "p": found.pvalue,
        }


def intervals(random):
    """By definition: every sign counted, every mean of two formed."""
    for n in (6, 8, 10, 12, 15):
        effects = random.normal(0.02, 0.03, n)
        sums = np.zeros(n * (n + 1) // 2 + 1)
        for signs in itertools.product((0, 1), repeat=n):
            sums[sum(rank * sign for rank, sign in enumerate(signs, 1))] += 1
        below = np.cumsum(sums) / 2**n
        means = sorted((x + y) / 2 for i, x in enumerate(effects) for y in effects[i:])
        place = max(k for k in range(len(means)) if 1 - 2 * below[k] >= 0.95)
        yield {
            "effects": effects.tolist(),
            "estimate": float(np.median(means)),
            "low": means[place],
            "high": means[-1 - place],
            "level": 1 - 2 * below[place],
        }


def drifts(random):
    for n in (5, 10, 20, 40):
        series = 0.1 * np.arange(n) + random.normal(0, 1, n)
        yield {
            "series": series.tolist(),
            "correlation": stats.spearmanr(np.arange(n), series).statistic,
            "change": stats.theilslopes(series).slope * (n - 1),
        }


def main():
    random = np.random.default_rng(20)
    makers = (signed_rank, signed_rank_tied, intervals, drifts)
    vectors = {maker.__name__: list(maker(random)) for maker in makers}
    assert all(math.isfinite(v["p"]) for v in vectors["signed_rank"])
    print(json.dumps({"scipy": scipy.__version__, **vectors}, indent=1))


if __name__ == "__main__":
    main()
