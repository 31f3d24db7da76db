"""`banditplex predict` as a user meets it."""

import json
import re
import shutil
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.cli.output import write_table
from banditplex.cli.predict import load_model, predictions
from banditplex.io.tables.nodes import read_pairs
from tests.refusals import refuses


def test_predict_pairs(place, model, call, refusal):
    (place / "pairs.csv").write_text("source,target\n0,1\n3,9\n12,4\n")
    pairs = [[0, 1], [3, 9], [12, 4]]
    words = ("predict", "run", "--layer", "c", "--pairs", "pairs.csv", "-o", "out.csv")
    status, text, note = call(*words, cwd=place)
    assert (status, text) == (0, "out.csv: 3 pairs\n")
    assert f"every tenth link is unknown: a share of {model.default_prior('c'):.2g} of" in note
    assert "--prior" in note
    table = pd.read_csv(place / "out.csv")
    assert table.columns.tolist() == ["source", "destination", "probability", "score"]
    assert table[["source", "destination"]].to_numpy().tolist() == pairs
    assert table["score"].tolist() == pytest.approx(model.score_pairs(pairs, "c").tolist())
    assert table["probability"].tolist() == pytest.approx(model.predict_proba(pairs, "c").tolist())
    assert "exists" in refusal("predict", "run", "--layer", "c", "--top", "2", "-o", "out.csv", cwd=place)
    status, text, _ = call(*words, "--force", "--json", cwd=place)
    assert (status, json.loads(text)) == (0, {"out": "out.csv", "layer": "c", "pairs": 3})


def test_each_pair_in_its_own_layer(place, model, call):
    """Rows stay in the order of the file; a label of 0 and 1 is no layer."""
    (place / "own.csv").write_text("layer,target,source,label\n c,1,0,1\na,9,3,0\nc,4,12,0\n")
    asked = [([0, 1], "c"), ([3, 9], "a"), ([12, 4], "c")]
    status, text, _ = call("predict", "run", "--pairs", "own.csv", cwd=place)
    assert status == 0
    table = pd.read_csv(StringIO(text))
    assert table.columns.tolist() == ["layer", "source", "destination", "probability", "score"]
    assert table["layer"].tolist() == [layer for _, layer in asked]
    assert table[["source", "destination"]].to_numpy().tolist() == [pair for pair, _ in asked]
    assert table["score"].tolist() == pytest.approx([model.score_pairs([pair], layer)[0] for pair, layer in asked])
    frame = pd.read_csv(place / "own.csv", skipinitialspace=True)
    assert table["probability"].tolist() == pytest.approx(model.predict_proba(frame).tolist())
    rows = json.loads(call("predict", "run", "--pairs", "own.csv", "--explain", "--json", cwd=place)[1])
    assert [row["target"] for row in rows if row["term"] == "base"] == ["c", "a", "c"]
    assert [row["source"] for row in rows if row["term"] == "base"] == [0, 3, 12]
    (place / "kinds.tsv").write_text("source\ttarget\tkind\n0\t1\tc\n")
    words = ("predict", "run", "--pairs", "kinds.tsv", "--json")
    assert [row["layer"] for row in json.loads(call(*words, cwd=place)[1])] == ["a", "c"]
    assert [row["layer"] for row in json.loads(call(*words, "--columns", "layer=kind", cwd=place)[1])] == ["c"]
    (place / "none.csv").write_text("source,target,layer\n")
    assert call("predict", "run", "--pairs", "none.csv", "--prior", "0.5", cwd=place)[:2] == (
        0, "layer,source,destination,probability,score\n",
    )  # fmt: skip


