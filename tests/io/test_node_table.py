"""Attributes of nodes from a table, and edges that came later."""

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.cli.evaluate import _time as evaluate_time
from banditplex.io.tables.nodes import _ids
from tests.refusals import refuses

EDGES = "source,target,layer\nann,bob,work\nbob,cid,home\n"
PEOPLE = "id,type,age,income,town\ncid,user,50,1.5,Ulm\nann,user,30,2.5,Bonn\nbob,admin,40,0,Ulm\n"


def lay(tmp_path, edges=EDGES, people=PEOPLE, name="people.csv"):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / name).write_text(people)
    return tmp_path / "edges.csv", tmp_path / name


@pytest.mark.filterwarnings("ignore:.*(node features are|columns not used|without edges)")
@pytest.mark.parametrize("kind", ["csv", "semicolons", "tsv", "parquet", "xlsx"])
def test_types_and_features(tmp_path, kind):
    edges, people = lay(tmp_path)
    if kind == "semicolons":
        people.write_text(PEOPLE.replace(".", "#").replace(",", ";").replace("#", ","))
    elif kind != "csv":
        if kind == "xlsx":
            pytest.importorskip("openpyxl")
        frame, people = pd.read_csv(people), tmp_path / f"people.{kind}"
        if kind == "parquet":
            frame.to_parquet(people)
        elif kind == "xlsx":
            frame.to_excel(people, index=False)
        else:
            frame.to_csv(people, sep="\t", index=False)
    mx = bx.read(edges, node_table=people)
    assert mx.node_names.tolist() == ["ann", "bob", "cid"]
    assert mx.node_types.tolist() == ["user", "admin", "user"]
    assert mx.node_features.tolist() == [[30, 2.5], [40, 0], [50, 1.5]]
    assert mx.edges("work").T.tolist() == [[0, 1]]


def test_what_is_taken_is_said_and_can_be_given(tmp_path):
    edges, people = lay(tmp_path)
    with pytest.warns(UserWarning, match="people.csv") as told:
        bx.read(edges, node_table=people)
    said = " ".join(str(each.message) for each in told)
    assert "features are age, income" in said
    assert "not used: town" in said
    with pytest.warns(UserWarning, match="not used: type, income, town"):
        mx = bx.read(edges, node_table=people, node_columns={"type": "", "features": "age"})
    assert mx.node_types is None
    assert mx.node_features.tolist() == [[30], [40], [50]]


def test_a_node_table_of_gephi(tmp_path):
    """An empty column is no feature, and the labels are offered as names."""
    edges, nodes = lay(tmp_path, "Source,Target\nn0,n1\n", "Id,Label,timeset,age\nn0,Ann,,30\nn1,Bob,,40\n")
    with pytest.warns(UserWarning, match="csv") as told:
        mx = bx.read(edges, node_table=nodes)
    said = [str(each.message).partition(": ")[2] for each in told]
    assert "node features are age." in said
    label = "if 'Label' has the names of nodes, say node_columns={'name': 'Label'}."
    assert f"columns not used: Label (got 2 values in 2 rows); {label}" in said
    assert mx.node_features.tolist() == [[30], [40]]


def staff(tmp_path):
    """Six people; texts of few values are features, one each, in the order of the values."""
    edges = "source,target\n" + "".join(f"{a},{b}\n" for a, b in zip("abcdef", "bcdefa", strict=True))
    rows = [("a", "law", "F", "x1", "1", "Oslo"), ("b", "tax", "M", "x2", "2", "Oslo")]
    rows += [("c", "law", "", "x3", "?", "Oslo"), ("d", "tax", "F", "x4", "4", "Oslo")]
    rows += [("e", "law", "M", "x5", "5", "Oslo"), ("f", "law", "F", "x6", "6", "Oslo")]
    people = "id,department,sex,phone,rank,office\n" + "".join(",".join(row) + "\n" for row in rows)
    return lay(tmp_path, edges, people)


