"""What each arm keeps of plain speed, from the raw trials of a record, with pandas.

    cryptbench report RUN --format csv --output trials.csv
    python3 with_pandas.py record.json trials.csv
"""

import json
import sys

import numpy as np
import pandas as pd

PLAIN = ["plain", "plain-again"]


def from_json(path):
    """The measured trials; `plan` and `machine` beside them say what they are."""
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    trials = pd.json_normalize(record["trials"])
    trials = trials[trials["block"].notna()]
    trials["requests_per_s"] = trials["ios"] / trials["elapsed_s"]
    arms = record["plan"]["arms"]
    return trials, [arm["id"] for role in PLAIN for arm in arms if arm["role"] == role]


def from_csv(path):
    """The same trials: discarded ones are not in the CSV, and the rate is a column."""
    trials = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return trials, [arm for role in PLAIN for arm in trials.loc[trials["role"] == role, "arm"].unique()]


def kept(trials, plain):
    """exp(mean of ln(arm / plain)) over the blocks in which both ran, for each workload and arm.

    Arms are held against the geometric mean of plain and plain, repeated; the latter against plain.
    """
    logs = np.log(trials.pivot(index=["workload", "block"], columns="arm", values="requests_per_s"))
    ratios = logs.sub(logs[plain].mean(axis=1), axis=0)
    for again in plain[1:]:
        ratios[again] = logs[again] - logs[plain[0]]
    return np.exp(ratios.drop(columns=plain[0]).groupby("workload").mean()).stack()


a = kept(*from_json(sys.argv[1]))
b = kept(*from_csv(sys.argv[2]))
pd.testing.assert_series_equal(a, b)
for (workload, arm), ratio in b.items():
    print(workload, arm, ratio, sep="\t")
