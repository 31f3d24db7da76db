"""The mutation check: which changes it makes, and that tests which notice one are found."""

import csv

import pytest

from mutants.__main__ import COLUMNS, digest, kept, row_of, sample
from mutants.operators import mutants_of
from mutants.room import FAILED, End, Task, make_room, run

SOURCE = '''\
"""Count 1 thing."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    LIMIT = 1
SIZE: "int | None" = 2

def halves(n: int = 3) -> "list[int]":
    """Return 1 and 2."""
    if not n:
        raise ValueError("got 0", 0)
    total = 0
    while total < n and n > 0:
        total += 2
    return [each for each in (total, -n) if each]
'''


def test_all_changes_of_a_file():
    found = [(each.begin[0], each.operator, each.before, each.after) for each in mutants_of("a.py", SOURCE)]
    assert found == [
        (5, "constant", "2", "3"),
        (7, "constant", "3", "4"),
        (9, "boolean", "not n", "(n)"),
        (10, "deletion", 'raise ValueError("got 0", 0)', "pass"),
        (11, "constant", "0", "1"),
        (12, "boolean", "total < n and n > 0", "(total < n or n > 0)"),
        (12, "condition", "total < n and n > 0", "(not (total < n and n > 0))"),
        (12, "comparison", "total < n", "(total <= n)"),
        (12, "comparison", "n > 0", "(n >= 0)"),
        (12, "constant", "0", "1"),
        (13, "arithmetic", "total += 2", "total -= 2"),
        (13, "deletion", "total += 2", "pass"),
        (13, "constant", "2", "3"),
        (14, "return", "return [each for each in (total, -n) if each]", "return None"),
        (14, "arithmetic", "-n", "(n)"),
        (14, "condition", "each", "(not (each))"),
    ]


def test_a_change_is_made_in_the_text():
    text = "def f(é):\n    return g(\n        é ** 2,\n        strict=True)\n"
    changed = {each.operator: each.apply(text) for each in mutants_of("a.py", text)}
    assert changed == {
        "return": "def f(é):\n    return None\n",
        "arithmetic": "def f(é):\n    return g(\n        (é * 2),\n        strict=True)\n",
        "constant": "def f(é):\n    return g(\n        é ** 3,\n        strict=True)\n",
    }
    assert {each.lines for each in mutants_of("a.py", text)} == {range(2, 5)}
    assert [each.lines for each in mutants_of("a.py", SOURCE)][:4] == [range(0), range(0), range(9, 10), range(10, 11)]


PLANTED = """\
def below(n):
    while n > 9:
        n -= 1
    return n

def idle():
    return 1
"""
PLANTED_TESTS = """\
from planted import below
def test_small():
    assert below(3) == 3
def test_large():
    assert below(12) == 9
def test_wrong():
    assert below(1) == 2
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    for name, text in {
        "src/planted.py": PLANTED, "tests/test_planted.py": PLANTED_TESTS,
        "pyproject.toml": '[tool.pytest.ini_options]\nmarkers = []\nfilterwarnings = ["error"]\nxfail_strict = true\n'
        'doctest_optionflags = []\n',
    }.items():  # fmt: skip
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return make_room(root, tmp_path_factory.mktemp("rooms") / "0")


TESTS = [f"tests/test_planted.py::test_{name}" for name in ("large", "small", "wrong")]


def test_tests_are_run_unchanged_and_traced(room):
    task = Task("k", ["tests/test_planted.py"], None, frozenset(), 60, traced=("src",))
    (end,) = run([task], [room])
    assert (end.key, end.status) == ("k", 1)
    ran = {row["test"]: (row["outcome"], [at for file, at in row["lines"] if at > 1]) for row in end.report}
    assert ran == {TESTS[0]: ("passed", [2, 3, 4]), TESTS[1]: ("passed", [2, 4]), TESTS[2]: ("failed", [2, 4])}
    assert {file for row in end.report for file, _ in row["lines"]} == {"src/planted.py"}


@pytest.mark.parametrize(
    ("change", "status", "ran"),
    [
        pytest.param("unchanged", 0, TESTS[:2], marks=pytest.mark.slow),
        pytest.param("return 1", 0, TESTS[:2], marks=pytest.mark.slow),  # no test runs idle()
        ("n > 9", 1, TESTS[:1]),  # the first that fails ends it
        pytest.param("n -= 1", None, [], marks=pytest.mark.slow),  # for ever
    ],
)
def test_what_tests_notice(room, change, status, ran):
    (mutant,) = [each for each in mutants_of("src/planted.py", PLANTED) if each.before == change and each.operator
                 in ("return", "comparison", "arithmetic")] or [None]  # fmt: skip
    edit = mutant and ("src/planted.py", mutant.apply(PLANTED))
    task = Task("k", ["tests/test_planted.py"], TESTS[:2], frozenset(TESTS[2:]), 2 if status is None else 60, edit)
    (end,) = run([task], [room])
    assert end.status == status
    assert [row["test"] for row in end.report] == ran
    assert (room / "src/planted.py").read_text() == PLANTED


@pytest.mark.parametrize(
    ("status", "outcomes", "outcome"),
    [
        (0, ["passed"], "survived"), (5, [], "survived"), (1, ["passed", "failed"], "killed"), (-11, [], "killed"),
        (2, ["no collection"], "killed"), (None, ["passed"], "too long"), (FAILED, ["passed"], "not run"),
        (FAILED, ["passed", "failed"], "killed"), (4, [], "not run"),
    ],
)  # fmt: skip
def test_what_the_table_says(status, outcomes, outcome):
    (mutant,) = mutants_of("mutants/__init__.py", "SIZE = 1")
    rows = [{"test": f"test {at}", "outcome": each} for at, each in enumerate(outcomes)]
    found = row_of(End(mutant, status, 1.5, rows))
    assert (found["outcome"], found["tests"], found["before"], found["after"]) == (outcome, len(rows), "1", "2")
    assert found["test"] == ("" if outcome != "killed" or status == -11 else f"test {len(rows) - 1}")


def test_the_sample_is_the_same_for_the_same_seed():
    first, again, other = (sample(30, seed, ("pairs",)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len({each.name for each in first}) == 30
    assert {each.file.split("/")[2] for each in first} == {"pairs"}


def test_rows_that_still_hold_are_kept(tmp_path):
    mutants = sample(4, 0, ("pairs",))
    rows = [
        {"mutant": each.name, "source": digest(each.file) if number < 3 else "old", "outcome": outcome}
        for number, (each, outcome) in enumerate(zip(mutants, ["killed", "survived", "not run", "killed"], strict=True))
    ]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows([*rows, rows[0] | {"mutant": "gone"}])
    names = [each.name for each in mutants]
    assert list(kept(tmp_path / "rows.csv", mutants, survivors=False)) == names[:3]
    assert list(kept(tmp_path / "rows.csv", mutants, survivors=True)) == names[:1]
    assert kept(tmp_path / "none.csv", mutants, survivors=False) == {}
