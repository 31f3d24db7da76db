"""Several tables: a folder, or a list of files; by default, each is a layer."""

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.io.tables.reading import read_all as read_tables
from banditplex.multiplex.options import TableOptions
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.io.test_messy import said
from tests.refusals import refuses

CALLS = "Source,Target\nann,bob\nbob,cid\n"
MAILS = "from;to;Weight\r\nann;cid;0,5\r\nZoë;cid;1,5\r\n".encode("cp1252")
BOTH = {"calls.csv": CALLS, "mails.csv": MAILS}
EXPECTED = bx.Multiplex.from_edges(
    ["ann", "bob", "ann", "Zoë"], ["bob", "cid", "cid", "cid"], ["calls"] * 2 + ["mails"] * 2, weight=[1, 1, 0.5, 1.5]
)


def test_each_file_is_a_layer(tmp_path):
    lay_out(tmp_path / "net", BOTH)
    files = [tmp_path / "net" / name for name in BOTH]
    for what, named in ((tmp_path / "net", tmp_path / "net"), (files, f"{files[0]}, {files[1]}")):
        told, mx = said(lambda what=what: bx.read(what))
        assert mx == EXPECTED
        assert told == [
            f"{files[1]}: read as Windows-1252 text, with semicolons, with decimal commas.",
            f"{named}: each file is a layer: calls, mails.",
            f"{files[0]}: no column of weights; all edges have weight 1.",
        ]
        used = [each for each in mx.metadata["reading_notes"] if "columns used" in each]
        assert used == [
            f"{files[0]}: columns used: 'Source' as source, 'Target' as target.",
            f"{files[1]}: columns used: 'from' as source, 'to' as target, 'Weight' as weight.",
        ]
    assert said(lambda: bx.read(map(str, files)))[1] == EXPECTED


def test_what_many_files_have_in_common_is_said_once(tmp_path):
    lay_out(tmp_path, {f"day{day}.csv": f"source;target;note\na;b{day};x\n" for day in (1, 2, 10, 11)})
    told, mx = said(lambda: bx.read(tmp_path))
    assert mx.layer_names == ("day1", "day2", "day10", "day11")  # natural order
    first = f"{tmp_path / 'day1.csv'} and 3 more files: "
    assert [each.removeprefix(first) for each in told] == [
        "columns not used: note.",
        "read with semicolons.",
        f"{tmp_path}: each file is a layer: day1, day2, day10, day11.",
    ]


@pytest.mark.filterwarnings("ignore")
def test_layers_of_a_list_are_in_its_order(tmp_path):
    lay_out(tmp_path, {"2020.csv": CALLS, "2019.tsv": "source\ttarget\nann\tbob\n"})
    assert bx.read([tmp_path / "2020.csv", tmp_path / "2019.tsv"]).layer_names == (2020, 2019)
    assert bx.read(tmp_path).layer_names == (2019, 2020)


def test_a_file_with_a_column_of_layers_has_its_own(tmp_path):
    lay_out(tmp_path, BOTH | {"other.csv": "source,target,layer\nann,bob,talk\nann,cid,lunch\n"})
    told, mx = said(lambda: bx.read(tmp_path))
    assert mx.layer_names == ("calls", "lunch", "mails", "talk")
    assert edges_by_name(mx.subset(layers=["lunch", "talk"])) == [
        ("lunch", "ann", "cid", 1.0, None),
        ("talk", "ann", "bob", 1.0, None),
    ]
    assert f"{tmp_path}: layers named after files: calls, mails; in a column: other.csv ('layer')." in told


@pytest.mark.filterwarnings("ignore")
def test_columns_that_only_some_files_have(tmp_path):
    files = lay_out(tmp_path, {"calls.csv": CALLS, "mails.csv": "von;an\nann;cid\n"})
    paths = [files / "calls.csv", files / "mails.csv"]
    with refuses_file(paths[1], "'von', 'an'", "source='von', destination='an'"):
        bx.read(paths)
    for what in (files, paths):
        mx = bx.read(what, source="VON", target="an")
        assert mx.layer_sizes.tolist() == [2, 1]
    more = lay_out(tmp_path, {"more.csv": CALLS}) / "more.csv"
    with refuses("'who'", "source"):
        bx.read([paths[0], more], source="who")


