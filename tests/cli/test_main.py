"""The command line as a user meets it: real files, and real processes where the process is what matters."""

import contextlib
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

import banditplex as bx
from banditplex.cli import main
from tests.conftest import print_warning
from tests.quick import every


def in_process(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which takes a second or more."""
    return subprocess.run([sys.executable, "-m", "banditplex", *words], capture_output=True, text=True)


def run(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process; return the same as from one of its own."""
    out, error = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(cwd or "."))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(error))
        stack.enter_context(mock.patch.object(sys, "argv", ["banditplex", *words]))
        stack.enter_context(mock.patch.object(warnings, "formatwarning", warnings.formatwarning))
        stack.enter_context(warnings.catch_warnings())
        warnings.showwarning = print_warning
        warnings.simplefilter("always")
        with pytest.raises(SystemExit) as stop:
            main()
    said = (each.buffer.getvalue().decode() for each in (out, error))
    return subprocess.CompletedProcess(words, stop.value.code or 0, *said)


def answer(*words: str, cwd: Path | None = None) -> str:
    """Run a command that must work and return what it prints."""
    done = run(*words, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refusal(*words: str, cwd: Path | None = None) -> str:
    """Run a command that must be refused: status 2, one line on stderr, nothing on stdout."""
    done = run(*words, cwd=cwd)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("banditplex: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("banditplex: ").rstrip("\n")


def test_version():
    done = in_process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"banditplex {bx.__version__}\n", "")


def test_no_arguments_show_the_help_and_a_wrong_word_is_a_usage_error():
    assert "Usage" in run().stdout
    done = in_process("frobnicate")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "'frobnicate'" in refusal("frobnicate")


@pytest.mark.parametrize(
    ("words", "what", "came"),
    [
        ("train twins -o run --epochs ten", "--epochs", "'ten'"),
        ("train twins -o run --epochs=ten", "--epochs", "'ten'"),
        ("train twins -o run -k two", "-k", "'two'"),
        ("predict run --layer a --top 0", "--top", "'0'"),
        ("predict run --layer a --prior 50%", "--prior", "'50%'"),
        ("train twins", "Missing option '-o' / '--out'", ""),
        ("train twins -o", "'-o' requires an argument", ""),
        ("train -o run", "Missing argument", ""),
        ("train twins -o run --epoch 3", "No such option: --epoch", ""),
    ],
)
def test_a_mistake_in_options_is_one_line_that_says_what_came(words, what, came, call, tmp_path):
    status, out, error = call(*words.split(), cwd=tmp_path)
    assert (status, out) == (2, "")
    assert error.startswith("banditplex: ")
    assert error.count("\n") == 1
    assert what in error
    assert came in error
    assert error.endswith(f"{words.split()[0]} --help`.\n")


def test_datasets_list_names_every_data_set():
    table = answer("datasets", "list")
    rows = json.loads(answer("datasets", "list", "--json"))
    assert next(row["name"] for row in rows) == "twins"
    assert all(row["name"] in table for row in rows)
    assert {"ckm", "vickers", "lazega", "lazega-corrected", "euair", "rand-internship"} <= {row["name"] for row in rows}


def test_datasets_show_twins():
    text = answer("datasets", "show", "twins")
    assert "200 nodes" in text
    facts = json.loads(answer("datasets", "show", "twins", "--json"))
    assert [layer["edges"] for layer in facts["layers"]] == [600] * 8
    by_name = {layer["layer"]: layer for layer in facts["layers"]}
    assert by_name["a"]["most_similar"] == "a-twin"
    assert by_name["a"]["jaccard"] == pytest.approx(480 / 720)  # 480 of 600 edges kept: 480 in both, 720 in either


def test_a_damaged_file_is_not_called_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("BANDITPLEX_DATA", str(tmp_path))
    (tmp_path / "ckm").mkdir()
    (tmp_path / "ckm" / "CKM-Physicians-Innovation_layers.txt").write_text("layerID layerLabel\n")
    message = refusal("datasets", "show", "ckm")
    assert "CKM-Physicians-Innovation_layers.txt: " in message
    assert "checksum" in message


def test_show_takes_a_file_too(tmp_path):
    (tmp_path / "mine.csv").write_text("source,target,layer\nann,bob,work\nbob,cid,work\n")
    facts = json.loads(answer("datasets", "show", "mine.csv", "--json", cwd=tmp_path))
    assert facts["layers"][0]["edges"] == 2
    known = {"name": "mine.csv", "at_hand": True, "nodes": 3, "edges": 2, "directed": False, "weighted": False}
    known["notes"] = ["mine.csv: columns used: 'source' as source, 'target' as target, 'layer' as layer."]
    assert {name: fact for name, fact in facts.items() if name != "layers"} == known
    assert "work" in answer("datasets", "show", "mine.csv", cwd=tmp_path)


def test_many_layers_are_cut_unless_all_are_wanted(tmp_path):
    lines = "".join(f"0,1,layer{i:02}\n" for i in range(25))
    (tmp_path / "many.csv").write_text("source,target,layer\n" + lines)
    assert "... 5 more layers" in answer("datasets", "show", "many.csv", cwd=tmp_path)
    assert "layer24" in answer("datasets", "show", "many.csv", "--all", cwd=tmp_path)


def test_formats_lists_what_convert_can_do():
    rows = json.loads(answer("formats", "--json"))
    assert {"csv", "tsv", "parquet", "comune", "multinet", "gatne", "graphml", "edge-lists"} <= {
        row["name"] for row in rows
    }
    assert "parquet" in answer("formats")


@pytest.mark.parametrize("out", ["t.parquet", "t.csv", "t.tsv"])
def test_convert_there_and_back(out, tmp_path):
    answer("convert", "twins", out, cwd=tmp_path)
    facts = json.loads(answer("convert", out, "back.parquet", "--json", cwd=tmp_path))
    assert facts == {"out": "back.parquet", "nodes": 200, "layers": 8, "edges": 4800}
    assert bx.read(tmp_path / "back.parquet") == bx.load_dataset("twins")


def test_convert_with_named_columns(tmp_path):
    (tmp_path / "in.csv").write_text("from,to,kind,w\n1,2,a,0.5\n2,1,a,1.5\n")
    columns = "source=from,target=to,layer=kind,weight=w"
    answer("convert", "in.csv", "out.parquet", "--columns", columns, "--directed", cwd=tmp_path)
    mx = bx.read(tmp_path / "out.parquet")
    assert mx.directed
    assert mx.weights("a").tolist() == [0.5, 1.5]
    assert "roles" in refusal("convert", "in.csv", "x.csv", "--columns", "sorce=from", cwd=tmp_path)


def test_convert_refuses_to_overwrite_and_to_lose(tmp_path):
    (tmp_path / "in.csv").write_text("source,target,layer,weight\n1,2,a,0.5\n")
    answer("convert", "in.csv", "out.parquet", cwd=tmp_path)
    message = refusal("convert", "in.csv", "out.parquet", cwd=tmp_path)
    assert "out.parquet: " in message
    assert " --force " in message
    answer("convert", "in.csv", "out.parquet", "--force", cwd=tmp_path)
    (tmp_path / "shop.csv").write_text("user,item\n1,2\n3,4\n")
    words = ["convert", "shop.csv", "out.csv", "--columns", "source=user,target=item", "--bipartite"]
    message = refusal(*words, cwd=tmp_path)
    assert all(word in message for word in ("out.csv: ", "types", "csv", " --lossy "))
    done = run(*words, "--lossy", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        0,
        "banditplex: out.csv: written without types, which csv does not store.\n",
    )


def test_bad_files_are_answered_with_file_and_line_and_leave_nothing(tmp_path):
    (tmp_path / "bad.csv").write_text("source,target,layer,weight\n1,2,a,1\n2,3,a,heavy\n")
    message = refusal("convert", "bad.csv", "out.parquet", cwd=tmp_path)
    assert "bad.csv, line 3" in message
    assert "heavy" in message
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_what_does_not_exist():
    assert refusal("convert", "nowhere.csv", "out.csv").startswith("nowhere.csv: ")
    for words in ("convert twinz out.csv", "datasets fetch twinz", "datasets show twinz"):
        message = refusal(*words.split())
        assert "twinz" in message
        assert "'twins'" in message


def test_a_bare_name_is_the_data_set_and_a_path_is_the_path(tmp_path):
    """A run is easily called like the data it was trained on; that hides neither."""
    (tmp_path / "twins").write_text("source,target,layer\nann,bob,work\n")
    done = run("datasets", "show", "twins", cwd=tmp_path)
    assert done.stderr.startswith("banditplex: ")
    assert "./twins" in done.stderr
    assert "200 nodes" in done.stdout
    assert "work" in answer("datasets", "show", "./twins", cwd=tmp_path)


def test_output_into_a_closed_pipe_is_no_defect():
    command = f"{sys.executable} -m banditplex datasets list | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", every(4, ["datasets list", "datasets list --json", "--version", "--help"]))
