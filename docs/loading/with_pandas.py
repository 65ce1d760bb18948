"""What each arm keeps of plain speed, from the raw trials of a record, with pandas.

    cryptbench report RUN --format csv --output trials.csv
    python3 with_pandas.py record.json trials.csv
"""

import json
import sys

import numpy as np
import pandas as pd


def from_json(path):
    """The measured trials; `plan` and `machine` beside them say what they are."""
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    trials = pd.json_normalize(record["trials"])
    trials = trials[trials["block"].notna()]
    trials["requests_per_s"] = trials["ios"] / trials["elapsed_s"]
    plain = next(arm["id"] for arm in record["plan"]["arms"] if arm["role"] == "plain")
    return trials, plain


def from_csv(path):
    """The same trials: discarded ones are not in the CSV, and the rate is a column."""
    trials = pd.read_csv(path, keep_default_na=False, na_values=[""])
    plain = trials.loc[trials["role"] == "plain", "arm"].iloc[0]
    return trials, plain


def kept(trials, plain):
    """exp(mean of ln(arm / plain)) over the blocks in which both ran, for each workload and arm."""
    rates = trials.pivot(index=["workload", "block"], columns="arm", values="requests_per_s")
    logs = np.log(rates.div(rates[plain], axis=0)).drop(columns=plain)
    return np.exp(logs.groupby("workload").mean()).stack()


a = kept(*from_json(sys.argv[1]))
b = kept(*from_csv(sys.argv[2]))
pd.testing.assert_series_equal(a, b)
for (workload, arm), ratio in b.items():
    print(workload, arm, ratio, sep="\t")
