"""CSV, TSV and Parquet tables: by hand, by property, and with what is wrong with them."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banditplex as bx
from banditplex.io import detect
from banditplex.multiplex.cells import Origin
from banditplex.multiplex.table import _encode
from tests.io.checks import refuses_file
from tests.io.strategies import multiplexes, strings
from tests.refusals import refuses

TEXT = ["net.csv", "net.tsv", "net.csv.gz"]
ALL = [*TEXT, "net.parquet"]
filled = st.one_of(strings, st.sampled_from(["two\nlines", "a\rb", "a\r\nb", "\n"])).filter(bool)


@pytest.mark.filterwarnings("ignore:.*(is read as a node|share no node|differ)")
@given(mx=multiplexes(names=filled, features=False), name=st.sampled_from(TEXT))
def test_round_trip_as_text(mx, name, tmp_path):
    bx.write(mx, tmp_path / name, overwrite=True)
    assert bx.read(tmp_path / name) == mx


@pytest.mark.filterwarnings("ignore:.*(share no node|differ)")
@given(mx=multiplexes(names=st.one_of(strings, st.just("a\nb")), features=False, types=strings))
def test_round_trip_as_parquet(mx, tmp_path):
    bx.write(mx, tmp_path / "net.parquet", overwrite=True)
    back = bx.read(tmp_path / "net.parquet")
    assert back == mx
    assert mx.time is None or back.time.dtype == mx.time.dtype
    assert [each.name for each in tmp_path.iterdir()] == ["net.parquet"]


# Writing by hand

MX = bx.Multiplex.from_edges(["b", "a"], ["c", "b"], ["y", "x"], weight=[0.5, 2], time=[10, 20])


def test_what_a_csv_holds(tmp_path):
    bx.write(MX, tmp_path / "net.csv")
    assert (tmp_path / "net.csv").read_text() == "source,target,layer,weight,time\na,b,x,2,20\nb,c,y,0.5,10\n"
    assert [each.name for each in tmp_path.iterdir()] == ["net.csv"]


def test_names_are_quoted_where_one_needs_it(tmp_path):
    mx = bx.Multiplex.from_edges(['say "hi"'], ["a,b"], ["x"])
    bx.write(mx, tmp_path / "net.csv")
    assert pd.read_csv(tmp_path / "net.csv").to_numpy().tolist() == [["a,b", 'say "hi"', "x"]]
    bx.write(bx.Multiplex.from_edges(["a b"], ["a,b"], ["x"]), tmp_path / "net.tsv")
    assert (tmp_path / "net.tsv").read_text() == "source\ttarget\tlayer\na b\ta,b\tx\n"


def test_what_a_csv_has_no_place_for_stands_in_a_note(tmp_path):
    mx = bx.Multiplex.from_edges([7], [8], ["1"], node_names=[9, 8, 7], layer_names=["1", "0"], directed=True)
    bx.write(mx, tmp_path / "net.csv")
    note = json.loads((tmp_path / "net.csv.meta.json").read_text())
    assert note == {"banditplex": 1, "directed": True, "nodes": [9, 8, 7], "layers": ["1", "0"]}


@pytest.mark.parametrize("encoded", [True, False])
def test_strings_of_parquet_that_are_not_utf8(tmp_path, encoded):
    """Input 17266 of `make fuzz`: `b"bob"` had become `b"bo\xf8"`."""
    names = pa.array([b"ann", b"bo\xf8"]).cast(pa.string(), safe=False)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), names) if encoded else names
    pq.write_table(pa.table({"source": column, "target": pa.array(["u", "v"])}), tmp_path / "net.parquet")
    with refuses(tmp_path / "net.parquet", "UTF8"):
        bx.read(tmp_path / "net.parquet")


def test_names_that_a_damaged_parquet_file_has_not():
    """Input 5514 of `make fuzz SEED=7`: a name number 76 of four."""
    names = pa.DictionaryArray.from_arrays(pa.array([0, 76]), pa.array(["ann", "bob"]), safe=False)
    with refuses("net.parquet", "number 0 to 1", "number 76"):
        _encode(pa.chunked_array([names]), "node", Origin("net.parquet", {}))


def test_what_a_parquet_file_holds(tmp_path):
    mx = bx.Multiplex.from_edges(["b", "a"], ["c", "b"], ["y", "x"], layer_names=["y", "x", "z"], directed=True)
    bx.write(mx, tmp_path / "net.parquet")
    table = pq.read_table(tmp_path / "net.parquet")
    assert table.to_pylist() == [
        {"source": "b", "target": "c", "layer": "y"},
        {"source": "a", "target": "b", "layer": "x"},
    ]
    assert pa.types.is_dictionary(table["layer"].type)
    assert json.loads(table.schema.metadata[b"banditplex"]) == {
        "version": 1, "directed": True, "layers": ["y", "x", "z"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "stored"),
    [
        ([0, 1, 2, 3], {"first": 0, "count": 4}),
        ([3, 4, 5, 6], {"first": 3, "count": 4}),
        ([2**63 - 3, 2**63 - 2, 2**63 - 1], {"first": 2**63 - 3, "count": 3}),
        ([3, 1, 7, 0], [3, 1, 7, 0]),
        (["a", "c", "b", "d"], ["a", "c", "b", "d"]),
    ],
)
def test_parquet_keeps_isolated_nodes(tmp_path, names, stored):
    mx = bx.Multiplex.from_edges(names[:1], names[1:2], "x", node_names=names)
    bx.write(mx, tmp_path / "net.parquet")
    assert json.loads(pq.read_schema(tmp_path / "net.parquet").metadata[b"banditplex"])["nodes"] == stored
    assert bx.read(tmp_path / "net.parquet") == mx


def test_an_empty_name_is_refused(tmp_path):
    with refuses("name", "''"):
        bx.write(bx.Multiplex.from_edges([""], ["a"], "x"), tmp_path / "net.csv")


@pytest.mark.parametrize("name", ALL)
def test_features_are_refused_unless_lossy(tmp_path, name):
    mx = bx.Multiplex.from_edges([0], [1], "a", node_features=[[1], [2]])
    with refuses(tmp_path / name, "features", "lossy=True"):
        bx.write(mx, tmp_path / name)
    with pytest.warns(UserWarning, match="without features"):
        bx.write(mx, tmp_path / name, lossy=True)
    assert bx.read(tmp_path / name) == bx.Multiplex.from_edges([0], [1], "a")


# Reading by hand


def put(tmp_path, name, text):
    """Write a table given as CSV text in the format that `name` asks for."""
    path = tmp_path / name
    if name.endswith(".parquet"):
        rows = [line.split(",") for line in text.splitlines()]
        columns = {key: list(column) for key, *column in zip(*rows, strict=True)}
        for key, column in columns.items():
            if all(re.fullmatch("-?[0-9]+", cell) for cell in column):
                columns[key] = [int(cell) for cell in column]
            elif all(re.fullmatch(r"-?[0-9.]+|nan|inf", cell) for cell in column):
                columns[key] = [float(cell) for cell in column]
        pq.write_table(pa.table(columns), path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text.replace(",", "\t") if name.endswith(".tsv") else text, newline="")
    return path


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("target", ["target", "destination"])
def test_columns_are_found_by_name(tmp_path, name, target):
    path = put(tmp_path, name, f"note,layer,{target},source,weight\nhm,x,2,10,0.5\nhm,y,3,2,2.0\n")
    expected = bx.Multiplex.from_edges([10, 2], [2, 3], ["x", "y"], weight=[0.5, 2])
    with pytest.warns(UserWarning, match="columns not used: note"):
        assert bx.read(path) == expected


@pytest.mark.parametrize("name", ALL)
def test_column_names_can_be_given(tmp_path, name):
    path = put(tmp_path, name, "u,v,kind,w,when,weight\na,b,x,0.5,3,7\nb,c,y,2.5,4,7\n")
    with pytest.warns(UserWarning, match="columns not used: weight"):
        mx = bx.read(path, source="u", destination="v", layer="kind", weight="w", time="when")
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], ["x", "y"], weight=[0.5, 2.5], time=[3, 4])


@pytest.mark.parametrize("name", ALL)
def test_without_layers_there_is_one(tmp_path, name):
    mx = bx.read(put(tmp_path, name, "source,target\na,b\nb,c\n"))
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], "edges")


@pytest.mark.parametrize("name", ALL)
def test_nodes_can_be_declared(tmp_path, name):
    path = put(tmp_path, name, "source,target,layer\n0,2,1\n2,2,3\n")
    assert bx.read(path, num_nodes=5) == bx.Multiplex.from_edges([0, 2], [2, 2], [1, 3], num_nodes=5)
    place = {"row": 1} if name.endswith("parquet") else {"line": 2}
    with refuses_file(path, "2 declared nodes", "got 2", **place):
        bx.read(path, num_nodes=2)


@pytest.mark.parametrize("name", ALL)
def test_direction_is_what_the_reader_says(tmp_path, name):
    path = put(tmp_path, name, "source,target,layer\na,b,x\nb,a,x\n")
    with pytest.warns(UserWarning, match="1 of 2 rows merged .* 1 of them the other way round; directed=True"):
        assert bx.read(path).num_edges == 1
    assert bx.read(path, directed=True).num_edges == 2
    bx.write(bx.read(path, directed=True), path, overwrite=True)
    assert bx.read(path).directed
    assert not bx.read(path, directed=False).directed


@pytest.mark.parametrize(
    "text",
    [
        "source,target,layer\r\na,b,x\r\n\r\nb,c,y\r\n",
        "source,target,layer\na,b,x\nb,c,y",
        '\ufeff"source","target","layer"\n"a","b","x"\n\nb,c,"y"\n',
    ],
    ids=["crlf and blank lines", "no last line end", "byte order mark and quotes"],
)
def test_ways_to_write_a_csv(tmp_path, text):
    assert bx.read(put(tmp_path, "net.csv", text)) == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], ["x", "y"])


def test_delimiters_can_be_given(tmp_path):
    path = put(tmp_path, "net.csv", "source;target\na;b\n")
    assert bx.read(path, delimiter=";") == bx.Multiplex.from_edges(["a"], ["b"], "edges")


@pytest.mark.parametrize(
    ("tokens", "names"),
    [
        (["10", "9"], [9, 10]),
        (["007", "7"], ["007", "7"]),
        (["-0", "1"], ["-0", "1"]),
        (["+1", "2"], ["+1", "2"]),
        (["0x10", "1"], ["0x10", "1"]),
        (["1.5", "2"], ["1.5", "2"]),
        (["9223372036854775807", "-9223372036854775808"], [-(2**63), 2**63 - 1]),
        (["9223372036854775808", "1"], ["1", "9223372036854775808"]),
        (["2", "a"], ["2", "a"]),
    ],
)
def test_names_are_integers_only_in_plain_writing(tmp_path, tokens, names):
    first, second = tokens
    mx = bx.read(
        put(tmp_path, "net.csv", f"source,target,layer\n{first},{second},{first}\n{first},{second},{second}\n")
    )
    assert mx.node_names.tolist() == names
    assert list(mx.layer_names) == names


def test_text_in_parquet_stays_text(tmp_path):
    pq.write_table(pa.table({"source": ["1"], "target": ["2"], "layer": ["3"]}), tmp_path / "net.parquet")
    assert bx.read(tmp_path / "net.parquet").node_names.tolist() == ["1", "2"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_parquet_text_of_every_kind(tmp_path, kind):
    columns = {
        "source": pa.array(["b", "a"]).cast(kind),
        "target": ["c", "b"],
        "layer": pa.array(["y", "x"]).cast(kind),
    }
    pq.write_table(pa.table(columns), tmp_path / "net.parquet", row_group_size=1)
    assert bx.read(tmp_path / "net.parquet") == bx.Multiplex.from_edges(["b", "a"], ["c", "b"], ["y", "x"])


def test_parquet_from_pandas(tmp_path):
    frame = pd.DataFrame({"source": [3, 1], "target": [1, 2], "layer": pd.Categorical(["b", "a"])}, index=["p", "q"])
    frame["weight"] = np.array([1, 3], np.int32)
    frame["time"] = np.array(["1970-01-01T00:00:01", "1970-01-02"], "datetime64[s]")
    frame.to_parquet(tmp_path / "net.parquet")
    mx = bx.read(tmp_path / "net.parquet")
    assert mx == bx.Multiplex.from_edges(
        [3, 1], [1, 2], ["b", "a"], weight=[1, 3], time=[10**9, 86400 * 10**9]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        (["3", "10"], [3, 10]),
        (["3", "1.5"], [3, 1.5]),
        (["1970-01-02", "1970-01-01 00:00:01"], [86400 * 10**9, 10**9]),
    ],
)
def test_times_are_numbers_or_dates(tmp_path, cells, times):
    path = put(tmp_path, "net.csv", "source,target,time\n" + "".join(f"{i},9,{cell}\n" for i, cell in enumerate(cells)))
    assert bx.read(path).time.tolist() == times


@pytest.mark.parametrize("name", ["table.txt", "table"])
def test_the_content_shows_what_it_is(tmp_path, name):
    (tmp_path / name).write_text("source,target,layer\na,b,x\n")
    assert detect(tmp_path / name).name == "csv"
    (tmp_path / name).write_text("source\ttarget\tlayer\na\tb\tx\n")
    assert detect(tmp_path / name).name == "tsv"
    bx.write(MX, tmp_path / name, format="parquet", overwrite=True)
    assert detect(tmp_path / name).name == "parquet"
    assert bx.read(tmp_path / name) == MX


@pytest.mark.parametrize("name", ALL)
def test_progress_comes_to_an_end(tmp_path, name):
    seen = []
    bx.write(MX, tmp_path / name)
    assert bx.read(tmp_path / name, progress=lambda done, total: seen.append((done, total))) == MX
    total = 2 if name.endswith("parquet") else (tmp_path / name).stat().st_size
    assert seen[-1] == (total, total)


# Bad input

BAD = {
    "ragged": ("source,target,layer\na,b,x\n\na,b\n", 4, ["3 columns", "source, target, layer", "got 2"]),
    "long": ("source,target,layer\na,b,x,y\n", 2, ["3 columns", "source, target, layer", "got 4"]),
    "text": ("source,target,weight\na,b,1\nb,c,heavy\n", 3, ["number", "weight", "'heavy'"]),
    "no weight": ("source,target,weight\na,b,1\nb,c,\n", 3, ["number", "weight", "empty", "missing='drop'"]),
    "nan": ("source,target,weight\na,b,1\nb,c,nan\n", 3, ["weight", "nan"]),
    "infinite": ("source,target,weight\na,b,inf\n", 2, ["weight", "inf"]),
    "negative": ("source,target,weight\r\na,b,1\r\n\r\nb,c,-1", 4, ["weight", "-1.0"]),
    "two lines": ('source,target,weight\n"a\nb",b,1\nb,c,-1\n', 4, ["weight", "-1.0"]),
    "no name": ("source,target,layer\na,b,x\na,,x\n", 3, ["destination", "empty"]),
    "no layer": ("source,target,layer\na,b,\n", 2, ["layer", "empty"]),
    "time": ("source,target,time\na,b,1\na,c,noon\n", 3, ["number", "date", "time", "'noon'"]),
    "date": ("source,target,time\na,b,2020-01-01\na,c,noon\n", 3, ["number", "date", "time", "'noon'"]),
}


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize(("text", "line", "values"), BAD.values(), ids=BAD)
def test_bad_rows_are_named(tmp_path, name, text, line, values):
    path = put(tmp_path, name, text)
    with refuses_file(path, *values, line=line):
        bx.read(path)


WRONG = {
    "empty": ("", ["header", "empty"]),
    "blank": ("\n\n", ["header", "empty"]),
    "source": ("who,whom\na,b\n", ["'source'", "'who', 'whom'", "source=NAME", "header=False"]),
    "target": ("source,whom\na,b\n", ["'target' or 'destination'", "'source', 'whom'", "destination=NAME"]),
    "twice": ("source,target,target\na,b,c\n", ["'target'"]),
    "twice in two cases": ("source,Target,TARGET\na,b,c\n", ["'Target'"]),
}


@pytest.mark.parametrize(("text", "values"), WRONG.values(), ids=WRONG)
def test_wrong_headers_are_refused(tmp_path, text, values):
    path = put(tmp_path, "net.csv", text)
    with refuses_file(path, *values):
        bx.read(path)


@pytest.mark.parametrize("name", ALL)
def test_unknown_columns_and_options_are_refused(tmp_path, name):
    path = put(tmp_path, name, "source,target\na,b\n")
    with refuses_file(path, "'kind'", "layer", "'source', 'target'"):
        bx.read(path, layer="kind")
    with refuses("num_nodes", "colour="):
        bx.read(path, colour="red")


@pytest.mark.parametrize(
    ("content", "line"), [(b"source,target\na,b\n\xff,b\n", 3), (b"source\xff,target\na,b\n", 1), (b"\xff\xfes\0", 1)]
)
def test_other_encodings_than_the_given_one_are_refused(tmp_path, content, line):
    (tmp_path / "net.csv").write_bytes(content)
    with refuses_file(tmp_path / "net.csv", "UTF-8", r"\xff", line=line):
        bx.read(tmp_path / "net.csv", encoding="utf-8")


def test_declared_names_hold(tmp_path):
    path = put(tmp_path, "net.csv", "source,target,layer\na,b,x\na,b,z\n")
    (tmp_path / "net.csv.meta.json").write_text('{"banditplex": 1, "layers": ["x", "y"], "nodes": ["b", "a"]}')
    with refuses_file(path, "2 declared layers", "'z'", line=3):
        bx.read(path)
    (tmp_path / "net.csv.meta.json").write_text('{"banditplex": 1, "nodes": [1, 2]}')
    with refuses_file(path, "2 declared nodes", "'a'", line=2):
        bx.read(path)


@pytest.mark.parametrize(("note", "line"), [("{", 1), ("[]", None), ('{"banditplex": 2}', None)])
def test_broken_notes_are_refused(tmp_path, note, line):
    path = put(tmp_path, "net.csv", "source,target\na,b\n")
    (tmp_path / "net.csv.meta.json").write_text(note)
    with refuses_file(tmp_path / "net.csv.meta.json", line=line):
        bx.read(path)


def test_a_cut_gzip_file_is_refused(tmp_path):
    content = gzip.compress(b"source,target\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(10_000)))
    (tmp_path / "net.csv.gz").write_bytes(content[: len(content) // 2])
    with refuses_file(tmp_path / "net.csv.gz", "gzip"):
        bx.read(tmp_path / "net.csv.gz")
    (tmp_path / "net.csv.gz").write_bytes(b"source,target\na,b\n")
    with refuses_file(tmp_path / "net.csv.gz", "gzip"):
        bx.read(tmp_path / "net.csv.gz")


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_a_truncated_parquet_file_is_refused(tmp_path, keep):
    bx.write(MX, tmp_path / "net.parquet")
    content = (tmp_path / "net.parquet").read_bytes()
    (tmp_path / "net.parquet").write_bytes(content[:keep])
    with refuses_file(tmp_path / "net.parquet", "Parquet"):
        bx.read(tmp_path / "net.parquet")


@pytest.mark.parametrize(
    ("date", "seconds"),
    [("1970-01-02", 86400), ("1970-01-01 01:00:00", 3600), ("1970-01-01T01:00:00+02:00", -3600)],
)
def test_dates_are_nanoseconds_since_1970(tmp_path, date, seconds):
    assert bx.read(put(tmp_path, "net.csv", f"source,target,time\na,b,{date}\n")).time.tolist() == [seconds * 10**9]


@pytest.mark.parametrize(
    ("columns", "row", "values"),
    [
        ({"source": ["a", None]}, 2, ["node name"]),
        ({"layer": ["x", None]}, 2, ["layer name"]),
        ({"weight": [None, 1.0]}, 1, ["weight"]),
        ({"weight": [1.0, -1.0]}, 2, ["weight", "-1.0"]),
        ({"weight": ["1", "much"]}, 2, ["weight", "'much'"]),
        ({"time": ["1", "soon"]}, 2, ["time", "'soon'"]),
        ({"source": [0.5, 1.5]}, None, ["node names", "got double"]),
        ({"source": [1, 2]}, None, ["node names", "integers", "got both"]),
    ],
)
def test_bad_parquet_columns_are_named(tmp_path, columns, row, values):
    good = {"source": ["a", "b"], "target": ["b", "c"], "layer": ["x", "y"]}
    pq.write_table(pa.table(good | columns), tmp_path / "net.parquet")
    with refuses_file(tmp_path / "net.parquet", *values, row=row):
        bx.read(tmp_path / "net.parquet")


@pytest.mark.parametrize(
    ("note", "values"),
    [('{"version": 9}', ["version 1", "got 9"]), ("{", ["JSON", "metadata"])],
)
def test_parquet_metadata_that_cannot_be_read_is_refused(tmp_path, note, values):
    table = pa.table({"source": [1], "target": [2]}).replace_schema_metadata({"banditplex": note})
    pq.write_table(table, tmp_path / "net.parquet")
    with refuses_file(tmp_path / "net.parquet", *values):
        bx.read(tmp_path / "net.parquet")
