"""Checks for every format: detection, options, errors, and that a write either completes or leaves nothing."""

import errno
import os
import random
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import banditplex.io
from banditplex.errors import InputError
from banditplex.io import Format, detect, formats, read, write
from banditplex.multiplex import Multiplex
from tests.io.checks import comes_back, lay_out
from tests.io.strategies import multiplexes, strings
from tests.refusals import refuses

EVERY = sorted(name for name in formats if formats[name].write is not None)
FOLDERS = {"banditplex"}
PARTS = {
    "weight": [0.5, 2, 1],
    "time": [3, 4, 5],
    "node_features": np.arange(3.0)[:, None],
    "node_types": ["user", "user", "item"],
}
SMALL = Multiplex.from_edges(["ann", "bob", "ann"], ["bob", "cid", "cid"], ["work", "work", "home"], directed=True)


def full(format):
    """Return a multiplex with all that a format can hold."""
    held = {part: value for part, value in PARTS.items() if part.removeprefix("node_") in formats[format].holds}
    return Multiplex.from_edges(["ann", "bob", "ann"], ["bob", "cid", "cid"], ["a", "a", "b"], directed=True, **held)


def name_of(format, stem="net"):
    return stem + next(iter(formats[format].suffixes), "" if format in FOLDERS else ".dat")


def names_in(folder):
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


# The list of formats


def test_every_format_is_listed():
    found = walk_packages(banditplex.io.__path__, "banditplex.io.")
    modules = [import_module(each.name) for each in found]
    defined = {each.name for module in modules for each in vars(module).values() if isinstance(each, Format)}
    assert defined == set(formats)
    assert defined == {
        *(
            "banditplex",
            "parquet",
            "csv",
            "tsv",
            "xlsx",
            "comune",
            "multinet",
            "triples",
            "gatne",
            "graphml",
            "edge-lists",
            "tables",
        ),
    }


def test_no_ending_stands_for_two_formats():
    endings = [ending for format in formats.values() for ending in format.suffixes]
    assert len(endings) == len(set(endings))
    assert all(ending == ending.lower() and ending.startswith(".") for ending in endings)


@pytest.mark.parametrize("format", sorted(formats))
def test_every_format_is_documented(format):
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert f"`{format}`" in page
    for ending in formats[format].suffixes:
        assert f"`{ending}`" in page


# Round trips, by name and by content


@pytest.mark.parametrize("format", EVERY)
def test_what_is_written_is_read(format, tmp_path):
    mx = full(format)
    write(mx, tmp_path / name_of(format), format=format)
    assert read(tmp_path / name_of(format)) == mx
    assert read(tmp_path / name_of(format), format=format) == mx
    assert read(str(tmp_path / name_of(format)), directed=False) == read(
        tmp_path / name_of(format), format=format, directed=False
    )


any_text = st.one_of(strings, st.text(st.characters(exclude_categories=["Cs"]), max_size=4))


@pytest.mark.parametrize("format", EVERY)
@pytest.mark.filterwarnings("ignore:.*(is read as a node|differ)")
@given(data=st.data())
def test_any_names_come_back_or_are_refused(format, data):
    mx = data.draw(multiplexes(names=any_text, weights=False, times=False, features=False, max_edges=5))
    try:
        assert comes_back(mx, name_of(format), format)
    except InputError as error:
        names = [*mx.layer_names, *mx.node_names.tolist()]
        assert any(repr(name) in str(error) for name in names)  # noqa: PT017


@pytest.mark.parametrize("format", [each for each in EVERY if formats[each].suffixes])
def test_endings_are_recognised_whatever_the_content(format, tmp_path):
    for ending in formats[format].suffixes:
        for name in (f"net{ending}", f"NET{ending.upper()}"):
            assert detect(lay_out(tmp_path, {name: ""}) / name).name == format


@pytest.mark.parametrize("format", EVERY)
def test_content_is_recognised_whatever_the_name(format, tmp_path):
    (tmp_path / "original").mkdir()
    written = tmp_path / "original" / name_of(format, "plain")
    write(full(format), written, format=format)
    moved = tmp_path / "original" / "something"
    written.rename(moved)
    assert detect(moved).name == format


