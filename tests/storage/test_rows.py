"""Result files are never overwritten, and never mix runs with different settings."""

import json

import pytest

from banditplex import __version__
from banditplex.errors import FormatError
from banditplex.storage.rows import RowStore, read_results
from tests.refusals import refuses

ABOUT = {"seed": 0, "settings": {"hide": "pair", "metrics": ["mrr"]}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


@pytest.fixture
def store(path):
    store = RowStore(path, ABOUT)
    store.add("b", [{"x": 2.5, "name": "naïve"}])
    store.add("a", [{"x": 1}, {"x": float("nan"), "y": None}])
    return store


def test_the_file_is_lines_of_json(store, path):
    head, first, _ = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert head == {"format": "banditplex results 1", "about": {"version": __version__, **ABOUT}}
    assert first == {"task": "b", "rows": [{"x": 2.5, "name": "naïve"}]}
    assert "naïve" in path.read_text(encoding="utf-8")  # not as an escape


def test_rows_come_back_sorted_by_task(store, path):
    about, rows = read_results(path)
    assert about == {"version": __version__, **ABOUT}
    assert repr(rows) == "[{'x': 1}, {'x': nan, 'y': None}, {'x': 2.5, 'name': 'naïve'}]"


@pytest.mark.parametrize("first", [True, False])
def test_a_full_disk_keeps_what_was_there(first, path, monkeypatch):
    def full(file):
        raise OSError(28, "No space left on device")

    store = RowStore(path, ABOUT)
    if not first:
        store.add("a", [{"x": 1}])
    before = None if first else path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with refuses(path, "No space left on device"):
            store.add("b", [{"x": 2}])
    assert (path.read_bytes() if path.exists() else None) == before
    store.add("b", [{"x": 2}])
    assert read_results(path)[1][-1] == {"x": 2}


@pytest.mark.parametrize("change", ["removed", "replaced", "longer"])
def test_a_file_that_somebody_changed_is_not_written_to(change, store, path):
    if change == "longer":
        path.write_bytes(path.read_bytes() + b"theirs\n")
    else:
        path.unlink()
    if change == "replaced":
        path.write_text("theirs\n")
    before = path.read_bytes() if path.exists() else None
    with refuses(path):
        store.add("c", [])
    assert (path.read_bytes() if path.exists() else None) == before


def test_existing_files_are_refused(store, path):
    before = path.read_bytes()
    with refuses(path, "resume=True"):
        RowStore(path, ABOUT)
    assert path.read_bytes() == before


def test_other_settings_are_refused_by_name(store, path):
    other = {"seed": 1, "settings": {"hide": "layer", "metrics": ["mrr"], "folds": 5}}
    changes = "seed was 0, now 1", "settings hide was 'pair', now 'layer'", "settings folds was not given, now 5"
    with refuses(path, *changes):
        RowStore(path, other, resume=True)


def test_another_version_is_refused(store, path, monkeypatch):
    monkeypatch.setattr("banditplex.storage.rows.__version__", "9.0")
    with refuses("version", __version__, "9.0"):
        RowStore(path, ABOUT, resume=True)


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_an_incomplete_last_line_is_removed(cut, store, path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = RowStore(path, ABOUT, resume=True)
    assert list(again.finished) == ["b"]
    again.add("a", store.finished["a"])
    assert path.read_bytes() == whole


def test_a_file_with_an_incomplete_first_line_is_replaced(store, path):
    whole = path.read_bytes()
    path.write_bytes(whole[:20])
    again = RowStore(path, ABOUT, resume=True)
    for key in ("b", "a"):
        again.add(key, store.finished[key])
    assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["source,destination,layer\n", "1 2 friend", "[1, 2, 3]\n", '{"format": 1'])
def test_a_file_in_another_format_is_not_changed(text, path):
    path.write_text(text)
    with refuses("line 1", "banditplex results 1", error=FormatError):
        RowStore(path, ABOUT, resume=True)
    assert path.read_text() == text


def test_resuming_without_a_file_starts_a_new_one(path):
    RowStore(path, ABOUT, resume=True).add("a", [])
    assert read_results(path) == ({"version": __version__, **ABOUT}, [])


def test_a_damaged_line_is_refused(store, path):
    path.write_bytes(path.read_bytes().replace(b'{"task": "b"', b'{"task: "b"'))
    with refuses("rows.jsonl, line 2", "JSON", error=FormatError):
        RowStore(path, ABOUT, resume=True)


def test_other_files_are_refused(path):
    path.write_text("source,target\na,b\n")
    with refuses("line 1", "banditplex results 1", error=FormatError):
        read_results(path)
    path.write_text('{"a": 1}\n')
    with refuses("banditplex results 1", '{"a": 1}', error=FormatError):
        RowStore(path, ABOUT, resume=True)
    with refuses(path.parent / "missing", "No such file"):
        read_results(path.parent / "missing")
    with refuses(path.parent, "folder"):
        read_results(path.parent)


def test_the_file_is_created_with_the_first_finished_task(path):
    one, two = RowStore(path, ABOUT), RowStore(path, ABOUT)
    assert not path.exists()
    one.add("a", [])
    with refuses(path, "resume=True"):
        two.add("a", [])
    with refuses(path.parent / "missing"):
        RowStore(path.parent / "missing" / "rows.jsonl", ABOUT)
