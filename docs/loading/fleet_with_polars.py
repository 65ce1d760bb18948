"""What each kind of machine keeps of plain speed, from a fleet's dataset, with polars.

    cryptbench fleet collect DIR --output dataset
    python3 fleet_with_polars.py dataset
"""

import sys

import polars as pl

cells = pl.scan_parquet(sys.argv[1] + "/cells/**/*.parquet", hive_partitioning=True)
cells = cells.filter(pl.col("kept_ratio").is_not_null() & ~pl.col("cached"))
kind = ["cpu_model", "workload", "arm"]
kept = pl.col("kept_ratio").log().mean().exp()
for row in cells.group_by(kind).agg(pl.col("node").n_unique(), kept).sort(kind).collect().iter_rows():
    print(*row, sep="\t")
