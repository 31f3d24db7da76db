"""Drafts: made exclusively, under names that nobody can foresee; those of the dead are removed, and nothing else."""

import os
import socket
import stat

import pytest

from banditplex.storage import files
from banditplex.storage.files import DRAFT, draft_folder, is_draft, leftovers, replace_file, replacing
from tests.refusals import refuses
from tests.storage.drafts import dead_draft


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    replace_file(tmp_path / "a", b"old")

    def cut_off():
        with replacing(tmp_path / "a") as file:
            file.write(b"half")
            file.flush()
            (draft,) = (path for path in tmp_path.iterdir() if path.name != "a")
            assert is_draft(draft)
            assert (tmp_path / "a").read_bytes() == b"old"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cut_off()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]
    replace_file(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a").symlink_to("precious")
    replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_all_bytes_are_in_the_file_when_it_is_synchronised(tmp_path, monkeypatch):
    """Else a loss of power after the renaming would leave a shorter file. Then the folder is synchronised."""
    found = []
    monkeypatch.setattr(os, "fsync", lambda file: found.append((os.fstat(file).st_mode, os.fstat(file).st_size)))
    replace_file(tmp_path / "a", b"x" * 10)
    assert [stat.S_ISREG(mode) for mode, _ in found] == [True, False]
    assert found[0][1] == 10


@pytest.mark.parametrize("nothing", [True, False])
def test_even_a_name_that_was_foreseen_is_not_followed(nothing, tmp_path, monkeypatch):
    """If somebody guessed all 16 digits, the link that stands there is refused, be its target there or not."""
    monkeypatch.setattr(files, "_draft_of", lambda path: path.with_name("guessed"))
    (tmp_path / "guessed").symlink_to("precious")
    if not nothing:
        (tmp_path / "precious").write_text("mine")
    with refuses(tmp_path / "a", "File exists"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "precious").exists() is not nothing
    assert nothing or (tmp_path / "precious").read_text() == "mine"


def test_names_of_drafts_differ_from_each_other(tmp_path):
    names = set()
    for _ in range(50):
        with draft_folder(tmp_path / "a") as folder:
            names.add(folder.name)
            assert folder.stat().st_mode & 0o77 == 0  # others cannot look inside
    assert len(names) == 50
    assert list(tmp_path.iterdir()) == []


def test_drafts_of_the_dead_are_removed_and_no_others(tmp_path):
    """Left alone: a living process, another host, another start, a link, a second name, a folder with an old one."""
    place = tmp_path / "a"
    *dead, link, second, kept, elsewhere, foreign = [dead_draft(place) for _ in range(7)]
    dead[0].write_bytes(b"half")
    dead[1].mkdir()
    (dead[1] / "inside").write_text("half")
    (tmp_path / "precious").write_text("mine")
    link.symlink_to("precious")
    os.link(tmp_path / "precious", second)
    (kept / files.OLD).mkdir(parents=True)
    host = DRAFT.fullmatch(link.name)[4]
    elsewhere = tmp_path / elsewhere.name.replace(host, "0123abcd")
    foreign = tmp_path / f"{foreign.name}.txt"
    for path in (elsewhere, foreign):
        path.write_text("theirs")
    assert host == files._checksum(socket.gethostname())
    assert set(leftovers(tmp_path)) == {*dead, kept}
    assert set(leftovers(tmp_path, tmp_path / "b")) == set()
    with draft_folder(place) as alive:
        replace_file(tmp_path / "b", b"new")
        assert set(tmp_path.iterdir()) == {
            alive, link, second, kept, elsewhere, foreign, tmp_path / "precious", tmp_path / "b",
        }  # fmt: skip
    assert (tmp_path / "precious").read_text() == "mine"


def test_the_start_of_a_process_counts(tmp_path):
    """A draft of this very process number, from a process that began earlier, is one of the dead."""
    with draft_folder(tmp_path / "a") as mine:
        start = DRAFT.fullmatch(mine.name)[3]
        assert list(leftovers(tmp_path)) == []
        earlier = tmp_path / mine.name.replace(f"-{start}-", f"-{int(start) - 1}-")
        earlier.write_text("half")
        assert list(leftovers(tmp_path)) == [earlier]


def test_a_folder_that_was_moved_away_is_brought_back(tmp_path):
    """As after a kill between the two renames that replace a folder where they cannot change places."""
    from banditplex.storage.files import check_whole

    left = dead_draft(tmp_path / "out.bx")
    (left / files.OLD).mkdir(parents=True)
    (left / files.OLD / "x").write_text("old")
    check_whole(tmp_path / "other.bx")
    assert not (tmp_path / "other.bx").exists()
    check_whole(tmp_path / "out.bx")
    assert (tmp_path / "out.bx" / "x").read_text() == "old"