def test_texts_of_few_values_are_features(tmp_path):
    edges, people = staff(tmp_path)
    with pytest.warns(UserWarning, match="csv") as told:
        mx = bx.read(edges, node_table=people)
    said = [str(each.message).partition(": ")[2] for each in told]
    law, tax = [1, 0, 1, 0, 1, 1], [0, 1, 0, 1, 0, 0]
    woman = [1, 0, 0, 1, 0, 1]
    man = [0, 1, 0, 0, 1, 0]
    assert mx.node_features.T.tolist() == [law, tax]
    assert "node features are department: 2 values, one feature each." in said
    # 2 values in 5 rows of sex, which are no three rows each
    assert said[-1] == (
        "columns not used: sex (got 2 values in 5 rows), phone (got 6 values in 6 rows), rank (got '?' among numbers), "
        "office (got a single value)."
    )
    with pytest.warns(UserWarning, match="csv") as told:
        mx = bx.read(edges, node_table=people, node_columns={"features": "sex"})
    assert "sex: 2 values, one feature each (1 row without)" in str(told[0].message)
    assert mx.node_features.T.tolist() == [woman, man]
    many = people.with_name("many.csv")
    many.write_text("id,code\n" + "".join(f"{name},c{name}\n" for name in [*"abcdef", *range(60)]))
    with refuses(many, "50", "'code'", "66"):
        bx.read(edges, node_table=many, node_columns={"features": "code"})


def test_numbers_that_are_texts_are_no_choice(tmp_path):
    """A finding of `python -m fuzz --seed 9 --only nodes`: no cell is wrong, but the column has texts."""
    edges, _ = staff(tmp_path)
    people = tmp_path / "people.parquet"
    pd.DataFrame({"id": list("abcdef"), "code": ["1", "2"] * 3}).to_parquet(people)
    with pytest.warns(UserWarning, match=r"not used: code \(got numbers that are texts\)"):
        assert bx.read(edges, node_table=people).node_features is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_new_nodes_with_unseen_values(tmp_path, call, refusal):
    """Of a new department there is no feature; a table without departments is refused."""
    edges, people = staff(tmp_path)
    words = ("--epochs", "1", "--quiet", "--nodes", "people.csv")
    assert call("train", "edges.csv", "-o", "run", *words, cwd=tmp_path)[0] == 0
    (tmp_path / "new.csv").write_text("source,target\nz,a\n")
    new = people.with_name("new-people.csv")
    new.write_text("id,department\nz,art\na,law\n")
    ask = ("predict", "run", "--node", "z", "--context", "new.csv")
    assert "--nodes FILE" in refusal(*ask, cwd=tmp_path)
    status, out, error = call(*ask, "--nodes", "new-people.csv", cwd=tmp_path)
    assert status == 0, error
    assert {line.split(",")[0] for line in out.splitlines()[1:]} == {"z"}
    mx = bx.read(edges, node_table=people)
    later = bx.read(tmp_path / "new.csv", node_table=new, node_columns={"features": "department"})
    assert mx.with_edges(later).node_features[-2:].tolist() == [[1, 0], [0, 0]]  # of f and z
    new.write_text("id,age\nz,3\na,4\n")
    assert "'department'" in refusal(*ask, "--nodes", "new-people.csv", cwd=tmp_path)
    assert "--context" in refusal("predict", "run", "--nodes", "new-people.csv", cwd=tmp_path)
    with refuses(2, 3):
        plain = bx.Multiplex.from_edges(["a"], ["q"], "edges", node_features=np.zeros((2, 3)))
        mx.with_edges(plain)


def test_new_names_and_nodes_without_edges(tmp_path):
    edges, people = lay(tmp_path, "source,target\n1,2\n", "node,label\n2,Bob\n1,Ann\n7,Eve\n")
    with pytest.warns(UserWarning, match="1 node without edges, as 7"):
        mx = bx.read(edges, node_table=people, node_columns={"name": "label"})
    assert mx.node_names.tolist() == ["Ann", "Bob", "Eve"]
    assert mx.edges("edges").T.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("people", "columns", "values"),
    [
        ("id,age\nann,1\n", {}, ["2", "'bob'"]),
        ("id,age\nann,1\nann,2\nbob,1\ncid,1\n", {}, ["'ann'"]),
        ("id,age\nann,1\nbob,\ncid,3\n", {}, ["row 2", "'age'", "empty"]),
        ("id,age\nann,1\nbob,much\ncid,3\n", {"features": "age"}, ["'age'", "'much'"]),
        ("id,age\nann,1\nbob,2\ncid,3\n", {"features": "size"}, ["'size'"]),
        ("id,age\nann,1\nbob,2\ncid,3\n", {"type": "role"}, ["'role'", "'age'"]),
        ("id,age\nann,1\n,2\n", {}, ["row 2", "'id'"]),
        ("", {}, []),
    ],
)
@pytest.mark.filterwarnings("ignore:.*node features are")
def test_bad_tables_of_nodes(tmp_path, people, columns, values):
    edges, path = lay(tmp_path, people=people)
    with refuses(path, *values):
        bx.read(edges, node_table=path, node_columns=columns)