def test_edges_under_other_headers_are_not_left_out(tmp_path):
    """Two columns of nodes, or one with repeats, beside a column of items, are edges; one row per node is none."""
    files = lay_out(tmp_path, {"calls.csv": CALLS, "team.csv": "chef;mitglied;seit\nann;bob;2020\ncid;ann;2021\n"})
    with refuses_file(files / "team.csv", "'chef', 'mitglied', 'seit'", "source='chef', destination='mitglied'"):
        bx.read(files)
    assert said(lambda: bx.read(files, source="chef", target="mitglied"))[1].layer_sizes.tolist() == [2, 2]
    (files / "team.csv").write_text("person,product\nann,tea\nann,jam\n")
    with refuses_file(files / "team.csv", "'person', 'product'"):
        bx.read(files)
    (files / "team.csv").write_text("person,product\nann,tea\nbob,jam\n")
    told, mx = said(lambda: bx.read(files))
    assert "team.csv (person, product)" in told[0]
    assert mx.layer_names == ("calls",)
    (files / "calls.csv").write_text("source,target\n1.0,2.0\n2.0,3.0\n")
    (files / "team.csv").write_text("chef,mitglied\n1,2\n3,1\n")
    with refuses_file(files / "team.csv", "'chef', 'mitglied'"):
        bx.read(files)
    (files / "calls.csv").write_text(CALLS)
    (files / "team.csv").write_text("id,manager\nann,bob\nbob,bob\n")  # a table of nodes by its name, too
    assert "team.csv (id, manager)" in said(lambda: bx.read(files))[0][0]


def test_each_file_has_columns_of_its_own(tmp_path):
    texts = {"calls.csv": CALLS, "mails.csv": "von,an\nann,cid\n", "team.csv": "chef,mitglied\nann,bob\n"}
    files = lay_out(tmp_path, texts)
    columns = {"source": ("von", "chef"), "target": ("an", "mitglied")}
    for what in (files, [files / name for name in texts]):
        mx = said(lambda what=what: bx.read(what, **columns))[1]
        assert mx.layer_sizes.tolist() == [2, 1, 1]
    with refuses("'wer'", "source"):
        bx.read(files, source=("von", "chef", "wer"), target=("an", "mitglied"))
    (files / "team.csv").write_text("chef,mitglied,von\nann,bob,cid\n")
    with refuses_file(files / "team.csv", "'von' and 'chef'"):
        bx.read(files, **columns)


def test_no_dates_or_numbers_are_offered_as_the_layer(tmp_path):
    text = "source,target,since,hours,team\n" + "".join(
        f"n{i},n{i + 1},2020-01-0{1 + i % 2},{i % 2},{'ab'[i % 2]}\n" for i in range(8)
    )
    files = lay_out(tmp_path, {"calls.csv": text, "mails.csv": text})
    assert "if 'team' is the layer" in said(lambda: bx.read(files / "calls.csv"))[0][0]
    for name in ("calls.csv", "mails.csv"):
        (files / name).write_text(text.replace(",team", "").replace(",a\n", "\n").replace(",b\n", "\n"))
    for what in (files / "calls.csv", files):
        told = said(lambda what=what: bx.read(what))[0][0]
        assert "is the layer" not in told
        assert "if 'since' is the time" in told


def test_files_that_are_no_edges_are_said(tmp_path):
    lay_out(tmp_path / "net", BOTH | {"people.csv": "id,age\nann,30\n", "readme.md": "", ".hidden.csv": "x"})
    told, mx = said(lambda: bx.read(tmp_path / "net"))
    assert mx == EXPECTED
    (left,) = [each for each in told if "not read" in each]
    assert "people.csv (id, age), readme.md" in left
    assert "node_table=FILE" in left
    people = tmp_path / "net" / "people.csv"
    people.write_text("id,age\nann,30\nbob,40\ncid,50\nZoë,60\n")
    (tmp_path / "net" / "readme.md").unlink()
    told, mx = said(lambda: bx.read(tmp_path / "net", node_table=people))
    assert mx.node_features[mx.node_index(["Zoë"])].tolist() == [[60]]
    assert not [each for each in told if "not read" in each]