def test_a_layer_in_a_table_of_pairs_that_is_no_target(place, trained, refusal, call):
    for layer in ("b", "z", ""):
        (place / "wrong.csv").write_text(f"source,target,layer\n0,1,a\n3,9,{layer}\n")
        message = refusal("predict", "run", "--pairs", "wrong.csv", cwd=place)
        assert message.startswith("wrong.csv, line 3")
        assert not layer or ("'a', 'c'" in message and f"'{layer}'" in message)
    message = refusal("predict", "run", "--pairs", "wrong.csv", "--layer", "a", cwd=place)
    assert all(word in message for word in ("--layer", "'layer'", "wrong.csv", "--columns layer="))
    words = ("predict", "run", "--pairs", "wrong.csv", "--columns", "layer=", "--json")
    assert [row["layer"] for row in json.loads(call(*words, cwd=place)[1])] == ["a", "a", "c", "c"]
    assert len(json.loads(call(*words, "--layer", "a", cwd=place)[1])) == 2


def test_predict_top_to_stdout(place, model, call):
    words = ("predict", "run", "--layer", "a", "--top", "4", "--prior", "0.1")
    rows = json.loads(call(*words, "--json", cwd=place)[1])
    expected = model.recommend("a", top=4, prior=0.1)
    assert [[row["source"], row["destination"]] for row in rows] == expected.iloc[:, :2].to_numpy().tolist()
    assert [row["probability"] for row in rows] == pytest.approx(expected["probability"].tolist())
    _, text, note = call(*words, cwd=place)
    lines = text.splitlines()
    assert "--prior" not in note  # it was given
    assert lines[0] == "source,destination,probability,score"
    assert len(lines) == 5


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_of_every_kind(ending, model, tmp_path):
    path = tmp_path / f"pairs.{ending}"
    write_table(pd.DataFrame({"source": [5, 6], "destination": [7, 8], "more": ["x", "y"]}), path)
    table = predictions(model, "a", pairs=read_pairs(path, model.multiplex_))
    assert table["score"].tolist() == model.score_pairs([[5, 7], [6, 8]], "a").tolist()


def test_names_stay_what_they_are(tmp_path):
    """Names like NA and 007 are names, not gaps and numbers."""
    ends = np.random.default_rng(0).integers(0, 12, (2, 80))
    names = np.array(["NA", "007", "7", *"abcdefghi"], dtype=object)
    mx = bx.Multiplex.from_edges(names[ends[0]], names[ends[1]], np.repeat([1, 2], 40), self_loops="drop")
    model = bx.LinkPredictor(epochs=1, width=0).fit(mx, [2])
    model.save(tmp_path / "run")
    (tmp_path / "pairs.tsv").write_text("source\ttarget\nNA\t007\n7\ta\n")
    table = predictions(load_model(tmp_path / "run"), "2", pairs=read_pairs(tmp_path / "pairs.tsv", mx))
    assert table[["source", "destination"]].to_numpy().tolist() == [["NA", "007"], ["7", "a"]]
    assert table["score"].tolist() == model.score_pairs([["NA", "007"], ["7", "a"]], 2).tolist()


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("p.csv", "source,target\n0,1\n0,99\n", ("line 3", "'target'", "'99'", "'9'")),
        ("p.csv", "target,source\n\n\nx,1\n", ("line 4", "'target'", "'x'", "0, 1,")),
        ("p.csv", "source,destination\n0,01\n", ("line 2", "'destination'", "'01'")),
        ("p.csv", "source,target\n0,1\n5,5\n", ("line 3", "'5'")),
        ("p.csv", "source,target\n0,1\n5\n", ("line 3", "2 columns", "source, target", "1")),
        ("p.csv", "source,target\n0,1\n5,\n", ("line 3", "destination", "empty")),
        ("p.csv", "who,whom\n0,1\n", ("'source'", "'who'", "'whom'")),
        ("p.csv", "", ("empty",)),
        ("p.parquet", "no", ("Parquet",)),
        ("p.txt", "0 1\n", (".csv", ".tsv", ".parquet")),
    ],
)
def test_bad_pairs(name, text, named, model, tmp_path):
    (tmp_path / name).write_text(text)
    with refuses(name, *named):
        read_pairs(tmp_path / name, model.multiplex_)


