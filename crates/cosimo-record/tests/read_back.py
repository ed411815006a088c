"""Reads run.csv, run.arrow and run.parquet of a folder with pandas and pyarrow, and writes tables of their own.

usage: read_back.py FOLDER VERSION
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq

folder, version = Path(sys.argv[1]), sys.argv[2]

text = pd.read_csv(folder / "run.csv", float_precision="round_trip")
assert len(text) > 3000 and text.columns[0] == "time", text

with pa.ipc.open_file(folder / "run.arrow") as reader:
    arrow = reader.read_all()
    schema = reader.schema
parquet = pq.read_table(folder / "run.parquet")

for name, table in [("arrow", arrow), ("parquet", parquet)]:
    table.validate(full=True)
    assert table.schema.metadata[b"cosimo.version"] == version.encode(), (name, table.schema.metadata)
    for field in table.schema:
        assert field.type == pa.float64() and not field.nullable, (name, field)
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in table.schema}
    assert units["time"] == "s" and units["bond.strut.residual_power"] == "W", (name, units)
    frame = table.to_pandas()
    assert list(frame.columns) == list(text.columns), name
    assert np.array_equal(frame.to_numpy().view(np.uint64), text.to_numpy().view(np.uint64)), name

# The short ways that people use.
assert pd.read_parquet(folder / "run.parquet").equals(text)
assert pd.read_feather(folder / "run.arrow").equals(text)
one = pd.read_parquet(folder / "run.parquet", columns=["time", "chassis.F"])
assert one.equals(text[["time", "chassis.F"]])

# As the file says it was written.
group = pq.ParquetFile(folder / "run.parquet").metadata.row_group(0)
for at in range(group.num_columns):
    column = group.column(at)
    assert column.compression == "ZSTD" and "BYTE_STREAM_SPLIT" in column.encodings, column
    assert not column.has_dictionary_page, column

text.to_csv(folder / "pandas.csv", index=False)
text.to_feather(folder / "pandas.feather")
text.to_parquet(folder / "pandas.parquet", index=False)
with pa.ipc.new_file(folder / "pyarrow.arrow", arrow.schema) as writer:
    writer.write_table(arrow, max_chunksize=1000)
pd.DataFrame(
    {
        "count": np.array([1, 2, 3], dtype=np.int64),
        "single": np.array([0.5, -0.5, 0.25], dtype=np.float32),
        "gaps": pd.array([1, None, 3], dtype="Int32"),
    }
).to_parquet(folder / "mixed.parquet", index=False)
pd.DataFrame({"name": ["a", "b"]}).to_parquet(folder / "words.parquet", index=False)