def test_numbers_that_pandas_cannot_hold(tmp_path, monkeypatch):
    """What pandas 3.0 raises for an integer of 400 digits; later versions read it as a text."""

    def overflow(*words, **options):
        raise OverflowError("int too large to convert to float")

    edges, path = lay(tmp_path, people=f"id,age\nann,{'9' * 400}\nbob,2\ncid,3\n")
    monkeypatch.setattr(pd, "read_csv", overflow)
    with refuses(path, "too large"):
        bx.read(edges, node_table=path)


def test_the_command_line_reads_nodes(tmp_path, call, refusal):
    lay(tmp_path)
    words = ("--nodes", "people.csv", "--node-columns", "features=age", "--node-columns", "type=town")
    status, _, said = call("convert", "edges.csv", "net.bx", *words, cwd=tmp_path)
    assert status == 0
    assert "not used: type, income" in said
    mx = bx.read(tmp_path / "net.bx")
    assert mx.node_types.tolist() == ["Bonn", "Ulm", "Ulm"]
    assert mx.node_features.ravel().tolist() == [30, 40, 50]
    assert "--nodes" in refusal("convert", "edges.csv", "x.bx", "--node-columns", "id=id", cwd=tmp_path)
    assert "--nodes" in refusal("convert", "twins", "x.bx", "--nodes", "people.csv", cwd=tmp_path)


# Edges that came later


def test_later_edges_are_added():
    mx = bx.Multiplex.from_edges(["b", "a"], ["c", "b"], ["x", "y"], weight=[1, 2])
    later = bx.Multiplex.from_edges(["a", "z"], ["b", "a"], ["y", "x"], weight=[3, 4])
    expected = bx.Multiplex.from_edges(
        ["b", "a", "z"], ["c", "b", "a"], ["x", "y", "x"], weight=[1, 5, 4], node_names=["a", "b", "c", "z"]
    )
    assert mx.with_edges(later) == expected
    plain = bx.Multiplex.from_edges([0], [1], "x", time=[5])
    assert plain.with_edges(bx.Multiplex.from_edges([1], [2], "x", time=[7])).time.tolist() == [5, 7]
    assert plain.with_edges(bx.Multiplex.from_edges([1], [2], "x")).time is None


@pytest.mark.filterwarnings("ignore:.* ids are shared by")
def test_later_edges_of_users_and_items_that_share_ids(tmp_path):
    """The few later edges share none, and would be read as 7 instead of user/7."""
    (tmp_path / "log.csv").write_text("user,item,kind\n1,1,view\n7,2,view\n2,3,buy\n7,1,buy\n")
    (tmp_path / "new.csv").write_text("user,item,kind\n7,3,view\n9,2,view\n")
    columns = {"source": "user", "destination": "item", "layer": "kind", "bipartite": True}
    joint = bx.read(tmp_path / "log.csv", **columns).with_edges(bx.read(tmp_path / "new.csv", **columns))
    assert joint.node_names.tolist()[-1] == "user/9"
    assert joint.node_types.tolist()[-1] == "user"
    assert joint.has_edges(joint.node_index([["user/7", "item/3"], ["user/9", "item/2"]]), "view").all()
    assert joint.num_edges == 6


@pytest.mark.parametrize(
    ("later", "values"),
    [
        (bx.Multiplex.from_edges([0], [1], "q"), ["'q'"]),
        (bx.Multiplex.from_edges([0], [1], "x", directed=True), ["directed=False"]),
        (bx.Multiplex.from_edges(["0"], ["1"], "x"), ["integers", "strings"]),
        (bx.Multiplex.from_edges([0], [9], "x"), ["node types", "for 9."]),
    ],
)
def test_edges_that_do_not_fit_are_refused(later, values):
    mx = bx.Multiplex.from_edges([0], [1], "x", node_types=["u", "i"])
    with refuses(*values):
        mx.with_edges(later)


