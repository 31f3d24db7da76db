"""Tables of nodes of 32 kinds: the types and features that they hold, written by hand, or one line."""

import gzip
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import banditplex as bx
from tests.refusals import refuses

EDGES = "source,target,layer\n1,2,work\n2,3,home\n"
TEXT = "id,type,age\n3,user,50\n1,user,30\n2,admin,40\n"
TYPES, AGES = ["user", "admin", "user"], [[30], [40], [50]]
LARGE = 2**53 + 1  # the first integer that no float holds
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def parquet(**columns):
    return lambda path: pq.write_table(pa.table({"id": [3, 1, 2], **columns}), path)


def encoded(encoding, text=TEXT):
    return lambda path: path.write_bytes(text.encode(encoding))


def sheet(path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"id": [3, 1, 2], "type": ["user", "user", "admin"], "age": [50, 30, 40]}).to_excel(path, index=False)


PLAIN = (TYPES, AGES)
READ = {
    "commas": ("a.csv", encoded("utf-8"), PLAIN),
    "semicolons": ("a.csv", encoded("utf-8", TEXT.replace(",", ";")), PLAIN),
    "tabs": ("a.tsv", encoded("utf-8", TEXT.replace(",", "\t")), PLAIN),
    "decimal commas": ("a.csv", encoded("utf-8", "id;age\n3;5,5\n1;3\n2;4,25\n"), (None, [[3], [4.25], [5.5]])),
    "gzip": ("a.csv.gz", lambda path: path.write_bytes(gzip.compress(TEXT.encode())), PLAIN),
    "Excel": ("a.xlsx", sheet, PLAIN),
    "Parquet": ("a.parquet", parquet(type=["user", "user", "admin"], age=[50, 30, 40]), PLAIN),
    "Parquet, a dictionary": (
        "a.parquet",
        parquet(type=pa.array(["user", "user", "admin"]).dictionary_encode(), age=pa.array([50, 30, 40], pa.uint8())),
        PLAIN,
    ),
    "Parquet, booleans": ("a.parquet", parquet(old=[True, False, False]), (None, [[0], [0], [1]])),
    "Parquet, dates": ("a.parquet", parquet(born=[date(1990, 1, 1)] * 3, age=[50, 30, 40]), (None, AGES)),
    "Parquet, decimals": ("a.parquet", parquet(pay=[Decimal("1.5")] * 3, age=[50, 30, 40]), (None, AGES)),
    "Parquet, lists": ("a.parquet", parquet(tags=[[1], [2], [3]], age=[50, 30, 40]), (None, AGES)),
    "a byte order mark": ("a.csv", encoded("utf-8-sig"), PLAIN),
    "UTF-16": ("a.csv", encoded("utf-16"), PLAIN),
    "Windows": ("a.csv", encoded("cp1252", TEXT.replace("\n", "\r\n").replace("admin", "Präses")),
                (["user", "Präses", "user"], AGES)),
    "old line ends": ("a.csv", encoded("utf-8", TEXT.replace("\n", "\r")), PLAIN),
    "quotes": ("a.csv", encoded("utf-8", TEXT.replace("admin", '"a, ""b"""')), (["user", 'a, "b"', "user"], AGES)),
    "ids as decimals": ("a.csv", encoded("utf-8", "id,age\n3.0,50\n1.0,30\n2.0,40\n"), (None, AGES)),
    "ids alone": ("a.csv", encoded("utf-8", "id\n3\n1\n2\n"), (None, None)),
    "no usual header": ("a.csv", encoded("utf-8", "person,age\n3,50\n1,30\n2,40\n"), (None, AGES)),
    "an empty column": ("a.csv", encoded("utf-8", "id,x,age\n3,,50\n1,,30\n2,,40\n"), (None, AGES)),
    "300 columns": (
        "a.csv",
        encoded("utf-8", "id," + ",".join(f"c{n}" for n in range(300)) + "\n" +
                "".join(f"{u}" + f",{u}" * 300 + "\n" for u in (3, 1, 2))),
        (None, [[1] * 300, [2] * 300, [3] * 300]),
    ),
}  # fmt: skip
REFUSED = {
    "a header alone": ("a.csv", encoded("utf-8", "id,age\n"), ["empty"]),
    "a node twice": ("a.csv", encoded("utf-8", TEXT + "3,user,1\n"), ["3"]),
    "a node that is missing": ("a.csv", encoded("utf-8", "id,age\n3,1\n1,1\n"), ["2"]),
    "an empty cell": ("a.csv", encoded("utf-8", "id,age\n3,50\n1,\n2,40\n"), ["age", "row 2"]),
    "an infinite feature": ("a.csv", encoded("utf-8", "id,age\n3,50\n1,inf\n2,40\n"), ["age", "inf", "row 2"]),
    "half an id": ("a.csv", encoded("utf-8", "id,age\n3,50\n1.5,30\n1,30\n2,40\n"), ["1.5"]),
    "an infinite id": ("a.csv", encoded("utf-8", "id,age\n3,50\ninf,30\n1,30\n2,40\n"), ["inf"]),
    "ids that are words": ("a.csv", encoded("utf-8", "id,age\nann,50\n1,30\n2,40\n"), ["an integer", "'ann'", "row 1"]),
    "a row that is too long": ("a.csv", encoded("utf-8", TEXT + "4,user,1,1,1\n"), []),
    "no table at all": ("a.parquet", encoded("utf-8"), []),
}


@pytest.mark.parametrize("kind", READ)
def test_a_table_of_nodes_is_read(kind, tmp_path):
    name, write, (types, features) = READ[kind]
    (tmp_path / "net.csv").write_text(EDGES)
    write(tmp_path / name)
    mx = bx.read(tmp_path / "net.csv", node_table=tmp_path / name)
    assert mx.node_names.tolist() == [1, 2, 3]
    assert (None if mx.node_types is None else mx.node_types.tolist()) == types
    assert (None if mx.node_features is None else mx.node_features.tolist()) == features
    assert mx.edges("home").T.tolist() == [[1, 2]]


@pytest.mark.parametrize("kind", REFUSED)
def test_a_table_of_nodes_is_refused(kind, tmp_path):
    name, write, said = REFUSED[kind]
    (tmp_path / "net.csv").write_text(EDGES)
    write(tmp_path / name)
    with refuses(tmp_path / name, *said):
        bx.read(tmp_path / "net.csv", node_table=tmp_path / name)


def test_large_ids_are_exact(tmp_path):
    """As floats, these two would be one."""
    (tmp_path / "net.csv").write_text(f"source,target\n{LARGE - 1},{LARGE}\n")
    (tmp_path / "a.csv").write_text(f"id,age\n{LARGE},2\n{LARGE - 1},1\n")
    mx = bx.read(tmp_path / "net.csv", node_table=tmp_path / "a.csv")
    assert mx.node_names.tolist() == [LARGE - 1, LARGE]
    np.testing.assert_array_equal(mx.node_features, [[1], [2]])