@pytest.mark.parametrize(
    ("files", "path", "format"),
    [
        ({"x": "1 1 2 1\n1 2 3 1.0\n"}, "x", "comune"),
        ({"x": "source,target,layer\n1,2,3\n"}, "x", "csv"),
        ({"x": "source\ttarget\tlayer\n1\t2\t3\n"}, "x", "tsv"),
        ({"x": "-- sections\n#LAYERS\na,DIRECTED\n"}, "x", "multinet"),
        ({"x": "#edges\n1,2,a\n"}, "x", "multinet"),
        ({"x.csv": "#EDGES\n1,2,a\n"}, "x.csv", "csv"),  # the name comes first
        ({"x": "a;Layer;\n"}, "x", None),
        ({"x": "1;2;3\n"}, "x", None),
        ({"x": "a" * 5000 + ";b\n"}, "x", None),  # longer than any file's name
        ({"x": '<?xml version="1.0"?><graphml></graphml>'}, "x", "graphml"),
        ({"x": '<?xml version="1.0"?><html></html>'}, "x", None),
        ({"x": "PAR1"}, "x", "parquet"),
        ({"x": ""}, "x", None),
        ({"x": b"\xff\xfe\x00\x01"}, "x", None),
        ({"f/train.txt": "1 2 3\n"}, "f", "gatne"),
        ({"f/train.txt": "2 3\n", "f/test.txt": "3 4\n"}, "f", "edge-lists"),
        ({"f/train.txt": "1 2 3\n", "f/banditplex.json": "{}"}, "f", "banditplex"),
        ({"f/a.txt": "1 2\n", "f/readme.md": ""}, "f", "edge-lists"),
        ({"f/a.csv": "1,2\n", "f/b.csv": "1,3\n"}, "f", "edge-lists"),
        ({"f/a.csv": "from,to\n1,2\n", "f/readme.md": ""}, "f", "tables"),
        ({"f/a.csv": "Quelle;Ziel\n1;2\n"}, "f", "tables"),  # no list; reading says what is missing
        ({"f/readme.md": ""}, "f", None),
        ({"net.mpx/a.txt": "1 2\n"}, "net.mpx", "edge-lists"),  # a folder's name says nothing
    ],
)
def test_what_might_be_mistaken(files, path, format, tmp_path):
    lay_out(tmp_path, files)
    if format is None:
        with refuses(tmp_path / path, *formats):
            detect(tmp_path / path)
    else:
        assert detect(tmp_path / path).name == format


# Refusals


def test_what_is_not_there(tmp_path):
    with refuses(tmp_path / "net.csv"):
        read(tmp_path / "net.csv")
    with refuses(tmp_path / "nowhere" / "net.csv", f"folder {tmp_path / 'nowhere'}"):
        write(SMALL, tmp_path / "nowhere" / "net.csv")


