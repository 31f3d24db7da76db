"""The package as a whole: it opens quickly, hands out its names lazily, and its version is one."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import banditplex as bx

ROOT = Path(__file__).parent.parent
HEAVY = {"torch", "torch_geometric", "pandas", "scipy", "sklearn", "pyarrow", "networkx", "matplotlib"}


def loaded_after(code: str) -> set[str]:
    """Run `code` in a fresh interpreter and return the heavy libraries it imported."""
    script = f"import sys\n{code}\nprint(*(name for name in {sorted(HEAVY)} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_imports_nothing_heavy():
    assert loaded_after("import banditplex") == set()


def test_importing_the_bandits_imports_nothing_heavy():
    assert loaded_after("import banditplex.bandits") == set()


def test_help_imports_nothing_heavy():
    code = "from typer.testing import CliRunner\nfrom banditplex.cli import app\n"
    assert loaded_after(code + "assert CliRunner().invoke(app, ['--help']).exit_code == 0") == set()


def test_a_model_imports_no_more_than_it_needs():
    assert loaded_after("import banditplex; banditplex.LinkPredictor") == {"torch", "pandas", "scipy", "pyarrow"}


def test_a_missing_option_is_noticed_before_anything_heavy_is_imported(tmp_path):
    (tmp_path / "model.json").write_text('{"layer_names": ["a", "b", "c"], "targets": [0, 2]}')
    command = f"import banditplex.cli.predict as it\nfrom pathlib import Path\nrun = Path({str(tmp_path)!r})\n"
    refused = "try: it.predict(run)\nexcept it.InputError as error: assert \"'a', 'c'\" in str(error)\nelse: assert 0"
    assert loaded_after(command + refused) == set()


def test_help_answers_at_once():
    """Processor time, as other tests run beside this one, and relative to that of importing typer on this machine."""

    def seconds(*words: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    ours, typer = (
        min(seconds(*words) for _ in range(2))
        for words in (("-m", "banditplex", "--help"), ("-c", "import typer, typer.rich_utils"))
    )
    assert ours < 4 * typer


@pytest.mark.parametrize("name", bx.__all__)
def test_every_public_name_is_there(name):
    assert getattr(bx, name) is not None
    assert name in dir(bx)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Multiplexx'"):
        _ = bx.Multiplexx


def test_the_wheel_has_every_file_of_the_package(tmp_path):
    """The report page's scripts, styles and licences included, and nothing else; torch is capped to tested versions."""
    from hatchling.builders.wheel import WheelBuilder

    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (about,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        needs = archive.read(about).decode()
    package = ROOT / "src" / "banditplex"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {str(path.relative_to(ROOT / "src")) for path in files}
    assert "banditplex/report/vendor/echarts.min.js" in names
    assert "Requires-Dist: torch<2.14,>=2.11" in needs


def test_the_extra_all_is_every_extra_of_users():
    """Those that docs/install.md lists, above `all`; what developers need is not part of it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    listed = re.findall(r"^\| `pip install '\.\[(\w+)\]'`", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE)
    assert everything == f"banditplex[{','.join(sorted(listed[: listed.index('all')]))}]"
    assert extras.keys() == {*listed, "audit", "dev", "package"}


@pytest.mark.parametrize(("layer", "says"), [("d", "did you mean"), ("x", "Known layers"), ("b", "target of training")])
def test_a_wrong_layer_is_noticed_before_anything_heavy_is_imported(layer, says, tmp_path):
    (tmp_path / "model.json").write_text('{"layer_names": ["a", "b", "c", "D"], "targets": [0, 2]}')
    command = f"import banditplex.cli.predict as it\nfrom pathlib import Path\nrun = Path({str(tmp_path)!r})\n"
    refused = (
        f"try: it.predict(run, {layer!r})\nexcept it.InputError as error: assert {says!r} in str(error), str(error)"
    )
    assert loaded_after(command + refused + "\nelse: assert 0") == set()


MISTAKES = (
    (("report", "nowhere"), "nowhere"),
    (("train", "vickers", "-o", "new", "--epochs", "0"), "epochs"),
    (("train", "vickers", "-o", "new", "--policy", "defualt"), "default"),
    (("train", "vickers", "-o", "full"), "full"),
    (("evaluate", "vickers", "--hide", "pair", "--policy", "defualt"), "default"),
    (("evaluate", "vickers", "--hide", "pair", "--seed", "-1"), "seed"),
    (("compare", "vickers", "--methods", "main,nope"), "'nope'"),
)
WITH_DATA = (  # which pandas reads
    (("train", "nowhere", "-o", "new"), "nowhere"),
    (("compare", "nowhere"), "nowhere"),
    (("train", "edges.csv", "-o", "new", "--target", "C"), "'C'"),
    (("evaluate", "edges.csv", "--hide", "pair", "--target", "C"), "'C'"),
    (("evaluate", "edges.csv", "--hide", "pair", "--metric", "auc"), "'auc'"),
    (("compare", "edges.csv", "--target", "C"), "'C'"),
    (("predict", "run", "--layer", "a", "--node", "zoe"), "'zoe'"),
    (("predict", "run", "--layer", "a", "--node", "ANN"), "did you mean 'ann'"),
    (("predict", "run", "--pairs", "pairs.csv"), "line 3, column 'layer'"),
    (("predict", "run", "--pairs", "edges.csv"), "line 2, column 'source'"),
)


@pytest.mark.parametrize(("words", "named"), [*MISTAKES, *WITH_DATA])
def test_a_mistake_is_noticed_before_torch_is_imported(words, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target,layer\na,b,A\nb,c,B\n")
    (tmp_path / "pairs.csv").write_text("source,target,layer\nann,bob,a\nbob,ann,b\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.json").write_text('{"layer_names": ["a"], "targets": [0], "node_names": ["ann", "bob"]}')
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    command = (
        f"from typer.testing import CliRunner as Run\nfrom banditplex.cli import app\nrun = Run().invoke(app, {words})"
    )
    refused = f"error = run.exception\nassert type(error).__name__ == 'InputError' and {named!r} in str(error), error"
    loaded = loaded_after(f"{command}\n{refused}")
    assert loaded == set() if (words, named) in MISTAKES else "torch" not in loaded
