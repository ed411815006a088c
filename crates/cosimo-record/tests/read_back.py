"""Reads run.csv, run.arrow, run.parquet and run.mat of a folder with pandas, pyarrow and scipy, and writes tables of
their own.

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
import scipy.io

folder, version = Path(sys.argv[1]), sys.argv[2]

text = pd.read_csv(folder / "run.csv", float_precision="round_trip")
assert len(text) > 1000 and text.columns[0] == "time", text

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

# A trajectory as Dymola's and OpenModelica's tools see it.
mat = scipy.io.loadmat(folder / "run.mat", chars_as_strings=False)
words = lambda matrix: ["".join(column).rstrip() for column in matrix]
assert words(mat["Aclass"]) == ["Atrajectory", "1.1", "", "binTrans"], mat["Aclass"]
assert words(mat["name"].T) == list(text.columns)
units = dict(zip(words(mat["name"].T), words(mat["description"].T)))
assert units["time"] == "[s]" and units["bond.strut.residual_power"] == "[W]", units
assert mat["dataInfo"].shape == (4, len(text.columns)) and mat["dataInfo"].dtype == np.int32
assert mat["dataInfo"][:, 0].tolist() == [0, 1, 0, -1] and mat["dataInfo"][:, 3].tolist() == [2, 4, 0, -1]
assert mat["data_1"].tolist() == [[text["time"].iloc[0], text["time"].iloc[-1]]]
assert np.array_equal(mat["data_2"].T.copy().view(np.uint64), text.to_numpy().view(np.uint64))

# The other way round, with a constant, an alias of other sign, a unit to display and single precision.
normal = lambda texts: np.array([list(text.ljust(20)) for text in texts])
scipy.io.savemat(
    folder / "normal.mat",
    {
        "Aclass": normal(["Atrajectory", "1.1", "", "binNormal"]),
        "name": normal(["Time", "x", "minus x", "k"]),
        "description": normal(["Time in [s]", "angle [rad|deg]", "the same", "a constant [N/m]"]),
        "dataInfo": np.array([[0, 1, 0, -1], [2, 2, 0, -1], [2, -2, 0, -1], [1, 2, 0, 0]], dtype=np.int32),
        "data_1": np.array([[0.0, 7.5], [1.0, 7.5]]),
        "data_2": np.array([[0.0, 1.0], [0.5, 2.0], [1.0, 4.0]], dtype=np.float32),
    },
    format="4",
)
scipy.io.savemat(folder / "five.mat", {"data_2": np.zeros((2, 2))}, format="5")

# The short ways that people use.
assert pd.read_parquet(folder / "run.parquet").equals(text)
assert pd.read_feather(folder / "run.arrow").equals(text)
one = pd.read_parquet(folder / "run.parquet", columns=["time", "chassis.F"])
assert one.equals(text[["time", "chassis.F"]])

# As the file says it was written.
group = pq.ParquetFile(folder / "run.parquet").metadata.row_group(0)
for at in range(group.num_columns):
    column = group.column(at)
    assert column.compression in ("LZ4", "LZ4_RAW", "ZSTD") and "BYTE_STREAM_SPLIT" in column.encodings, column
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
