"""`compare` and `evaluate` resume a file only if each line is one that such a run writes; nothing of it is changed."""

import copy
import json
import math

import pytest

from banditplex.errors import FormatError
from banditplex.evaluation.protocol import EvaluationProtocol, Run, _rows_check
from banditplex.leaderboard.compare import Fit, describe, rows_check
from banditplex.leaderboard.plan import Plan
from banditplex.storage.rows import RowStore
from tests.leaderboard.test_compare import multiplex
from tests.refusals import refuses

PLAN, MX = Plan(seeds=2, trials=3), multiplex()
TOOK = {
    "train_edges": 30,
    "test_edges": 8,
    "fit_seconds": 0.5,
    "score_seconds": 0.1,
    "memory": 4096,
    "parameters": None,
}
METRICS = dict.fromkeys(("roc_auc", "average_precision", "ap_at_50", "accuracy", "f1"), 0.75)
RANKED = {
    f"{kind}_{name}": 0.5 for kind in ("random", "hard") for name in ("mrr", "hits_at_1", "hits_at_10", "hits_at_50")
}
MEDIANS = {f"median_{name}": 0.5 for name in ("roc_auc", "average_precision", "ap_at_50")}


def entry(method, seed, *, tuning=False, failed=False):
    """Return a line of a result file, written by hand."""
    head = {"method": method, "trial": seed, "fold": 0, "tuning": tuning, "settings": '{"rank": 4}'}
    key = f'{method}, seed {seed}, {"tuning" if tuning else "test"}, {{"rank": 4}}'
    told = {**METRICS, **TOOK}
    mean = {**head, "scope": "mean", "layer": None, **told, **MEDIANS}
    if failed:
        rows = [{**head, "scope": "none", "error": "out of time (120 s)"}]
    elif tuning:
        rows = [mean]
    else:
        rows = [{**head, "scope": "layer", "layer": name, **told, **RANKED} for name in MX.layer_names]
        rows += [{**head, "scope": "pooled", "layer": None, **told}, mean | RANKED | {"random_hits_at_50": math.nan}]
    return {"task": key, "rows": rows}


GOOD = [entry("svd", 0, tuning=True), entry("svd", 0), entry("katz", 1, failed=True)]
TUNING, TEST, FAILED = range(3)
MEAN = len(MX.layer_names) + 1


def lines_of(entries):
    about = json.loads(json.dumps({"version": "0.1.0", **describe(PLAN, MX)}))
    return [{"format": "banditplex results 1", "about": about}, *entries]


def open_file(path):
    return RowStore(path, describe(PLAN, MX), resume=True, check=rows_check(PLAN, MX, ranked=True))


def as_text(lines):
    return "".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines)


def test_what_a_run_writes_is_resumed(tmp_path):
    """Also with NaN where a cut is longer than the list; the keys are those of the fits."""
    (tmp_path / "rows.jsonl").write_text(as_text(lines_of(GOOD)))
    found = open_file(tmp_path / "rows.jsonl").finished
    assert list(found) == [each["task"] for each in GOOD]
    assert list(found) == [
        Fit(row["method"], row["trial"], row["settings"], row["tuning"]).key for row in (e["rows"][0] for e in GOOD)
    ]