def test_pairs_in_columns_of_other_names(place, model, call, refusal):
    (place / "transfers.csv").write_text("who,whom,amount\n0,1,5\n2.0,3,7\n")
    words = ("predict", "run", "--layer", "a", "--pairs", "transfers.csv")
    message = refusal(*words, cwd=place)
    assert "'who', 'whom', 'amount'" in message
    assert "--columns source=NAME" in message
    status, out, _ = call(*words, "--columns", "source=who", "--columns", "target=whom", "--json", cwd=place)
    assert status == 0
    assert [row["score"] for row in json.loads(out)] == model.score_pairs([[0, 1], [2, 3]], "a").tolist()
    message = refusal("predict", "run", "--layer", "a", "--top", "1", "--columns", "source=from", cwd=place)
    assert "--columns" in message
    assert "--pairs FILE" in message


def test_later_edges_in_columns_of_other_names(place, model, call, refusal):
    """The answers are those of Python with the same three edges."""
    words = ("predict", "run", "--layer", "a", "--top", "3", "--node", "0", "--json")
    later = bx.Multiplex.from_edges([0, 0, 7], [7, 8, 20], ["a", "c", "a"])
    expected = model.recommend("a", node=0, top=3, context=model.multiplex_.with_edges(later))
    (place / "later.csv").write_text("who,whom,layer\n0,7,a\n0,8,c\n7,20,a\n")
    assert "--columns source=" in refusal(*words, "--context", "later.csv", cwd=place)
    status, out, error = call(*words, "--context", "later.csv", "--columns", "source=who,target=whom", cwd=place)
    assert status == 0, error
    assert [row["destination"] for row in json.loads(out)] == expected["destination"].tolist()
    assert [row["probability"] for row in json.loads(out)] == pytest.approx(expected["probability"].tolist())


def test_columns_that_training_guessed_are_known_later(tmp_path, call):
    """One later edge is too few to guess them from; the answers are those of Python with the same edge."""
    ends = np.random.default_rng(0).integers(0, 12, (60, 2)).tolist()
    rows = [f"n{a},n{b},{'call' if place % 2 else 'mail'}" for place, (a, b) in enumerate(ends) if a != b]
    (tmp_path / "net.csv").write_text("\n".join(["who,whom,medium", *rows]) + "\n")
    words = ("train", "net.csv", "-o", "run", "--target", "mail", "--epochs", "1", "--width", "0", "--quiet")
    assert call(*words, cwd=tmp_path)[0] == 0
    (tmp_path / "later.csv").write_text("medium,whom,who\ncall,n30,n1\n")
    (tmp_path / "usual.csv").write_text("source,target,layer\nn1,n30,call\n")
    (tmp_path / "pairs.csv").write_text("whom,who\nn30,n2\n")
    model = load_model(tmp_path / "run")
    later = model.multiplex_.with_edges(bx.Multiplex.from_edges(["n1"], ["n30"], ["call"]))
    score = model.score_pairs([["n2", "n30"]], "mail", context=later)[0]
    for name in ("later.csv", "usual.csv"):
        words = ("predict", "run", "--context", name, "--pairs", "pairs.csv", "--json")
        status, out, error = call(*words, cwd=tmp_path)
        assert status == 0, error
        assert [(row["source"], row["destination"]) for row in json.loads(out)] == [("n2", "n30")]
        assert [row["score"] for row in json.loads(out)] == pytest.approx([score])


def test_hints_name_no_option_that_predict_lacks(place, model, call, refusal):
    """Training reads other files of the same columns with --bipartite or --no-header."""
    words = ("predict", "run", "--layer", "a", "--top", "1", "--context")
    (place / "typed.csv").write_text("source,target,layer,source_type,target_type\n0,1,a,x,y\n1,2,a,x,y\n")
    (place / "ab.csv").write_text("a,b\n0,1\n")
    for name, named in (("typed.csv", "'x' and 'y'"), ("ab.csv", "--columns source=NAME")):
        message = refusal(*words, name, cwd=place)
        assert named in message
        assert [word for word in re.findall(r"--[\w-]+", message) if word != "--columns"] == []
    (place / "two.csv").write_text("user,item,layer\n0,1,a\n")
    status, _, said = call(*words, "two.csv", "--columns", "source=user,target=item", cwd=place)
    assert status == 0
    assert "share no node" not in said
    assert "--bipartite" not in said


