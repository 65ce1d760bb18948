"""What each arm keeps of plain speed, from the raw trials of a record, with polars.

    cryptbench report RUN --format csv --output trials.csv
    python3 with_polars.py record.json trials.csv
"""

import json
import sys

import polars as pl


def from_json(path):
    """The measured trials and the identifier of plain storage."""
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    columns = ["workload", "arm", "block", "ios", "elapsed_s"]
    rows = [{c: trial[c] for c in columns} for trial in record["trials"]]
    # The first trials are discarded ones without a block: all rows are read before a column's type is chosen.
    trials = pl.DataFrame(rows, infer_schema_length=None)
    trials = trials.filter(pl.col("block").is_not_null())
    trials = trials.with_columns(requests_per_s=pl.col("ios") / pl.col("elapsed_s"))
    plain = next(arm["id"] for arm in record["plan"]["arms"] if arm["role"] == "plain")
    return trials, plain


def from_csv(path):
    """The same trials, without the discarded ones."""
    trials = pl.read_csv(path, infer_schema_length=None)
    plain = trials.filter(pl.col("role") == "plain")["arm"][0]
    return trials, plain


def kept(trials, plain):
    """exp(mean of ln(arm / plain)) over the blocks in which both ran, for each workload and arm."""
    rates = trials.select("workload", "block", "arm", "requests_per_s")
    base = rates.filter(pl.col("arm") == plain).drop("arm")
    pairs = rates.filter(pl.col("arm") != plain).join(base, on=["workload", "block"], suffix="_plain")
    ratio = (pl.col("requests_per_s") / pl.col("requests_per_s_plain")).log().mean().exp()
    return pairs.group_by("workload", "arm").agg(kept=ratio).sort("workload", "arm")


a = kept(*from_json(sys.argv[1]))
b = kept(*from_csv(sys.argv[2]))
assert a.select("workload", "arm").equals(b.select("workload", "arm"))
assert ((a["kept"] - b["kept"]).abs() < 1e-9).all()
for workload, arm, ratio in b.iter_rows():
    print(workload, arm, ratio, sep="\t")
