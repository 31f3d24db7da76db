"""Names from files reach the terminal as text: no control sequence, no markup, no formula."""

import sys

import pytest

import banditplex as bx
from banditplex.cli.output import without_formulas
from banditplex.terminal import escape
from tests.persistence.killed import multiplex

ODD = "a\x1b]0;pwned\x07\x1b[31mb\u202e\x9b"
RAW = ("\x1b", "\x07", "\u202e", "\x9b")


def hostile(layer=ODD):
    """A small multiplex whose names hold control sequences."""
    mx = multiplex()
    names = [f"{ODD}{place}" for place in range(mx.num_nodes)]
    layers = [layer, *mx.layer_names[1:]]
    return bx.Multiplex.from_indices(*mx.edge_index, mx.edge_layer, node_names=names, layer_names=layers)


def test_escapes_are_those_of_python():
    assert escape("a\x1b\r\n\t\x9b\u2028\ud800é猫🦉") == r"a\x1b\r\n\t\x9b\u2028\ud800é猫🦉"


@pytest.mark.parametrize(
    "words",
    [
        ("datasets", "show", "net.bx"),
        ("convert", "net.bx", f"{ODD}.csv"),
        ("convert", f"{ODD}.nothing", "x.csv"),
        ("datasets", "show", f"{ODD}.csv2"),
        ("train", "net.bx", "-o", f"run{ODD}", "--epochs", "1", "--warmup", "0", "--width", "0"),
        ("train", "net.bx", "-o", "run", "--target", ODD + "?"),
        ("predict", f"{ODD}", "--layer", "a", "--top", "1"),
        ("evaluate", "net.bx", "--hide", "layer", f"--policy={ODD}"),
        (f"{ODD}",),
    ],
    ids=lambda words: words[0] if len(words[0]) < 20 else "command",
)
def test_no_command_prints_control_characters(words, tmp_path, call):
    bx.write(hostile(), tmp_path / "net.bx")
    _, out, error = call(*words, cwd=tmp_path)
    assert out + error
    assert not any(mark in out + error for mark in RAW)


def test_columns_and_cells_of_a_table(tmp_path, call):
    (tmp_path / "net.csv").write_text(f"source,target,{ODD}\na,b,1\nb,{ODD},2\n")
    _, out, error = call("datasets", "show", "net.csv", cwd=tmp_path)
    assert r"\x1b]0;pwned" in error
    assert not any(mark in out + error for mark in RAW)


def test_predictions_on_a_terminal_and_in_a_file(tmp_path, call, monkeypatch):
    mx = hostile("=layer")
    bx.LinkPredictor(epochs=1, warmup=0, width=0).fit(mx, ["=layer"]).save(tmp_path / "run")
    words = ("predict", "run", "--layer==layer", "--top", "2")
    _, piped, _ = call(*words, cwd=tmp_path)
    assert RAW[0] in piped  # data are data
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # no bold headers of ours
    monkeypatch.setenv("COLUMNS", "200")
    _, shown, _ = call(*words, cwd=tmp_path)
    assert not any(mark in shown for mark in RAW)
    assert r"\x1b]0;pwned" in shown


def test_formulas_can_be_quoted(tmp_path, call):
    mx = multiplex()
    starts = ["=", "+", "-", "@", "\t", "x"]
    names = [f"{starts[place % 6]}cmd{place}" for place in range(mx.num_nodes)]
    mx = bx.Multiplex.from_indices(*mx.edge_index, mx.edge_layer, node_names=names, layer_names=list(mx.layer_names))
    target = mx.layer_names[0]
    model = bx.LinkPredictor(epochs=1, warmup=0, width=0).fit(mx, [target])
    model.save(tmp_path / "run")
    quoted = without_formulas(model.recommend(target, top=30))
    cells = {*quoted["source"], *quoted["destination"]}
    assert cells <= {name if name[0] == "x" else f"'{name}" for name in names}
    assert any(cell.startswith("'=") for cell in cells)
    words = ("predict", "run", "--layer", str(target), "--top", "30", "--safe-csv", "-o", "out.csv")
    assert call(*words, cwd=tmp_path)[0] == 0
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in (tmp_path / "out.csv").read_text().split(","))
