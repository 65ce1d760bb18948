"""What each kind of machine keeps of plain speed, from a fleet's dataset, with DuckDB.

    cryptbench fleet collect DIR --output dataset
    python3 fleet_with_duckdb.py dataset
"""

import sys

import duckdb

QUERY = """
    select cpu_model, workload, arm, count(distinct node), exp(avg(ln(kept_ratio)))
    from read_parquet($1, hive_partitioning = true)
    where kept_ratio is not null and not cached
    group by all order by all
"""

for row in duckdb.execute(QUERY, [sys.argv[1] + "/cells/**/*.parquet"]).fetchall():
    print(*row, sep="\t")
