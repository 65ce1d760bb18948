"""What each kind of machine keeps of plain speed, from a fleet's dataset, with pandas and pyarrow.

    cryptbench fleet collect DIR --output dataset
    python3 fleet_with_pandas.py dataset
"""

import sys

import numpy as np
import pandas as pd

cells = pd.read_parquet(sys.argv[1] + "/cells")
cells = cells[cells["kept_ratio"].notna() & ~cells["cached"]]
cells["log"] = np.log(cells["kept_ratio"])
kinds = cells.groupby(["cpu_model", "workload", "arm"], observed=True)
for key, machines, log in kinds.agg(machines=("node", "nunique"), log=("log", "mean")).itertuples():
    print(*key, machines, np.exp(log), sep="\t")