def test_predictions_see_later_edges(tmp_path, call, refusal):
    """Node 30 is new; it has the neighbours of node 0, so that its best new link is to one of them, or to node 0."""
    rng = np.random.default_rng(0)
    ends = np.array([(u, v) for u in range(30) for v in range(u) if u % 3 == v % 3 and rng.random() < 0.8])
    mx = bx.Multiplex.from_edges(*ends.T, "x")
    model = bx.LinkPredictor(epochs=5, width=0, seed=0).fit(mx)
    model.save(tmp_path / "run")
    (tmp_path / "new.csv").write_text("from,to,layer\n30,3,x\n30,6,x\n30,9,x\n30,12,x\n")
    (tmp_path / "pairs.csv").write_text("source,target\n30,15\n30,1\n")
    words = ("predict", "run", "--layer", "x", "--pairs", "pairs.csv")
    assert "30" in refusal(*words, cwd=tmp_path)
    status, out, _ = call(*words, "--context", "new.csv", cwd=tmp_path)
    assert status == 0
    scores = [float(line.split(",")[3]) for line in out.splitlines()[1:]]
    context = mx.with_edges(bx.Multiplex.from_edges([30] * 4, [3, 6, 9, 12], "x"))
    assert scores == model.score_pairs([[30, 15], [30, 1]], "x", context=context).tolist()
    assert scores[0] > scores[1]
    (tmp_path / "new.csv").write_text("from,to,layer\n30,3,y\n")
    assert "new.csv: Unknown layer 'y'" in refusal(*words, "--context", "new.csv", cwd=tmp_path)
    (tmp_path / "new.csv").write_text("from,to\n30,3\n")
    assert "column 'layer'" in refusal(*words, "--context", "new.csv", cwd=tmp_path)


# Evaluation by time


def test_evaluate_after_a_date(tmp_path, call, refusal):
    """Edges of 2021 are tested, and those alone: of 40 later lines, 30 are new pairs."""
    rng = np.random.default_rng(0)
    pairs = [(u, v) for u in range(30) for v in range(u)]
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[:130]]
    lines = [f"{u},{v},2020-0{1 + i % 9}-01" for i, (u, v) in enumerate(chosen[:100])]
    lines += [f"{u},{v},2021-02-01" for u, v in [*chosen[100:], *chosen[:10]]]
    (tmp_path / "net.csv").write_text("source,target,time\n" + "\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="10 of 140 rows merged .* the earliest time counts"):
        mx = bx.read(tmp_path / "net.csv")
    options = {"hide": "layer", "trials": 2, "engine": "serial", "after": np.datetime64("2021-01-01")}
    rows = list(bx.evaluate(bx.LinkPredictor(epochs=1, width=0), mx, **options))
    means = [row for row in rows if row["scope"] == "mean"]
    assert [(row["trial"], row["fold"], row["train_edges"], row["test_edges"]) for row in means] == [
        (0, 0, 100, 30), (1, 0, 100, 30)
    ]  # fmt: skip
    words = (
        "evaluate",
        "net.csv",
        "--hide",
        "layer",
        "--trials",
        "1",
        "--policy",
        "none",
        "--epochs",
        "1",
        "--width",
        "0",
    )
    status, out, _ = call(*words, "--engine", "serial", "--after", "2021-01-01", "--json", cwd=tmp_path)
    assert status == 0
    assert '"after": "2021-01-01"' in out
    assert "'soon'" in refusal(*words, "--after", "soon", cwd=tmp_path)
    assert "'04/05/2021'" in refusal(*words, "--after", "04/05/2021", cwd=tmp_path)  # of April, or of May?
    assert evaluate_time("01.02.2021") == np.datetime64("2021-02-01")
    assert evaluate_time("04/05/2021", "dmy") == np.datetime64("2021-05-04")


def test_ids_that_a_table_holds_as_decimals(tmp_path):
    """A column with empty cells is read as decimals: 7.0 is the node "7", but 7.5 stays as it is."""
    mx = bx.Multiplex.from_edges(["7", "x"], ["8", "7.5"], ["a", "a"])
    assert _ids(pd.Series([7.0, 8.0], name="id"), mx, tmp_path).tolist() == ["7", "8"]
    assert _ids(pd.Series([7.5, 8.0], name="id"), mx, tmp_path).tolist() == ["7.5", "8.0"]
    assert _ids(pd.Series([7.0, np.inf], name="id"), mx, tmp_path).tolist() == ["7.0", "inf"]  # found by fuzzing