def test_ids_are_one_kind_over_all_files(tmp_path):
    """123.0 in one file is 123 in another; a name among them makes all of them names."""
    lay_out(tmp_path, {"a.csv": "source,target\n123.0,7\n", "b.csv": "source,target\n123,8\n"})
    told, mx = said(lambda: bx.read(tmp_path))
    assert mx.node_names.tolist() == [7, 8, 123]
    assert any("123.0 and 123 are the same node" in each for each in told)
    lay_out(tmp_path, {"c.csv": "source,target\nann,8\n"})
    assert said(lambda: bx.read(tmp_path))[1].node_names.tolist() == ["123", "7", "8", "ann"]


@pytest.mark.filterwarnings("ignore")
def test_tables_of_all_kinds(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 3], "time": pd.to_datetime(["2025-09-19", "2025-09-20"])})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_excel(tmp_path / "b.xlsx", index=False)
    frame.assign(time=["19.09.2025", "20.09.2025"]).to_csv(tmp_path / "c.csv", index=False)
    frame.to_csv(tmp_path / "d.tsv.gz", index=False, sep="\t")
    mx = bx.read(tmp_path)
    assert mx.layer_names == ("a", "b", "c", "d")
    day = 24 * 60 * 60 * 10**9
    since = int(np.datetime64("2025-09-19", "D").astype(int))
    expected = [[1, 2, since * day], [2, 3, (since + 1) * day]]
    for layer in mx.layer_names:
        assert [[u, v, time] for name, u, v, _, time in edges_by_name(mx) if name == layer] == expected


