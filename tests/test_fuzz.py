"""The fuzzer: it finds what is planted, repeats itself, and finds nothing in the readers of tables and graphs."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from banditplex.errors import InputError
from banditplex.io import formats
from fuzz import runner
from fuzz.mutate import damage
from fuzz.runner import make_input, prepare, run, try_input
from fuzz.targets import Target, targets

QUICK = ("sniffed", "pairs", "nodes", "multinet", "graphml")


def planted(read):
    return {"planted": Target(lambda folder: (folder / "net.txt").write_text("a b\nb c\n"), read)}


def refuse(folder):
    raise InputError("one line")


def fail(folder):
    raise KeyError("edges")


def die(folder):
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_format_is_fuzzed():
    assert set(formats) <= set(targets())


@pytest.mark.parametrize(
    ("read", "what"), [(refuse, None), (len, "TypeError"), (fail, "KeyError"), (die, "died with status -9")]
)
def test_what_is_planted_is_found(read, what, tmp_path):
    found = list(run(planted(read), inputs=6, seed=0, keep=tmp_path, batch=4))
    if what is None:
        assert found == []
        return
    assert [each.number for each in found] == list(range(6))
    assert all(what in each.what for each in found)


def test_processes_at_once_find_the_same(tmp_path):
    def die_of_four(folder):
        die(folder) if int(folder.name.removeprefix("input-")) % 4 == 0 else fail(folder)

    found = [set(run(planted(die_of_four), inputs=21, seed=0, batch=5, jobs=jobs)) for jobs in (1, 3)]
    assert found[0] == found[1]
    assert sorted(each.number for each in found[0]) == list(range(21))


def test_long_reads_and_long_errors_are_found(tmp_path, monkeypatch):
    def many_lines(folder):
        raise InputError("two\nlines")

    assert "several lines" in try_input(planted(many_lines)["planted"], tmp_path)
    monkeypatch.setattr(runner, "SECONDS", 1)
    assert "1 seconds" in try_input(planted(lambda folder: time.sleep(5))["planted"], tmp_path)


def contents(folder):
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_inputs_are_the_same_for_the_same_seed(tmp_path):
    chosen = {name: each for name, each in targets().items() if name in QUICK}
    (tmp_path / "seeds").mkdir()
    prepare(chosen, tmp_path / "seeds")
    kinds = set()
    for number in range(20):
        names = [make_input(number, 0, chosen, tmp_path / "seeds", tmp_path / f"{again}-{number}") for again in "ab"]
        assert names[0] == names[1]
        assert contents(tmp_path / f"a-{number}") == contents(tmp_path / f"b-{number}")
        kinds.add(names[0])
    assert len(kinds) > 3


@pytest.mark.parametrize("ending", ["json", "csv", "csv.gz", "npy", "parquet", "safetensors", "xlsx", "gml"])
def test_damage_is_done_to_whatever_there_is(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    changed = 0
    for number in range(30):
        path.write_bytes(b'{"a": [1, 2]}')
        damage(path, random.Random(number))
        changed += path.read_bytes() != b'{"a": [1, 2]}'
    assert changed > 20


def test_nothing_is_found_in_a_few_inputs(tmp_path):
    chosen = {name: each for name, each in targets().items() if name in QUICK}
    (tmp_path / "seeds").mkdir()
    prepare(chosen, tmp_path / "seeds")
    found = []
    for number in range(400):
        place = Path(tmp_path / str(number))
        name = make_input(number, 7, chosen, tmp_path / "seeds", place)
        what = try_input(chosen[name], place)
        found += [(number, name, what)] if what else []
    assert found == []


@pytest.mark.slow
def test_nothing_is_found():
    """All readers and loaders; `make fuzz` looks at more."""
    assert list(run(targets(), inputs=3000, seed=1)) == []
