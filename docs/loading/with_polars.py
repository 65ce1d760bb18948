"""What each arm keeps of plain speed, from the raw trials of a record, with polars.

    cryptbench report RUN --format csv --output trials.csv
    python3 with_polars.py record.json trials.csv
"""

import json
import sys

import polars as pl

PLAIN = ["plain", "plain-again"]


def from_json(path):
    """The measured trials and the identifiers of plain storage and its repetition."""
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    columns = ["workload", "arm", "block", "ios", "elapsed_s"]
    rows = [{c: trial[c] for c in columns} for trial in record["trials"]]
    # The first trials are discarded ones without a block: all rows are read before a column's type is chosen.
    trials = pl.DataFrame(rows, infer_schema_length=None)
    trials = trials.filter(pl.col("block").is_not_null())
    trials = trials.with_columns(requests_per_s=pl.col("ios") / pl.col("elapsed_s"))
    arms = record["plan"]["arms"]
    return trials, [arm["id"] for role in PLAIN for arm in arms if arm["role"] == role]


def from_csv(path):
    """The same trials, without the discarded ones."""
    trials = pl.read_csv(path, infer_schema_length=None)
    return trials, [arm for role in PLAIN for arm in trials.filter(pl.col("role") == role)["arm"].unique()]


def kept(trials, plain):
    """exp(mean of ln(arm / plain)) over the blocks in which both ran, for each workload and arm.

    Arms are held against the geometric mean of plain and plain, repeated; the latter against plain.
    """
    block = ["workload", "block"]
    logs = trials.select(*block, "arm", log=pl.col("requests_per_s").log())
    mean = logs.filter(pl.col("arm").is_in(plain)).group_by(block).agg(base=pl.col("log").mean())
    first = logs.filter(pl.col("arm") == plain[0]).select(*block, base="log")
    others = logs.filter(~pl.col("arm").is_in(plain)).join(mean, on=block)
    again = logs.filter(pl.col("arm").is_in(plain[1:])).join(first, on=block)
    ratio = (pl.col("log") - pl.col("base")).mean().exp()
    pairs = pl.concat([others, again])
    return pairs.group_by("workload", "arm").agg(kept=ratio).sort("workload", "arm")


a = kept(*from_json(sys.argv[1]))
b = kept(*from_csv(sys.argv[2]))
assert a.select("workload", "arm").equals(b.select("workload", "arm"))
assert ((a["kept"] - b["kept"]).abs() < 1e-9).all()
for workload, arm, ratio in b.iter_rows():
    print(workload, arm, ratio, sep="\t")