@pytest.mark.parametrize(
    ("files", "wrong", "line", "values", "options"),
    [
        ({"a.csv": "source,target\n1,2\n", "b.csv": "source,target\n1,\n"}, "b.csv", 2, ["empty cell"], {}),
        ({"a.csv": CALLS, "b.csv": "source,target,weight\na,b,1\n\na,c,-1\n"}, "b.csv", 4, ["weight", "-1"], {}),
        ({"a.csv": CALLS, "b.csv": "source,target,weight\na,b,x\n"}, "b.csv", 2, ["weight", "'x'"], {}),
        ({"a.csv": "source,target,time\na,b,1\n", "b.csv": CALLS}, "b.csv", None, ["numbers", "time=''"], {}),
        (
            {"a.csv": "source,target,time\na,b,1\n", "b.csv": "source,target,time\na,b,2025-01-01\n"},
            *("b.csv", None, ["numbers", "a.csv", "dates"], {}),
        ),
        ({"a.csv": "source,target,time\na,b,1/2/2025\n"}, "a.csv", 2, ["date_format='dmy'"], {}),
        (
            {"a.csv": "Source,Target,Type\na,b,Directed\n", "b.csv": "Source,Target,Type\na,b,Undirected\n"},
            *("a.csv", None, ["directed=True", "b.csv"], {}),
        ),
        ({"a.csv": "source,target\n1,2\n", "b.csv": "source,target\n1,9\n"}, "b.csv", 2, ["9"], {"num_nodes": 3}),
        ({"a.csv": "who;whom\n1;2\n"}, "a.csv", None, ["'who', 'whom'", "source='who'"], {}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_errors_name_the_file(tmp_path, files, wrong, line, values, options):
    with refuses_file(tmp_path / wrong, *values, line=line):
        bx.read(lay_out(tmp_path, files), **options)


@pytest.mark.filterwarnings("ignore")
def test_files_of_the_same_name(tmp_path):
    lay_out(tmp_path, {"jan/calls.csv": CALLS, "feb/calls.csv": CALLS, "feb/calls.tsv": "source\ttarget\nann\tbob\n"})
    months = [tmp_path / "jan/calls.csv", tmp_path / "feb/calls.csv"]
    assert bx.read(months).layer_names == ("jan/calls", "feb/calls")
    assert bx.read(tmp_path / "feb").layer_names == ("calls.csv", "calls.tsv")
    with refuses("different files", months[0]):
        bx.read([months[0], months[0]])
    own = lay_out(tmp_path, {"own.csv": "source,target,layer\na,b,x\n"}) / "own.csv"
    with refuses("different files", own):
        bx.read([own, months[0], tmp_path / "jan" / ".." / "own.csv"])


def test_lists_that_are_no_tables(tmp_path):
    lay_out(tmp_path, BOTH | {"net.mpx": "#EDGES"})
    with refuses("a file or folder"):
        bx.read([])
    with refuses("net.mpx", ".parquet"):
        bx.read([tmp_path / "calls.csv", tmp_path / "net.mpx"])
    with refuses("nowhere.csv"):
        bx.read([tmp_path / "calls.csv", tmp_path / "nowhere.csv"])
    with refuses("csv", 2):
        bx.read([tmp_path / "calls.csv", tmp_path / "mails.csv"], format="csv")
    with refuses("verify", "tables"):
        bx.read(tmp_path, verify=True)
    with refuses_file(tmp_path / "net.mpx", "a folder"):
        read_tables(tmp_path / "net.mpx", TableOptions())


@pytest.mark.filterwarnings("ignore")
def test_two_kinds_of_nodes_in_several_files(tmp_path):
    lay_out(tmp_path, {"a.csv": "source,target\n1,2\n", "b.csv": "source,target\n2,1\n"})
    mx = bx.read(tmp_path, bipartite=True)
    assert sorted(mx.node_names.tolist()) == ["destination/1", "destination/2", "source/1", "source/2"]
    shop = {"views.csv": "user,item\n1,1\n", "buys.csv": "user,item\n1,2\n"}
    mx = bx.read(lay_out(tmp_path / "shop", shop), source="user", target="item", bipartite=True)
    assert dict(zip(mx.node_names.tolist(), mx.node_types.tolist(), strict=True)) == {
        "user/1": "user",
        "item/1": "item",
        "item/2": "item",
    }


@pytest.mark.filterwarnings("ignore")
def test_types_in_columns_of_several_files(tmp_path):
    lay_out(tmp_path, {"a.csv": "source,target,source_type,target_type\nann,tea,user,item\n"})
    assert bx.read(tmp_path).type_names == ("item", "user")
    with refuses_file(tmp_path / "b.csv", "source_type"):
        bx.read(lay_out(tmp_path, {"b.csv": CALLS}))


@pytest.mark.filterwarnings("ignore")
def test_directions_of_our_own_files_are_kept(tmp_path):
    arcs = bx.Multiplex.from_edges(["a", "b"], ["b", "a"], "x", directed=True)
    for name in ("one.csv", "two.csv"):
        bx.write(arcs, tmp_path / name)
    mx = bx.read([tmp_path / "one.csv", tmp_path / "two.csv"])
    assert mx.directed
    assert mx.num_edges == 2  # layer x of both files, merged


def test_tables_without_rows(tmp_path):
    """Input 1763 of `python -m fuzz --seed 7`: nothing is left of any table."""
    lay_out(tmp_path, {"a.csv": "source,target,time\n,b,1\n", "b.csv": "source,target\n"})
    mx = said(lambda: bx.read(tmp_path, missing="drop"))[1]
    assert (mx.layer_names, mx.num_nodes, mx.num_edges) == (("a", "b"), 0, 0)
    lay_out(tmp_path, {"c.csv": "source,target,time,weight\na,b,3,2\n"})
    mx = said(lambda: bx.read(tmp_path, missing="drop"))[1]
    assert edges_by_name(mx) == [("c", "a", "b", 2.0, 3)]


def test_progress_counts_bytes_of_all_files(tmp_path):
    lay_out(tmp_path, BOTH)
    told = []
    said(lambda: bx.read(tmp_path, progress=lambda *counts: told.append(counts)))
    assert told == [(len(CALLS), len(CALLS) + len(MAILS)), (len(CALLS) + len(MAILS),) * 2]


def test_pairs_without_an_edge_are_left_out(tmp_path):
    predicted = "source,destination,probability,score\nann,cid,0.5,0\n"
    lay_out(tmp_path, {"train.csv": CALLS, "test_negatives.csv": CALLS, "links.csv": predicted})
    told, mx = said(lambda: bx.read(tmp_path))
    assert mx.layer_names == ("train",)
    assert "test_negatives.csv" in told[0]
    assert "links.csv" in told[0]