def test_output_that_cannot_be_written(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "banditplex", *words.split()], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("banditplex: ")
    assert "No space left on device" in done.stderr


def test_names_are_text_not_markup(tmp_path):
    (tmp_path / "odd.csv").write_text("source,target,layer\na,b,[/foo]\na,c,[red]x\n")
    table = answer("datasets", "show", "odd.csv", cwd=tmp_path)
    assert "[/foo]" in table
    assert "[red]x" in table


def test_force_replaces_no_folder_that_holds_anything_else(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.doc").write_text("years of work")
    for other in ("csv", "banditplex"):
        message = refusal("convert", "twins", "home", "--to", other, "--force", cwd=tmp_path)
        assert message.startswith("home: ")
        assert other in message
    assert [path.name for path in home.iterdir()] == ["thesis.doc"]
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    for _ in range(2):
        answer("convert", "twins", "mine.bx", "--force", cwd=tmp_path)
    (tmp_path / "mine.bx" / "thesis.doc").write_text("years of work")
    refusal("convert", "twins", "mine.bx", "--force", cwd=tmp_path)
    assert (tmp_path / "mine.bx" / "thesis.doc").exists()


@pytest.mark.parametrize(
    ("words", "came"),
    [
        ("train nowhere.csv -o run --epochs -3", "-3"),
        ("train nowhere.csv -o run -k -1", "-1"),
        ("train nowhere.csv -o run --policy exp4", "'exp4'"),
        ("train nowhere.csv -o run --hide foo", "'foo'"),
        ("evaluate nowhere.csv --hide layer --epochs -3", "-3"),
        ("evaluate nowhere.csv --hide layer --policy none,exp4", "'exp4'"),
        ("evaluate nowhere.csv --hide edge", "'edge'"),
        ("compare nowhere.csv --hide edge", "'edge'"),
    ],
)
def test_bad_settings_are_refused_before_data_are_looked_for(words, came):
    said = refusal(*words.split())
    assert came in said
    assert "nowhere" not in said
