"""A file or folder that takes the place of another: what is left if a move fails, and what is on the disk before."""

import errno
import os

import pytest

from banditplex.io import read, write
from banditplex.multiplex import Multiplex
from banditplex.storage import staging
from tests.io.test_dispatch import names_in
from tests.refusals import refuses

OLD = Multiplex.from_edges([0], [1], "x", num_nodes=5)
NEW = Multiplex.from_edges([0, 1], [1, 2], ["a", "b"], num_nodes=4)


@pytest.mark.parametrize("name", ["net.parquet", "net.bx"])
def test_what_cannot_be_moved_leaves_the_old_in_place(name, tmp_path, monkeypatch):
    def full_disk(*ends):
        raise OSError(errno.ENOSPC, "No space left on device")

    for before in ([], ["old"]):
        if before:
            write(OLD, tmp_path / name)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", full_disk)
            patch.setattr(staging, "exchange", full_disk)
            with refuses(tmp_path / name, "No space left on device"):
                write(NEW, tmp_path / name, overwrite=True)
        assert (names_in(tmp_path) != []) == bool(before)
    assert read(tmp_path / name) == OLD
    write(NEW, tmp_path / name, overwrite=True)
    assert read(tmp_path / name) == NEW


@pytest.mark.parametrize("name", ["net.parquet", "net.bx"])
def test_all_files_are_on_the_disk_before_any_is_moved(name, tmp_path, monkeypatch):
    done, call, move = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append(os.readlink(f"/proc/self/fd/{file}")), call(file)))
    monkeypatch.setattr(os, "replace", lambda *ends: (done.append("moved"), move(*ends)))
    write(NEW, tmp_path / name)
    first = done.index("moved")
    synced = {os.path.basename(each) for each in done[:first]}
    place = tmp_path / name
    written = [each.name for each in (place.iterdir() if place.is_dir() else tmp_path.iterdir())]
    assert written
    assert set(written) <= synced
    assert done[-1] == str(tmp_path)
