"""What README and docs show, a machine runs: python blocks are executed, links lead somewhere."""

import csv
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from unittest.mock import patch

import pytest

import banditplex
from banditplex.bandits import POLICIES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
"""A python block, and the block of text right below it, if there is one."""
GAIN = re.compile(r"\(?\.\d{3}\)?$")
QUIET = {"NO_MKDOCS_2_WARNING": "1"}
"""Silences an advertisement of mkdocs-material."""
QUICK = ("README.md",)
"""Pages whose commands are run in every test; those of the others take minutes, and run in `make test-all`."""
SLOW = tuple(
    f"docs/{name}.md"
    for name in (
        "coming-from",
        "cross-validation",
        "distributed",
        "evaluation",
        "experiments",
        "extending",
        "inputs",
        "predicting",
        "probabilities",
        "tour",
        "which-layers",
    )
)
"""Pages whose Python runs in `make test-all` alone: they train models for seconds."""


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if name(page) in SLOW else [], id=name(page))
        for page in PAGES
        if blocks(page, "python")
    ],
)
@patch.dict(POLICIES)  # a policy that a page registers is gone afterwards
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """All python blocks of a page run one after another, in an empty folder, and print the block of text below them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space = {"__name__": "__main__"}
    for code, shown in PRINTS.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, name(page), "exec"), space)
        printed = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line for line in shown.splitlines() if line.split() not in printed] == []


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if name(page) in QUICK else pytest.mark.slow, id=name(page))
        for page in PAGES
        if blocks(page, "console")
    ],
)
def test_console_blocks_run(page, call, tmp_path):
    """Each `$ banditplex ...` line exits with status 0 and prints the lines shown below it; `...` stands for others."""
    for block in blocks(page, "console"):
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = command.splitlines()
            program, *words = shlex.split(line)
            assert program == "banditplex", line
            status, out, error = call(*words, cwd=tmp_path)
            assert status == 0, f"{line}\n{error}"
            printed = (out + error).splitlines()
            assert [each for each in shown if each != "..." and not any(alike(each, its) for its in printed)] == [], (
                line
            )


def alike(shown: str, printed: str) -> bool:
    """Return whether two lines have the same words; gains, as .255, are within .005: processors round differently."""
    pairs = list(zip_longest(shown.split(), printed.split(), fillvalue=""))
    return all(a == b or (GAIN.match(a) and GAIN.match(b) and abs(_gain(a) - _gain(b)) < 0.0051) for a, b in pairs)


def _gain(word: str) -> float:
    return float(word.strip("()"))


def sentences(text: str) -> list[str]:
    """Return the sentences outside of code blocks, tables, headings and pictures; code in a line is one word."""
    text = re.sub(r"^```.*?^```|^[|#].*?$|!\[.*?\]\(.*?\)", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text)).replace("*", "")
    parts = re.split(r"\n\s*\n|^\s*- |·|(?<=[.!?])\s+", text, flags=re.MULTILINE)
    return [" ".join(part.split()) for part in parts if part.strip()]


def test_sentences_are_told_from_code_tables_and_links():
    text = "# A\n\nOne `two three` [four five](six.md) .871. Next?\n- Last: `a`\n  end\n\n| a |\n\n```sh\na. b\n```\n"
    assert sentences(text) == ["One code four five .871.", "Next?", "Last: code end"]


def test_the_first_screen_of_readme_has_two_commands_and_ci_runs_one_of_them():
    screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]
    commands = [line.split("#")[0].strip() for line in screen if line.startswith("make ")]
    assert commands == ["make demo", "make test"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "make test"


def test_readme_has_no_sentence_of_more_than_25_words():
    long = [each for each in sentences((ROOT / "README.md").read_text(encoding="utf-8")) if len(each.split()) > 25]
    assert long == []


def test_a_page_is_read_in_five_minutes():
    """At 230 words a minute; tables and code are looked up, and pages of results are written by commands."""
    pages = [page for page in PAGES if "results" not in page.parts]
    words = {name(page): sum(len(each.split()) for each in sentences(page.read_text("utf-8"))) for page in pages}
    assert {page: number for page, number in words.items() if number > 5 * 230} == {}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_inside_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"


def test_the_sentence_of_compare_agrees_with_the_leaderboard():
    """Both have the same splits, and methods without tuning; their differences are those of the rounded means."""
    with (ROOT / "docs" / "results" / "rankings" / "vickers-layer" / "leaderboard.csv").open(encoding="utf-8") as file:
        mean = {row["method"]: float(row["hard_mrr"]) for row in csv.DictReader(file)}
    page = " ".join((ROOT / "docs" / "compare.md").read_text(encoding="utf-8").replace("> ", "").split())
    found = re.search(r"rises from (\S+) to (\S+) \((\S+) .*? regression \((\S+), (\S+) ±", page)
    none, ours, more, regression, less = map(float, found.groups())
    assert (ours, regression) == (round(mean["default"], 3), round(mean["regression"], 3))
    assert (more, less) == pytest.approx((ours - none, regression - ours), abs=0.0011)


@pytest.mark.parametrize("page", [page for page in PAGES if "results" in page.parts], ids=name)
def test_results_say_when_and_by_which_commit_they_were_computed(page):
    if page.name == "claims.md":  # which belongs to the page beside it
        page = page.with_name("index.md")
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert re.search(r"\b(computed|measured) on \d{1,2} [A-Z][a-z]+ 20\d\d\b", text, re.IGNORECASE)
    assert re.search(r'\b(commit|by) "[^"]+"', text)


def test_the_table_of_settings_is_that_of_the_library():
    from banditplex.training.config import SETTINGS

    lines = ["| setting | default | values | meaning |", "|---|---|---|---|"]
    for setting, each in SETTINGS.items():
        values = ", ".join(f"`{choice}`" for choice in each.choices)
        if setting == "policy":
            values = "a [policy](bandits.md#the-policies)"
        if each.low is not None:
            values = f"{each.low} or more" if each.below is None else f"from {each.low}, below {each.below}"
        text = f"{each.text} {each.also}".strip()
        lines.append(f"| `{setting}` | `{each.default}` | {values} | {text} |")
    table = "\n".join(lines)
    assert table in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8"), (
        f"docs/settings.md should have:\n{table}"
    )


def test_contributors_find_what_they_look_up():
    """Files that CONTRIBUTING.md names are there, and have the names that it finds in them, as `METRICS` in `a.py`."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    def place(path):
        return next((base / path for base in (ROOT, ROOT / "src" / "banditplex") if (base / path).exists()), None)

    files = re.findall(r"`([\w./-]+\.(?:py|js|css|toml|md|yml|txt))`", text)
    assert len(files) > 60
    assert [each for each in files if place(each) is None] == []
    found = re.findall(r"((?:`[\w.]+`(?:,| and)? )+)in\s+`([\w./]+\.py)`", text)
    names = [(name.rpartition(".")[2], path) for listed, path in found for name in re.findall(r"`([\w.]+)`", listed)]
    assert {("own_features", "nn/pair_features.py"), ("hidden_edges", "training/batches.py")} < set(names)
    missing = [each for each in names if not re.search(rf"\b{each[0]}\b", place(each[1]).read_text("utf-8"))]
    assert missing == []


