"""Files that take the place of others: what is left if a move fails, and what is on the disk before any is moved."""

import errno
import os

import pytest

from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from tests.io.test_dispatch import names_in
from tests.refusals import refuses

OLD = Multiplex.from_edges([0], [1], "x", num_nodes=5)
NEW = Multiplex.from_edges([0, 1], [1, 2], ["a", "b"], num_nodes=4)


def failing(call, at):
    """Return a call that fails as on a full disk, the time `at` that it is made."""
    made = []

    def tried(source, destination):
        made.append(destination)
        if len(made) == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return call(source, destination)

    return tried


def test_new_files_of_which_one_cannot_be_moved_are_removed(tmp_path, monkeypatch):
    """Of two files, an edge list and its side note, the second cannot be moved (the mark is first): neither stays."""
    monkeypatch.setattr(os, "replace", failing(os.replace, 3))
    with refuses(tmp_path / "net.csv", "No space left on device"):
        write(NEW, tmp_path / "net.csv")
    assert names_in(tmp_path) == []


def test_old_files_of_which_one_is_replaced_are_kept_and_refused(tmp_path, monkeypatch):
    """The new side note has replaced the old one: nothing is removed, and reading says that they are mixed."""
    write(OLD, tmp_path / "net.csv")
    edges, before = (tmp_path / "net.csv").read_bytes(), names_in(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing(os.replace, 3))
        with refuses(tmp_path / "net.csv", "No space left on device"):
            write(NEW, tmp_path / "net.csv", overwrite=True)
    assert set(before) <= set(names_in(tmp_path))
    assert (tmp_path / "net.csv").read_bytes() == edges
    with refuses(tmp_path / "net.csv", "mixed"):
        read(tmp_path / "net.csv")
    write(NEW, tmp_path / "net.csv", overwrite=True)
    assert read(tmp_path / "net.csv") == NEW
    assert names_in(tmp_path) == before


@pytest.mark.parametrize("name", ["net.csv", "net.bx"])
def test_all_files_are_on_the_disk_before_any_is_moved(name, tmp_path, monkeypatch):
    done, call, move = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append(os.readlink(f"/proc/self/fd/{file}")), call(file)))
    monkeypatch.setattr(os, "replace", lambda *ends: (done.append("moved"), move(*ends)))
    write(NEW, tmp_path / name)
    first = done.index("moved")
    synced = {os.path.basename(each) for each in done[:first]}
    place = tmp_path / name
    written = [each.name for each in (place.iterdir() if place.is_dir() else tmp_path.iterdir())]
    assert len(written) > 1
    assert set(written) <= synced
    assert done[-1] == str(tmp_path)