@pytest.mark.parametrize("text", ["", '{"form', '{"format": "banditplex results 1", "ab'])
def test_a_file_without_a_line_resumes_as_empty(text, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    store = open_file(path)
    assert store.finished == {}
    assert path.read_text() == text
    store.add(GOOD[0]["task"], GOOD[0]["rows"])
    store.close()
    assert list(open_file(path).finished) == [GOOD[0]["task"]]


NUMBERS = ("fit_seconds", "memory", "train_edges", "roc_auc", "median_roc_auc", "hard_mrr", "random_hits_at_10")
WRONG = {
    "text": "many", "none": None, "negative": -1, "infinite": math.inf, "huge": 1e308, "longer than a float": 10**400,
    "a list": [0.5], "an object": {}, "true": True,
}  # fmt: skip
CASES = [(TEST, MEAN, name, each) for name in NUMBERS for each in WRONG]
CASES += [(TEST, MEAN, name, "not a number") for name in NUMBERS if "hits" not in name]
CASES += [(TEST, 0, name, each) for name in ("layer", "scope", "settings") for each in ("a list", "infinite", "true")]
CASES += [(TUNING, 0, name, each) for name in ("roc_auc", "method", "tuning") for each in ("a list", "none", "huge")]
CASES += [(FAILED, 0, name, each) for name in ("error", "trial", "fold") for each in ("a list", "none", "huge")]
KEYS = [*METRICS, *TOOK, *MEDIANS, *RANKED, "method", "trial", "fold", "tuning", "settings", "scope", "layer"]


@pytest.mark.parametrize(("task", "row", "name", "wrong"), CASES)
def test_a_wrong_value_is_refused(task, row, name, wrong, tmp_path):
    changed = copy.deepcopy(GOOD)
    changed[task]["rows"][row][name] = math.nan if wrong == "not a number" else WRONG[wrong]
    refused(lines_of(changed), task + 2, tmp_path)


@pytest.mark.parametrize("name", KEYS)
def test_a_missing_entry_is_refused(name, tmp_path):
    changed = copy.deepcopy(GOOD)
    del changed[TEST]["rows"][MEAN][name]
    refused(lines_of(changed), TEST + 2, tmp_path)


def swap(entries, a, b):
    entries[a]["task"], entries[b]["task"] = entries[b]["task"], entries[a]["task"]


def rename(row, **changes):
    row.update(changes)


CHANGES = {
    "no rows": (TEST, lambda e: e[TEST].update(rows=[])),
    "rows of another kind": (TEST, lambda e: e[TEST].update(rows="many")),
    "a row that is a list": (TEST, lambda e: e[TEST]["rows"].append([])),
    "an empty row": (TEST, lambda e: e[TEST]["rows"].append({})),
    "no mean": (TEST, lambda e: e[TEST]["rows"].pop()),
    "no layers": (TEST, lambda e: e[TEST].update(rows=e[TEST]["rows"][-2:])),
    "two means": (TEST, lambda e: e[TEST]["rows"].append(e[TEST]["rows"][-1])),
    "a layer twice": (TEST, lambda e: e[TEST]["rows"].insert(0, e[TEST]["rows"][0])),
    "an unknown layer": (TEST, lambda e: rename(e[TEST]["rows"][0], layer="elsewhere")),
    "another order": (TEST, lambda e: e[TEST]["rows"].reverse()),
    "another method in a row": (TEST, lambda e: rename(e[TEST]["rows"][MEAN], method="katz")),
    "another method in the key": (TEST, lambda e: e[TEST].update(task=e[TEST]["task"].replace("svd", "katz"))),
    "another seed": (TEST, lambda e: rename(e[TEST]["rows"][0], trial=1)),
    "a seed that was not asked for": (FAILED, lambda e: rename(e[FAILED]["rows"][0], trial=2)),
    "another fold": (FAILED, lambda e: rename(e[FAILED]["rows"][0], fold=1)),
    "other settings": (TEST, lambda e: rename(e[TEST]["rows"][0], settings="{}")),
    "settings that are no JSON": (FAILED, lambda e: rename(e[FAILED]["rows"][0], settings="rank")),
    "settings that are a list": (FAILED, lambda e: rename(e[FAILED]["rows"][0], settings="[]")),
    "a further entry": (TEST, lambda e: rename(e[TEST]["rows"][0], more=1)),
    "an error beside numbers": (TEST, lambda e: rename(e[TEST]["rows"][MEAN], error="none")),
    "keys that are swapped": (TUNING, lambda e: swap(e, TUNING, TEST)),
    "a key that is no text": (TEST, lambda e: e[TEST].update(task=7)),
    "no key": (TEST, lambda e: e[TEST].pop("task")),
    "a third entry of the line": (TEST, lambda e: e[TEST].update(more=1)),
    "a task twice": (3, lambda e: e.append(e[TEST])),
    "tuning with layers": (TUNING, lambda e: e[TUNING].update(rows=[*e[TUNING]["rows"], *e[TEST]["rows"]])),
    "not JSON": (1, lambda e: e.insert(1, "hello\n")),
    "half a line": (1, lambda e: e.insert(1, '{"task": "a\n')),
    "an empty line": (1, lambda e: e.insert(1, "\n")),
    "a number": (1, lambda e: e.insert(1, "7\n")),
    "null bytes": (1, lambda e: e.insert(1, "\0\0\0\n")),
    "200,000 brackets": (1, lambda e: e.insert(1, "[" * 200_000 + "\n")),
    "foreign text at the end": (3, lambda e: e.append("hello")),
    "an unfinished line with an end": (3, lambda e: e.append('{"task": "a", "rows"\n')),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_line_that_no_run_writes_is_refused(change, tmp_path):
    entries = copy.deepcopy(GOOD)
    number, make = CHANGES[change]
    make(entries)
    refused(lines_of(entries), number + 2, tmp_path)


HEADS = {
    "another format": {"format": "banditplex results 2"}, "no format": {"format": None}, "no settings": {"about": 5},
    "more": {"more": 1}, "another seed": {"about": {"version": "0.1.0"}},
}  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
def test_another_first_line_is_refused(head, tmp_path):
    first, *others = lines_of(GOOD)
    path = tmp_path / "rows.jsonl"
    path.write_text(as_text([first | HEADS[head], *others]))
    before = path.read_bytes()
    with refuses(path):
        open_file(path)
    assert path.read_bytes() == before


def refused(lines, number, folder):
    """Require one line that names the file and the line; the file stays as it was."""
    path = folder / "rows.jsonl"
    path.write_text(as_text(lines))
    before = path.read_bytes()
    with refuses(f"{path}, line {number}:", "xpected", "got", error=FormatError) as caught:
        open_file(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [each.name for each in folder.iterdir()] == ["rows.jsonl"]


# Rows of `evaluate`

PROTOCOL = EvaluationProtocol(
    hide="layer", trials=1, folds=2, seed=0, negatives="uniform", each=None,
    metrics=("roc_auc", "hits_at_50"), threshold=0.0, targets=("a", "b"),
)  # fmt: skip


def evaluated():
    head = {"method": "m", "trial": 0, "fold": 1}
    numbers = {"roc_auc": 0.5, "hits_at_50": math.nan, "train_edges": 9, "test_edges": 3, "fit_seconds": 1.0}
    numbers |= {"score_seconds": 1.0}
    places = [("layer", "a"), ("layer", "b"), ("pooled", None), ("mean", None)]
    return [{**head, "scope": scope, "layer": layer, **numbers} for scope, layer in places]


@pytest.mark.parametrize(
    "change",
    [{"fold": 2}, {"fold": 0}, {"roc_auc": 1.5}, {"roc_auc": math.nan}, {"roc_auc": "high"}, {"method": "n"},
     {"layer": "c"}, {"f1": 0.5}, {"scope": "none"}, {"fit_seconds": -1}],
)  # fmt: skip
def test_rows_of_an_evaluation_are_checked_too(change):
    check, key = _rows_check(PROTOCOL), Run(0, 1, "m").key
    check(key, evaluated())
    rows = evaluated()
    rows[0] |= change
    with refuses("xpected"):
        check(key, rows)
