"""Writes paired_t.txt: what SciPy says about random pairs, for statistics_test.cpp. Run: python3 paired_t.py"""
import numpy as np
from scipy import stats

rng = np.random.default_rng(7)
with open("paired_t.txt", "w") as out:
    print("# n, a (n), b (n), t, p (a greater than b), standard error of a, geometric mean of a", file=out)
    for n in (2, 3, 3, 5, 10, 30):
        for shift in (0.0, 0.5, 3.0, -1.0):
            a = np.exp(rng.normal(shift, 1, n))
            b = np.exp(rng.normal(0, 1, n))
            t, p = stats.ttest_rel(a, b, alternative="greater")
            row = [n, *a, *b, t, p, stats.sem(a), stats.gmean(a)]
            print(*(repr(float(v)) if i else n for i, v in enumerate(row)), file=out)