def test_an_empty_cell_in_a_table_of_pairs_has_no_hint_that_the_command_lacks(place, trained, refusal):
    (place / "gaps.csv").write_text("source,target\n0,\n1,2\n,3\n")
    message = refusal("predict", "run", "--layer", "a", "--pairs", "gaps.csv", cwd=place)
    assert "gaps.csv, line 2: " in message
    assert "2 such rows in all" in message
    assert "missing" not in message


def test_twenty_links_by_default(place, model, call):
    words = ("predict", "run", "--layer", "a", "--prior", "0.1", "--json")
    for more, node in (((), None), (("--node", "7"), 7)):
        rows = json.loads(call(*words, *more, cwd=place)[1])
        assert [row["destination"] for row in rows] == model.recommend("a", top=20, node=node)["destination"].tolist()


def test_the_layer_is_the_only_target(place, model, call, refusal):
    message = refusal("predict", "run", cwd=place)
    assert "--layer NAME" in message
    assert "'a', 'c'" in message
    bx.LinkPredictor(epochs=1, width=0).fit(model.multiplex_, ["c"]).save(place / "one")
    assert f"a share of {model.default_prior('c'):.2g} of" in call("predict", "one", "--top", "1", cwd=place)[2]


def test_a_layer_no_better_than_chance_is_warned_of(place, model, call, tmp_path):
    shutil.copytree(place / "run", tmp_path / "run")
    names = model.layer_probabilities_.index.tolist()
    row = {"edges": 9, "roc_auc": 0.52, "low": 0.3, "high": 0.7}
    rows = [row | {"clear": name != "c"} for name in names]
    (tmp_path / "run" / "about.json").write_text(json.dumps({"held_out": {"bins": [], "targets": rows}}))
    told = {name: call("predict", "run", "--layer", name, "--top", "1", cwd=tmp_path)[2] for name in ("a", "c")}
    assert "layer 'c' (ROC-AUC 0.52) the model is not clearly better than chance" in told["c"]
    assert "chance" not in told["a"]


def test_near_names_are_offered(place, refusal):
    mx = bx.Multiplex.from_edges(
        [f"customer/{i}" for i in range(12)] * 2, [f"item/{i % 5}" for i in range(12)] * 2, ["x"] * 12 + ["y"] * 12
    )
    bx.LinkPredictor(epochs=1, width=0).fit(mx, ["x"]).save(place / "shop")
    words = ("predict", "shop", "--layer", "x", "--node")
    assert refusal(*words, "4", cwd=place) == "Unknown node '4'; did you mean 'customer/4' or 'item/4'?"
    assert refusal(*words, "Customer/7", cwd=place) == "Unknown node 'Customer/7'; did you mean 'customer/7'?"
    assert refusal(*words, "custmer/7", cwd=place) == "Unknown node 'custmer/7'; did you mean 'customer/7'?"
    assert "A node that came later needs --context" in refusal(*words, "someone", cwd=place)