def test_every_page_is_in_the_navigation_of_the_site():
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:] if "results" not in page.parts}
    assert pages <= listed, f"mkdocs.yml should list {', '.join(sorted(pages - listed))} under nav"


PUBLIC = (
    "banditplex", "banditplex.bandits", "banditplex.baselines", "banditplex.datasets", "banditplex.errors",
    "banditplex.evaluation", "banditplex.leaderboard", "banditplex.multiplex", "banditplex.nn.relevance",
    "banditplex.scorer", "banditplex.testing",
)  # fmt: skip
"""Modules whose names users import."""


def public_names(path: str) -> set[str]:
    """Return the names in `__all__`, or those that a module defines; a package also has those of its modules."""
    module = import_module(path)
    if hasattr(module, "__all__"):
        return set(module.__all__) - {"__version__"}
    home = "banditplex." if hasattr(module, "__path__") else path
    things = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    return {name for name, thing in things.items() if str(getattr(thing, "__module__", "")).startswith(home)}


def resolve(path: str) -> object:
    """Return what a module has under the last name of a path."""
    module, _, name = path.rpartition(".")
    return vars(import_module(module))[name]


def test_the_reference_has_every_public_name():
    """And methods of classes that are written elsewhere, as `Multiplex.to_pandas` is."""
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
    listed = {path: resolve(path) for path in re.findall(r"^::: (\S+)", text, re.MULTILINE)}
    modules = [path for path in listed if (ROOT / "src" / f"{path.replace('.', '/')}.py").exists()]
    assert modules == [], "the site would show these modules instead of what has the same name"
    wanted = {f"{path}.{name}": resolve(f"{path}.{name}") for path in PUBLIC[1:] for name in public_names(path)}
    wanted |= {name: getattr(banditplex, name) for name in public_names("banditplex")}
    for each in (banditplex.Multiplex, banditplex.LinkPredictor):
        methods = {name: getattr(method, "__func__", method) for name, method in vars(each).items() if name[0] != "_"}
        wanted |= {
            f"{each.__name__}.{name}": method
            for name, method in methods.items()
            if isinstance(method, FunctionType) and not method.__qualname__.startswith(each.__name__)
        }
    assert {"Multiplex.to_pandas", "banditplex.bandits.POLICIES", "banditplex.testing.check_policy"} < wanted.keys()
    missing = [name for name, thing in wanted.items() if not any(thing is each for each in listed.values())]
    assert missing == [], "docs/api should have them"


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_asks_no_other_host(tmp_path):
    pytest.importorskip("mkdocs", reason="needs mkdocs: pip install -e '.[docs]'")
    pytest.importorskip("mkdocstrings", reason="needs mkdocstrings: pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | QUIET)
    assert done.returncode == 0, done.stderr
    built = [page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html")]
    assert len(built) == len(PAGES[1:]) + 1  # and 404.html
    loads = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc="?https?:|<link[^>]*rel="?stylesheet[^>]*https?:""")
    assert [loads.search(page)[0] for page in built if loads.search(page)] == []
