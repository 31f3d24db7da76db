"""Locks, with real processes: one holds it, others are refused, and the dead do not count."""

import json
import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from banditplex.errors import InputError
from banditplex.persistence.run_folder import RunFolder
from banditplex.storage.files import locked_folder
from banditplex.storage.lock import Lock, open_regular, process_start
from banditplex.storage.rows import RowStore
from tests.refusals import refuses

HOLD = "import sys; from pathlib import Path; from banditplex.storage.lock import Lock; "
HOLD += "lock = Lock.take(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"


def start(path, code=HOLD):
    """Start a process that takes a lock and keeps it until its stdin closes."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "held\n"
    return child


def end(child):
    child.kill()
    child.communicate()


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path):
    path = tmp_path / "lock"
    child = start(path)
    try:
        since = json.loads(path.read_text())["since"]
        with refuses(path, f"process {child.pid}", since):
            Lock.take(path)
    finally:
        end(child)  # killed: its file stays
    assert path.exists()
    with Lock.take(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not path.exists()


def test_run_folders_and_results_are_refused_by_name(tmp_path):
    (tmp_path / "run").mkdir()
    child, other = start(tmp_path / "run" / ".lock"), start(tmp_path / "rows.jsonl.lock")
    try:
        with refuses("run", f"process {child.pid}"), locked_folder(tmp_path / "run"):
            pass
        with refuses("rows.jsonl", f"process {other.pid}"):
            RowStore(tmp_path / "rows.jsonl", {}, resume=True)
    finally:
        end(child)
        end(other)
    assert not RunFolder(tmp_path / "run").occupied
    RowStore(tmp_path / "rows.jsonl", {}).add("a", [])


def owner(**changes):
    known = {"pid": os.getpid(), "start": process_start(os.getpid()), "host": socket.gethostname(), "since": "today"}
    return json.dumps(known | changes)


def test_an_owner_without_a_lock_of_the_system_counts_if_it_is_alive(tmp_path):
    """As on a file system without such locks: this process is alive, its number with another start is another's."""
    path = tmp_path / "lock"
    path.write_text(owner())
    with refuses(path, os.getpid(), "today"):
        Lock.take(path)
    path.write_text(owner(host="elsewhere", pid=1))
    with refuses(path, "process 1 on elsewhere", "remove"):
        Lock.take(path)


@pytest.mark.parametrize(
    "text", [owner(start=1), owner(pid=2**22 + 1), ""], ids=["another start", "no process", "empty"]
)
def test_a_lock_of_nobody_is_taken_over(text, tmp_path):
    (tmp_path / "lock").write_text(text)
    with Lock.take(tmp_path / "lock"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["mine", "{", '{"pid": 0}', "[" * 100_000])
def test_a_file_that_is_no_lock_is_left_alone(text, tmp_path):
    (tmp_path / "lock").write_text(text)
    with refuses(tmp_path / "lock", "another file"):
        Lock.take(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == text


@pytest.mark.parametrize("text", ["mine", "", owner(pid=2**22 + 1)], ids=["text", "empty", "a lock"])
@pytest.mark.parametrize("kind", ["link", "second name", "link to nothing", "folder", "pipe"])
def test_what_stands_in_the_place_of_a_lock_is_not_written_to(kind, text, tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "lock"
    precious.write_text(text)
    if kind == "second name":
        os.link(precious, path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(precious if kind == "link" else tmp_path / "nothing")
    if kind == "second name" and text != "mine":  # only that name goes
        Lock.take(path).release()
    else:
        with refuses(path):
            Lock.take(path)
        assert os.path.lexists(path)
    assert precious.read_text() == text
    assert not (tmp_path / "nothing").exists()


def test_the_start_of_a_process_is_that_of_the_system():
    psutil = pytest.importorskip("psutil")
    ticks = process_start(os.getpid()) / os.sysconf("SC_CLK_TCK")
    assert psutil.Process().create_time() - psutil.boot_time() == pytest.approx(ticks, abs=2)


def test_of_many_that_want_it_one_gets_it(tmp_path):
    """Threads open the file on their own, so they compete as processes do."""
    path = tmp_path / "lock"

    def work(_):
        try:
            lock = Lock.take(path)
        except InputError:
            return 0
        inside.append(1)
        alone = len(inside)
        inside.pop()
        lock.release()
        return alone

    inside = []
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(work, range(400)))
    assert set(got) <= {0, 1}
    assert sum(got)
    assert not path.exists()


def test_a_thread_may_take_its_own_lock_again(tmp_path):
    with Lock.take(tmp_path / "lock"):
        with Lock.take(tmp_path / "lock"):
            pass
        assert (tmp_path / "lock").exists()
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("replaced", [True, False])
def test_a_place_that_goes_away_is_noticed(replaced, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with Lock.take(folder / "lock") as lock:
        lock.check()
        shutil.rmtree(folder)
        if replaced:
            folder.mkdir()
            (folder / "lock").write_text("not yours")
        with refuses(folder, os.getpid()):
            lock.check()
    assert [path.read_text() for path in folder.glob("*")] == ["not yours"] * replaced


def test_a_folder_made_for_nothing_is_removed(tmp_path):
    with locked_folder(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_written_is_not_left(tmp_path, monkeypatch):
    def full(file, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, refuses(tmp_path / "a", "No space left on device"):
        patch.setattr(os, "write", full)
        Lock.take(tmp_path / "lock", place=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_opened(tmp_path):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("file")
    with refuses(tmp_path / "link", "link"):
        open_regular(tmp_path / "link")