@pytest.mark.parametrize(("name", "mark"), [("Jürgen", b"\xef\xbb\xbf"), ("Jurgen", b"")])
def test_excel_and_our_own_reader_see_the_same_names(tmp_path, name, mark):
    """Excel takes a file for UTF-8 only if it begins with a byte order mark; without need there is none."""
    frame = pd.DataFrame({"source": [name], "destination": ["Eva"], "probability": [0.5]})
    write_table(frame, tmp_path / "links.csv")
    assert (tmp_path / "links.csv").read_bytes() == mark + f"source,destination,probability\n{name},Eva,0.5\n".encode()
    assert pd.read_csv(tmp_path / "links.csv").equals(frame)
    with pytest.warns(UserWarning, match="columns not used: probability"):
        assert bx.read(tmp_path / "links.csv").node_names.tolist() == ["Eva", name]
    write_table(frame, tmp_path / "links.tsv")
    assert not (tmp_path / "links.tsv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_pairs_of_an_empty_table(model, tmp_path):
    (tmp_path / "p.csv").write_text("source,target\n")
    assert len(predictions(model, "a", pairs=read_pairs(tmp_path / "p.csv", model.multiplex_))) == 0


def test_one_question_at_a_time(tmp_path, refusal):
    """Said before the model is looked for."""
    for flag in (("--top", "3"), ("--node", "7"), ("--exact",)):
        message = refusal("predict", "nowhere", "--layer", "a", "--pairs", "p.csv", *flag, cwd=tmp_path)
        assert "--pairs FILE" in message
        assert flag[0] in message
    assert "--prior" in refusal("predict", "nowhere", "--prior", "2", cwd=tmp_path)
    message = refusal("predict", "nowhere", "--layer", "a", "--top", "3", "--force", cwd=tmp_path)
    assert "--force" in message
    assert "-o FILE" in message


def test_what_cannot_be_predicted(model, tmp_path):
    with refuses(tmp_path / "p.csv"):
        read_pairs(tmp_path / "p.csv", model.multiplex_)
    with refuses("'b'", "'a'", "'c'"):
        predictions(model, "b", top=3)
    with refuses("model.json"):
        load_model(tmp_path)


def test_reasons_are_the_terms_of_each_score(place, model, call):
    (place / "few.csv").write_text("source,target\n0,1\n3,9\n0,1\n")
    words = ("predict", "run", "--layer", "c", "--pairs", "few.csv", "--explain", "--json", "--prior", "0.5")
    rows = pd.DataFrame(json.loads(call(*words, cwd=place)[1]))
    terms = model.explain([[0, 1], [3, 9]], "c")
    first = terms[(terms["source"] == 0) & (terms["destination"] == 1)]
    expected = pd.concat([first, terms[terms["source"] == 3], first], ignore_index=True)
    assert rows[["source", "destination", "term", "layer"]].to_numpy().tolist() == expected.iloc[:, :4].values.tolist()
    assert rows["value"].tolist() == pytest.approx(expected["value"].tolist())
    scores = model.score_pairs([[0, 1], [3, 9]], "c")
    assert rows["score"].unique().tolist() == pytest.approx(scores.tolist())


def test_a_terminal_shows_few_digits_and_what_terms_are(place, model, call, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    _, text, _ = call("predict", "run", "--layer", "c", "--top", "1", "--explain", "--prior", "0.5", cwd=place)
    found = model.recommend("c", top=1, prior=0.5)
    first = text.splitlines()[1].split()
    score = model.score_pairs(found.iloc[:, :2].to_numpy(), "c")[0]
    assert first[2:4] == [f"{found['probability'][0]:.4g}", f"{score:.4g}"]
    assert all(word in " ".join(text.split()) for word in ("base: the score of a typical pair", "drawn: the neighb"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    text = " ".join(call("predict", "--help", cwd=place)[1].split())
    assert all(word in text for word in ("base is the score of a typical", "drawn, the neighbourhood"))


def test_links_of_a_node_in_every_target(place, model, call):
    """The best of each target in turn, as Python ranks them one by one."""
    words = ("predict", "run", "--node", "7.0", "--top", "2")
    _, text, note = call(*words, cwd=place)
    rows = pd.read_csv(StringIO(text))
    expected = [model.recommend(layer, node=7, top=2).assign(layer=layer) for layer in ("a", "c")]
    columns = ["layer", "source", "destination"]
    assert rows[columns].to_numpy().tolist() == pd.concat(expected)[columns].to_numpy().tolist()
    assert rows["probability"].tolist() == pytest.approx(pd.concat(expected)["probability"].tolist())
    low, high = sorted(model.default_prior(layer) for layer in ("a", "c"))
    assert f"a share of {low:.2g} to {high:.2g} of" in note
    rows = json.loads(call(*words, "--explain", "--json", cwd=place)[1])
    assert list(dict.fromkeys(row["target"] for row in rows)) == ["a", "c"]
    (place / "asked.csv").write_text("source,target\n0,1\n")
    rows = json.loads(call("predict", "run", "--pairs", "asked.csv", "--json", cwd=place)[1])
    assert [row["score"] for row in rows] == [model.score_pairs([[0, 1]], layer)[0] for layer in ("a", "c")]


def test_nodes_are_found_as_they_were_read(tmp_path, call, refusal):
    """Anna and anna were merged when the data were read, so ANNA is found, too."""
    rng = np.random.default_rng(0)
    names = ["Anna", "Bob  Lee", "cid", *"defghij"]
    lines = [f"{names[a]},{names[b]}" for a, b in rng.integers(0, 10, (25, 2)).tolist() if a != b]
    (tmp_path / "net.csv").write_text("\n".join(["source,target", *lines, "anna,cid"]) + "\n")
    words = ("train", "net.csv", "--epochs", "1", "--width", "0", "--quiet", "-o")
    assert call(*words, "folded", "--fold-case", cwd=tmp_path)[0] == 0
    _, text, _ = call("predict", "folded", "--node", "ANNA", "--top", "1", cwd=tmp_path)
    assert "Anna" in text.splitlines()[1]
    (tmp_path / "pairs.csv").write_text("source,target\n BOB lee,ANNA\n")
    assert (
        call("predict", "folded", "--pairs", "pairs.csv", cwd=tmp_path)[1].splitlines()[1].startswith("Bob  Lee,Anna,")
    )
    assert call(*words, "plain", cwd=tmp_path)[0] == 0
    assert "'ANNA'" in refusal("predict", "plain", "--node", "ANNA", cwd=tmp_path)
    assert "BOB lee" in refusal("predict", "plain", "--pairs", "pairs.csv", cwd=tmp_path)


def test_links_of_one_node_and_all_pairs_on_request(place, model, call, refusal, monkeypatch):
    words = ("predict", "run", "--layer", "a", "--top", "3", "--prior", "0.1", "--json")
    rows = json.loads(call(*words, "--node", "7", cwd=place)[1])
    assert [row["destination"] for row in rows] == model.recommend("a", node=7, top=3)["destination"].tolist()
    monkeypatch.setattr("banditplex.answers.ranking.EXACT", 10)
    _, text, note = call(*words, cwd=place)
    assert "--exact" in note
    assert "candidates: pairs linked" in note
    everything, text, note = call(*words, "--exact", cwd=place)
    assert everything == 0
    assert [row["score"] for row in json.loads(text)] == pytest.approx(
        model.score_pairs(model.recommend("a", top=3, exact=True).iloc[:, :2].to_numpy(), "a").tolist()
    )
    assert "takes about" in note
    assert "candidates" not in note


def test_the_place_of_a_table_is_named_not_that_of_its_draft(tmp_path):
    (tmp_path / "out.csv").mkdir()
    with refuses(f"{tmp_path / 'out.csv'}: ", "directory"):
        write_table(pd.DataFrame({"source": [1]}), tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_folder_is_no_table_of_pairs(model, tmp_path):
    with refuses(tmp_path, "a folder"):
        read_pairs(tmp_path, model.multiplex_)
    with refuses(tmp_path / "nowhere.csv", "no such file"):
        read_pairs(tmp_path / "nowhere.csv", model.multiplex_)


def test_a_file_of_later_edges_that_is_not_there(place, model, refusal):
    assert "nope.csv: no such file" in refusal("predict", "run", "--layer", "a", "--context", "nope.csv", cwd=place)
