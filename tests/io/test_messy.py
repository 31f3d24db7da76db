"""Tables as people bring them: read as they are meant, with a word about what was guessed, or refused in one line."""

import warnings
from itertools import pairwise

import networkx as nx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import banditplex as bx
from banditplex.io.tables.nodes import read_pairs
from tests.io.checks import refuses_file
from tests.refusals import refuses

EXPECTED = bx.Multiplex.from_edges(["Bärbel", "Zoë"], ["Zoë", "Uli"], ["Büro", "Café"], weight=[0.5, 2])
ROWS = "from;to;Relation;Weight\r\nBärbel;Zoë;Büro;0,5\r\nZoë;Uli;Café;2\r\n"


def put(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def says(*words):
    """Expect one or more warnings that hold all words, in any order."""
    return pytest.warns(UserWarning, match="".join(f"(?s:(?=.*{word}))" for word in words))


def said(call):
    """Return what is said while something is read, and what is read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return [str(each.message) for each in caught], result


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("utf-8", None), ("utf-8-sig", None)],
)
def test_an_excel_export(tmp_path, encoding, name):
    path = put(tmp_path / "excel.csv", ROWS, encoding)
    told, mx = said(lambda: bx.read(path))
    assert mx == EXPECTED
    assert len(told) == 2
    assert "'Relation' is read as the layer" in told[0]
    assert "semicolons" in told[1]
    assert "decimal commas" in told[1]
    assert (name is None) == ("text" not in told[1])
    assert name is None or name in told[1]
    options = {"delimiter": ";", "decimal": ",", "encoding": encoding, "layer": "Relation"}
    assert said(lambda: bx.read(path, **options)) == ([], EXPECTED)  # what is given is not said


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["net.csv", "net.tsv"])
def test_delimiters_and_line_ends_are_found(tmp_path, delimiter, end, name):
    text = f"Source,Target,layer{end}a,b,x{end}{end}b,c,y{end}".replace(",", delimiter)
    told, mx = said(lambda: bx.read(put(tmp_path / name, text)))
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], ["x", "y"])
    assert bool(told) == (delimiter != {"net.csv": ",", "net.tsv": "\t"}[name])


def test_a_letter_of_another_encoding_far_down(tmp_path):
    lines = [f"a{i},a{i + 1},x\n" for i in range(20_000)]
    path = put(tmp_path / "net.csv", "source,target,layer\n" + "".join(lines) + "é,a0,x\n", "cp1252")
    assert path.stat().st_size > 200_000  # beyond what is sniffed
    with says("Windows-1252"):
        mx = bx.read(path)
    assert "é" in mx.node_names.tolist()
    assert mx.num_edges == 20_001


@pytest.mark.parametrize(
    "header", ["source,target,layer", "Source,TARGET,Layer", "from,to,layer", "u,v,layer", " Source ,Target,LAYER"]
)
def test_usual_names_in_any_case(tmp_path, header):
    told, mx = said(lambda: bx.read(put(tmp_path / "net.csv", f"{header}\na,b,x\nb,c,y\n")))
    assert told == []
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], ["x", "y"])


@pytest.mark.parametrize("column", ["relation", "Type", "kind", "LABEL", "relationship"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_a_column_that_suggests_layers_is_the_layer(tmp_path, column, kind):
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], column: ["x", "y"]})
    frame.to_csv(tmp_path / "net.csv", index=False)
    frame.to_parquet(tmp_path / "net.parquet")
    with says(f"'{column}' is read as the layer"):
        mx = bx.Multiplex.from_pandas(frame) if kind == "pandas" else bx.read(tmp_path / f"net.{kind}")
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], ["x", "y"])


def test_columns_that_are_not_used_are_said(tmp_path):
    rows = "".join(f"{i},{i + 1},{'xy'[i % 2]},note {i}\n" for i in range(6))
    path = put(tmp_path / "net.csv", "source,target,topic,note\n" + rows)
    with says("columns not used: topic, note", "layer='topic'"):
        assert bx.read(path).num_layers == 1
    with says("columns not used: note"):
        assert bx.read(path, layer="topic").layer_names == ("x", "y")


def test_labels_of_single_edges_are_no_layers(tmp_path):
    rows = "".join(f"{i},{i + 1},edge {i}\n" for i in range(50))
    with says("columns not used: Label"):
        assert bx.read(put(tmp_path / "net.csv", "Source,Target,Label\n" + rows)).layer_names == ("edges",)


@pytest.mark.parametrize(("word", "directed"), [("Directed", True), ("Undirected", False)])
def test_the_column_type_of_gephi_is_the_direction(tmp_path, word, directed):
    text = f"Source,Target,Type,Id,Label,timeset,Weight\n1,2,{word},0,,,1.0\n2,1,{word},1,,,2.5\n"
    path = put(tmp_path / "edges.csv", text)
    with says("columns not used: Id"):
        mx = bx.read(path)
    assert mx == bx.Multiplex.from_edges([1, 2], [2, 1], "edges", weight=[1, 2.5], directed=directed)
    put(path, text.replace(word, "Undirected" if directed else "Directed", 1))
    with says("not used"), refuses_file(path, "'" + word + "'", "directed=True", line=3):
        bx.read(path)
    with says("not used"):
        assert bx.read(path, directed=True).num_edges == 2


# Empty cells

HOLES = "source,target,layer,weight\na,b,x,1\n,b,x,1\na,c,,1\nb,c,y,2\nb,d,y,\n"


def test_empty_cells_are_counted_and_can_be_left_out(tmp_path):
    path = put(tmp_path / "net.csv", HOLES)
    with refuses_file(path, "node name", "source", "2 such rows", "missing='drop' leaves", line=3):
        bx.read(path)
    told, mx = said(lambda: bx.read(path, missing="drop"))
    assert mx == bx.Multiplex.from_edges(["a", "b", "b"], ["b", "c", "d"], ["x", "y", "y"], weight=[1, 2, 1])
    assert [each.removeprefix(f"{path}: ") for each in told] == [
        "2 of 5 rows left out, as a cell is empty; the first is line 3, column 'source'.",
        "1 of 3 rows have no weight (column 'weight'), which is read as 1; the first is line 6.",
    ]
    with refuses("missing", "error, drop", "'skip'"):
        bx.read(path, missing="skip")


GAPS = [("a", "b", 5.0, "2024-05-03"), ("b", "c", None, "2024-05-01"), ("c", "d", 2.0, None)]


@pytest.mark.parametrize("kind", ["csv", "german", "parquet", "xlsx", "pandas"])
def test_edges_without_weight_or_time_stay(tmp_path, kind):
    """A weight is 1, and a time the earliest of all: 1 May 2024, which is 19844 days after 1 January 1970."""
    frame = pd.DataFrame(GAPS, columns=["source", "target", "weight", "time"])
    path = tmp_path / ("net.csv" if kind == "german" else f"net.{kind}")
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "german":
        put(path, "source;target;weight;time\na;b;5,0;3.5.2024\nb;c;NA;1.5.2024\nc;d;2,0; \n")
    else:
        frame["time"] = pd.to_datetime(frame["time"])
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    source = frame if kind == "pandas" else path
    read = bx.Multiplex.from_pandas if kind == "pandas" else bx.read
    if kind != "german":  # where NA is a text that is no number
        with refuses("weight", "empty", "missing='drop' reads", "1"):
            read(source)
    told, mx = said(lambda: read(source, missing="drop"))
    assert mx.weights("edges").tolist() == [5, 1, 2]
    day = 24 * 60 * 60 * 10**9
    assert mx.times("edges").tolist() == [19846 * day, 19844 * day, 19844 * day]
    assert len([each for each in told if "1 of 3 rows have no" in each]) == 2


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "bx"])
@pytest.mark.parametrize(
    ("times", "written"),
    [
        (["2024-05-01", "1969-12-31"], ["2024-05-01", "1969-12-31"]),
        (["2024-05-01T12:30", "2024-05-02"], ["2024-05-01 12:30:00", "2024-05-02 00:00:00"]),
        (["2024-05-01T00:00:00.000000001", "1677-12-01"], ["2024-05-01 00:00:00.000000001", "1677-12-01 00:00:00.0"]),
        (["2024-05-01T00:00:00.25+02:00", "2024-05-02T00:00:00+02:00"], ["2024-04-30 22:00:00.25", "2024-05-01 22:00"]),
    ],
)
def test_dates_are_written_as_dates(tmp_path, call, times, written, ending):
    """What is converted reads back to the same nanoseconds, as pandas counts them."""
    put(tmp_path / "net.csv", "source,target,time\n" + "".join(f"a{i},z,{each}\n" for i, each in enumerate(times)))
    assert call("convert", "net.csv", f"out.{ending}", cwd=tmp_path)[0] == 0
    assert call("convert", f"out.{ending}", "back.csv", cwd=tmp_path)[0] == 0
    for name in (f"out.{ending}", "back.csv"):
        assert bx.read(tmp_path / name).time.tolist() == [pd.Timestamp(each).as_unit("ns").value for each in times]
    lines = (tmp_path / "back.csv").read_text().splitlines()[1:]
    assert all(
        line.startswith(f"a{i},z,edges,{each}") for i, (line, each) in enumerate(zip(lines, written, strict=True))
    )


def test_times_that_are_numbers_stay_numbers(tmp_path):
    mx = bx.Multiplex.from_edges(["a"], ["b"], "x", time=[5])
    bx.write(mx, tmp_path / "net.csv")
    assert (tmp_path / "net.csv").read_text().splitlines()[1] == "a,b,x,5"


def test_columns_that_are_empty_are_not_used(tmp_path):
    path = put(tmp_path / "net.csv", "source,target,weight,time\na,b,,\nb,c,,\n")
    told, mx = said(lambda: bx.read(path, missing="drop"))
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], "edges")
    assert [word in each for word, each in zip(("weight", "time"), told, strict=True)] == [True, True]


def test_lines_are_named_after_rows_were_left_out(tmp_path):
    path = put(tmp_path / "net.csv", "source,target,weight\n,b,1\na,b,1\na,c,-1\n")
    with says("left out"), refuses_file(path, "weight", "-1", line=4):
        bx.read(path, missing="drop")


@pytest.mark.parametrize("word", ["NA", "NaN", "null", "N/A", " "])
def test_words_for_missing_values(tmp_path, word):
    path = put(tmp_path / "net.csv", f"source,target,weight\na,b,1\na,{word},1\nb,c,{word}\n")
    told, mx = said(lambda: bx.read(path, missing="drop"))
    assert mx == bx.Multiplex.from_edges(["a", "b"], ["b", "c"], "edges", weight=[1, 1])
    assert ["1 of 3 rows left out" in told[0], "line 3" in told[0], "1 of 2 rows have no weight" in told[1]] == [
        True
    ] * 3


def test_a_node_that_is_called_na(tmp_path):
    path = put(tmp_path / "net.csv", "source,target\nNA,DE\n")
    with says("'NA' is read as a node", "missing='drop'"):
        assert bx.read(path).node_names.tolist() == ["DE", "NA"]


def test_numbers_that_are_none_are_counted(tmp_path):
    path = put(tmp_path / "net.csv", "source,target,weight\na,b,1\na,c,much\na,d,more\n")
    with refuses_file(path, "number", "weight", "'much'", "2 such rows", line=3):
        bx.read(path)
    assert bx.read(path, weight="") == bx.Multiplex.from_edges(["a"] * 3, ["b", "c", "d"], "edges")
    path = put(tmp_path / "net.csv", "source,target\na,b,c\na\na,b\n")
    with refuses_file(path, "2 columns", "got 3", "2 such rows", line=2):
        bx.read(path)
    path = put(tmp_path / "net.csv", 'source,target,"two\nlines"\na,b\n')  # input 983 of `python -m fuzz --seed 12`
    with refuses_file(path, "3 columns", r"two\nlines", "got 2", line=3):
        bx.read(path)


# Ids


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("source,target\n123,7.0\n7,123.0\n", [7, 123]),
        ("source,target\n123.0,7.0\n", [7, 123]),
        ("source;target;weight\n123,0;7;0,5\n", [7, 123]),
        ("source,target\n123.5,7.0\n", ["123.5", "7.0"]),
        ("source,target\n123.0,v7\n", ["123.0", "v7"]),
        ("source,target\n007.0,7\n", ["007.0", "7"]),
        ("source,target\n144,145.0\n144.0,145\n146,Genf\n", ["144", "145", "146", "Genf"]),
        ("source;target;weight\n12;SKU;0,5\n12,0;SKV;1,5\n", ["12", "SKU", "SKV"]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_whole_numbers_are_the_same_ids(tmp_path, text, nodes):
    assert bx.read(put(tmp_path / "net.csv", text)).node_names.tolist() == nodes


def test_whole_numbers_among_other_names_are_told(tmp_path):
    path = put(tmp_path / "net.csv", "source,target\n144,145.0\n144.0,145\n146,Genf\n")
    (told, repeated), mx = said(lambda: bx.read(path))
    assert mx.num_nodes == 4
    assert "are read as the same name (2 such names in all)" in told
    assert "1 of 3 rows merged with another of the same nodes and layer" in repeated


def test_float_ids_of_pandas(tmp_path):
    frame = pd.DataFrame({"source": [1, 2, 3], "target": [2.0, None, 1.0], "layer": "x"})
    expected = bx.Multiplex.from_edges([1, 3], [2, 1], "x")
    frame.to_csv(tmp_path / "net.csv", index=False)
    frame.to_parquet(tmp_path / "net.parquet")
    readings = [lambda **words: bx.Multiplex.from_pandas(frame, **words)]
    readings += [lambda name=name, **words: bx.read(tmp_path / name, **words) for name in ("net.csv", "net.parquet")]
    for reading in readings:
        with refuses("destination", "empty"):
            reading()
        told, mx = said(lambda reading=reading: reading(missing="drop"))
        assert mx == expected
        assert "1 of 3 rows" in told[0]
        assert "2.0 and 2 are the same node" in told[1]


def test_names_that_look_like_floats_come_back(tmp_path):
    mx = bx.Multiplex.from_edges(["1.0", "2"], ["2", "3.0"], ["4.0", "4"])
    bx.write(mx, tmp_path / "net.csv")
    assert bx.read(tmp_path / "net.csv") == mx


# Two kinds of nodes

SHOP = {"user_id": [1, 2, 3], "item_id": [3, 1, 4], "layer": "buys"}
ROLES = {"source": "user_id", "destination": "item_id"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_ids_that_users_and_items_share(tmp_path, kind):
    frame = pd.DataFrame(SHOP)
    frame.to_csv(tmp_path / "net.csv", index=False)
    frame.to_parquet(tmp_path / "net.parquet")

    def read(**words):
        return (
            bx.Multiplex.from_pandas(frame, **words) if kind == "pandas" else bx.read(tmp_path / f"net.{kind}", **words)
        )

    with says("'user_id' and 'item_id' have 2 ids in common", "bipartite=True"):
        assert read(**ROLES).num_nodes == 4
    assert said(lambda: read(**ROLES, bipartite=False).num_nodes) == ([], 4)
    with says("user/1"):
        mx = read(**ROLES, bipartite=True)
    names = {f"user/{i}": "user" for i in (1, 2, 3)} | {f"item/{i}": "item" for i in (1, 3, 4)}
    assert dict(zip(mx.node_names.tolist(), mx.node_types.tolist(), strict=True)) == names
    ends = mx.node_names[mx.edge_index].T.tolist()
    assert {tuple(pair) for pair in ends} == {  # pairs read as in the table
        (f"user/{u}", f"item/{i}") for u, i in zip(SHOP["user_id"], SHOP["item_id"], strict=True)
    }


def test_columns_are_suggested(tmp_path):
    path = put(
        tmp_path / "net.csv", "A;B;HOURS;KIND\nann;bob;1,5;work\nann;cid;2;work\nbob;cid;3;home\nbob;dan;4;home\n"
    )
    with refuses_file(path, "source='A', destination='B', layer='KIND'"):
        bx.read(path)
    with refuses_file(path, "'A', 'B', 'HOURS', 'KIND'"):
        bx.read(path, layer="KIND")


def test_ids_that_differ_keep_their_names(tmp_path):
    path = put(tmp_path / "net.csv", "user,item\nann,tea\nbob,tea\n")
    with says("share no node", "bipartite=True"):
        assert bx.read(path, source="user", destination="item").node_types is None
    mx = bx.read(path, source="user", destination="item", bipartite=True)
    assert mx == bx.Multiplex.from_edges(
        ["ann", "bob"], ["tea"] * 2, "edges", node_types={"ann": "user", "bob": "user", "tea": "item"}
    )


def test_types_by_column(tmp_path):
    path = put(tmp_path / "net.csv", "source,target,source_type,target_type\nann,tea,user,item\nann,bob,user,user\n")
    kinds = {"ann": "user", "bob": "user", "tea": "item"}
    assert bx.read(path) == bx.Multiplex.from_edges(["ann"] * 2, ["tea", "bob"], "edges", node_types=kinds)
    put(path, "source,target,source_type,target_type\n1,1,user,item\n")
    with refuses_file(path, "'item' and 'user' for 1;", "bipartite=True"):
        bx.read(path)
    with says("item/1"):
        assert bx.read(path, bipartite=True).node_names.tolist() == ["user/1", "item/1"]  # sources first


# networkx


def test_default_keys_of_networkx_are_no_layers():
    graph = nx.MultiGraph()
    graph.add_edge(1, 2, relation="work")
    graph.add_edge(1, 2, relation="home")
    graph.add_edge(2, 3, relation="home")
    with says("'relation' is read as the layer"):
        mx = bx.Multiplex.from_networkx(graph)
    assert mx == bx.Multiplex.from_edges([1, 1, 2], [2, 2, 3], ["work", "home", "home"])
    assert bx.Multiplex.from_networkx(graph, layer="relation") == mx
    with refuses("'colour'", "relation"):
        bx.Multiplex.from_networkx(graph, layer="colour")
    bare = nx.MultiGraph([(1, 2), (1, 2), (2, 3)])
    with says("merged"):
        assert bx.Multiplex.from_networkx(bare) == bx.Multiplex.from_edges([1, 2], [2, 3], "edges")
    years = nx.MultiGraph([(1, 2, 2001), (2, 3, 2002)])
    assert bx.Multiplex.from_networkx(years).layer_names == (2001, 2002)


# Excel


def test_an_excel_file(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "net.xlsx"
    frame = pd.DataFrame(
        {"Source": [1, "b", None], "Target": ["b", 7.0, "b"], "Relation": ["x", "NA", "x"], "Weight": 2.5}
    )
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="edges", index=False)
        pd.DataFrame({"source": [1], "target": [2]}).to_excel(book, sheet_name="more", index=False)
    with says("'Relation'"), refuses_file(path, "Source", "empty", line=4):
        bx.read(path, sheet="edges")
    told, mx = said(lambda: bx.read(path, missing="drop", layer="Relation"))
    assert "sheets not read: 'more'" in told[0]
    assert "2 of 3 rows left out" in told[1]
    assert "line 3" in told[1]
    assert mx == bx.Multiplex.from_edges(["1"], ["b"], "x", weight=[2.5])  # NA is left out with the rest
    told = []
    more = bx.read(path, sheet="more", progress=lambda done, total: told.append((done, total)))
    assert more == bx.Multiplex.from_edges([1], [2], "edges")
    assert told == [(path.stat().st_size, path.stat().st_size)]
    with refuses_file(path, "'edges', 'more'", "'other'"):
        bx.read(path, sheet="other")
    with refuses("net2.xlsx", ".csv"):
        bx.write(mx, tmp_path / "net2.xlsx")
    put(path, "source,target\n1,2\n")
    with refuses_file(path, "Excel"):
        bx.read(path)


# Options


@pytest.mark.parametrize("words", [{"delimiter": ";;"}, {"decimal": ";"}, {"encoding": "klingon"}, {"delimiter": ""}])
def test_options_that_mean_nothing_are_refused(tmp_path, words):
    path = put(tmp_path / "net.csv", "source,target\n1,2\n")
    option, value = next(iter(words.items()))
    with refuses(option, repr(value)):
        bx.read(path, **words)


def test_headers_without_end_are_refused(tmp_path):
    for text in ("x" * 200_000 + ",target\n1,2\n", '"' + "x" * 200_000, "source,target\n" + '"' + "x" * 5_000_000):
        path = put(tmp_path / "net.csv", text)
        with refuses(path):
            bx.read(path)


def test_null_columns_of_parquet(tmp_path):
    path = tmp_path / "net.parquet"
    pq.write_table(pa.table({"source": pa.nulls(2), "target": ["a", "b"]}), path)
    with refuses_file(path, "source", "2 such rows", row=1):
        bx.read(path)
    with says("2 of 2 rows"):
        assert bx.read(path, missing="drop").num_edges == 0


def test_pairs_of_users_and_items(tmp_path):
    with says("user/1"):
        mx = bx.Multiplex.from_pandas(pd.DataFrame(SHOP), **ROLES, bipartite=True)
    path = put(tmp_path / "pairs.csv", "user_id;item_id\n1;4.0\nuser/2;item/1\n")
    with says("semicolons"):
        pairs = read_pairs(path, mx, columns=ROLES)
    assert pairs.to_numpy().tolist() == [["user/1", "item/4"], ["user/2", "item/1"]]


def test_the_columns_of_an_export_are_suggested_by_their_values(tmp_path):
    """Numbers of documents, dates and amounts come before the names, which repeat."""
    names = [f"firm {i % 4};client {i % 5};{('offer', 'order')[i % 2]}" for i in range(12)]
    rows = [f"{i};0{1 + i % 9}.02.2024;{i % 7},50;{each}" for i, each in enumerate(names)]
    text = "\n".join(["No.;Date;Amount;Supplier;Customer;Event", *rows])
    with refuses("source='Supplier', destination='Customer', layer='Event'"):
        bx.read(put(tmp_path / "export.csv", text))


def test_words_between_spaces_are_a_question_of_the_delimiter(tmp_path):
    path = put(tmp_path / "links.txt", "a b x\nb c y\n")
    with refuses("csv", "header=False"):
        bx.read(path)
    with refuses("'1'", "delimiter="):
        bx.read(path, format="csv", header=False)
    assert bx.read(path, format="csv", header=False, delimiter=" ").layer_names == ("x", "y")


@pytest.mark.parametrize("title", [["Report", None, None], ["Report", "2024", None]])
def test_a_title_in_excel_is_no_header(title, tmp_path):
    """The columns below are alike, and would be guessed to be those of nodes."""
    pytest.importorskip("openpyxl")
    names = ["ann", "bob", "cid", "dan", "ann"]
    rows = [title, ["source", "target", "kind"], *([a, b, "x"] for a, b in pairwise(names))]
    pd.DataFrame(rows).to_excel(tmp_path / "title.xlsx", header=False, index=False)
    with refuses("title.xlsx", "'source'", "'Report'", "title above"):
        bx.read(tmp_path / "title.xlsx")


def test_titles_and_matrices_are_told_from_tables(tmp_path):
    with refuses("title above"):
        bx.read(put(tmp_path / "title.csv", "Report 2024;;\n;;\nwho;whom;kind\na;b;x\nb;c;x\n"))
    with refuses("'Report'", "title above"):
        bx.read(put(tmp_path / "title.csv", "Report\nwho;whom;kind\na;b;x\nb;c;x\n"))
    people = [f"p{i}" for i in range(15)]
    rows = [",".join([name, *("01"[i == j] for j in range(15))]) for i, name in enumerate(people)]
    with refuses("matrix", "and 4 more"):
        bx.read(put(tmp_path / "matrix.csv", "\n".join([",".join(["", *people]), *rows])))