def test_what_may_not_be_read(tmp_path, monkeypatch):
    def closed(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied", "net.mpx")

    lay_out(tmp_path, {"net.mpx": "a,b,c\n", "net.dat": "#EDGES\n"})
    monkeypatch.setattr(Path, "open", closed)
    for name in ("net.mpx", "net.dat"):
        with refuses("net.mpx", "Permission denied"):
            read(tmp_path / name)


def test_what_does_not_fit_into_memory_is_named_plainly(tmp_path, monkeypatch):
    """One file, the first of several, or the kind of data, never a list or a whole table."""

    def full(*args, **options):
        raise MemoryError

    files = [lay_out(tmp_path, {name: "source,target\na,b\n"}) / name for name in ("a.csv", "b.csv", "c.csv")]
    monkeypatch.setattr("banditplex.io.dispatch._read", full)
    monkeypatch.setattr("banditplex.io.dispatch.with_node_table", full)
    named = f"{files[0]} and 2 more: "
    for data, words in ((files[0], f"{files[0]}: "), (files[:1], f"{files[0]}: "), (files, named)):
        with pytest.raises(InputError) as error:
            read(data)
        assert str(error.value).startswith(words)
    with pytest.raises(InputError, match=r"^a DataFrame: expected data that fit into memory"):
        read(pd.DataFrame({"source": ["a"], "target": ["b"]}), node_table="nodes.csv")


def test_unknown_format(tmp_path):
    with refuses("'parket'", "'parquet'"):
        write(SMALL, tmp_path / "net", format="parket")
    with refuses("'csvv'", "'csv'"):
        read(lay_out(tmp_path, {"net": ""}) / "net", format="csvv")
    with refuses(tmp_path / "net.xyz", *EVERY):
        write(SMALL, tmp_path / "net.xyz")


@pytest.mark.parametrize("format", EVERY)
def test_unknown_options(format, tmp_path):
    with refuses(format, "colour="):
        write(SMALL, tmp_path / name_of(format), format=format, colour="red")
    write(SMALL, tmp_path / name_of(format), format=format)
    with refuses(format, "directed", "colour="):
        read(tmp_path / name_of(format), format=format, colour="red")


@pytest.mark.parametrize("format", EVERY)
@pytest.mark.parametrize("part", sorted(PARTS))
def test_what_is_lost_is_refused_or_dropped_on_request(format, part, tmp_path):
    held = part.removeprefix("node_") in formats[format].holds
    mx = Multiplex.from_edges(["u", "v", "w"], ["v", "w", "u"], ["a", "b", "b"], **{part: PARTS[part]})
    path = tmp_path / name_of(format)
    if held:
        write(mx, path, format=format)
        assert read(path, format=format) == mx
        return
    with refuses(path, format, part.removeprefix("node_"), "lossy=True"):
        write(mx, path, format=format)
    assert names_in(tmp_path) == []
    with pytest.warns(UserWarning, match=f"{part.removeprefix('node_')}, which {format}"):
        write(mx, path, format=format, lossy=True)
    assert read(path, format=format) == Multiplex.from_edges(["u", "v", "w"], ["v", "w", "u"], ["a", "b", "b"])


@pytest.mark.parametrize("format", EVERY)
def test_names_that_are_no_text_are_refused(format, tmp_path):
    """A lone surrogate is no character: no file can hold it."""
    mx = Multiplex.from_edges(["a\ud800"], ["b"], ["l"])
    with pytest.raises(InputError):
        write(mx, tmp_path / name_of(format), format=format)
    assert names_in(tmp_path) == []


# Nothing is half-written


@pytest.mark.parametrize("format", EVERY)
def test_nothing_is_overwritten_unless_asked(format, tmp_path):
    path = tmp_path / name_of(format)
    write(full(format), path, format=format)
    before = names_in(tmp_path)
    with refuses(path, "overwrite=True"):
        write(SMALL, path, format=format)
    assert names_in(tmp_path) == before
    assert read(path, format=format) == full(format)
    write(SMALL, path, format=format, overwrite=True)
    assert read(path, format=format) == SMALL


def test_a_stale_side_note_goes(tmp_path):
    write(SMALL, tmp_path / "net.csv")
    assert (tmp_path / "net.csv.meta.json").exists()  # directed
    plain = Multiplex.from_edges([0, 1], [1, 2], [0, 0])
    write(plain, tmp_path / "net.csv", overwrite=True)
    assert names_in(tmp_path) == ["net.csv"]
    assert read(tmp_path / "net.csv") == plain


class Unexpected(Exception):
    pass


@pytest.mark.parametrize("error", [Unexpected(), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_write_that_fails_leaves_nothing(error, tmp_path, monkeypatch):
    def half(mx, path):
        path.write_text("half of it")
        path.with_name("companion.txt").write_text("and some more")
        raise error

    monkeypatch.setitem(formats, "half", Format("half", "breaks off", (".half",), read, half))
    lay_out(tmp_path, {"old.half": "what stood here"})
    expected = InputError if isinstance(error, OSError) else type(error)
    for name, overwrite in (("new.half", False), ("old.half", True)):
        with pytest.raises(expected):
            write(SMALL, tmp_path / name, overwrite=overwrite)
    assert names_in(tmp_path) == ["old.half"]
    assert (tmp_path / "old.half").read_text() == "what stood here"


@pytest.mark.parametrize("format", EVERY)
def test_a_full_disk_leaves_nothing(format, tmp_path, monkeypatch):
    """The last step, moving what is finished into place, fails: nothing is left, and one line says why."""

    def full_disk(source, destination):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with refuses(tmp_path / name_of(format), "No space left on device"):
        write(SMALL, tmp_path / name_of(format), format=format)
    assert names_in(tmp_path) == []


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    def read_only(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", read_only)
    with refuses(tmp_path / "net.csv", "Permission denied"):
        write(SMALL, tmp_path / "net.csv")
    assert names_in(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with refuses(tmp_path / "net.csv", "Permission denied"):
        write(SMALL, tmp_path / "net.csv")
    assert names_in(tmp_path) == []


# Whatever a file holds, it is read or refused


@pytest.mark.parametrize("format", EVERY)
def test_the_wrong_kind_of_thing(format, tmp_path):
    lay_out(tmp_path, {"empty": "", "noise": bytes(random.Random(0).randbytes(500)), "folder/x.bin": ""})
    for name in ("empty", "noise", "folder"):
        with pytest.raises(InputError) as caught:
            read(tmp_path / name, format=format)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")  # about columns that are not used
def test_damaged_files_are_read_or_refused(format, tmp_path):
    """Files with bytes deleted, repeated or replaced give a multiplex or one line, never another error."""
    chance = random.Random(format)
    write(full(format), tmp_path / name_of(format), format=format)
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    for number in range(60):
        shutil.copytree(tmp_path, copy := tmp_path.with_name(f"{tmp_path.name}-{number}"))
        file = copy / chance.choice(files).relative_to(tmp_path)
        file.write_bytes(damage(file.read_bytes(), chance))
        try:
            assert isinstance(read(copy / name_of(format), format=format), Multiplex)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
        shutil.rmtree(copy)


def damage(content, chance):
    start = chance.randrange(len(content) + 1)
    end = min(len(content), start + chance.choice([1, 3, 20]))
    middle = chance.choice(
        [b"", content[start:end] * 2, b"\xff", b"\n", b" ", b",", b"-1", b"nan", b"x", b'"', b"#", b"9" * 30]
    )
    return content[:start] + middle + content[end:]


@given(st.sampled_from(EVERY), st.integers(0, 3))
def test_progress_ends_with_all(format, num_edges):
    calls = []
    ends = np.arange(num_edges)
    mx = Multiplex.from_edges(ends, ends + 1, "l", num_nodes=5, layer_names=["l"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name_of(format)
        write(mx, path, format=format)
        read(path, format=format, progress=lambda done, total: calls.append((done, total)))
    assert all(0 <= done <= total for done, total in calls)
    assert not calls or calls[-1][0] == calls[-1][1]
    assert calls == sorted(calls)
