"""Result folders: refused if something is in them, continued if asked."""

from banditplex.jobs.engine import collect
from banditplex.storage.rows import ROWS
from tests.refusals import refuses

TASKS = [{"key": f"task {x}", "x": x} for x in (3, 1, 2)]


def run(folder, done, *, tasks=TASKS, about=None, resume=False):
    def work(task):
        done.append(task["x"])
        yield {"x": task["x"]}

    return collect(folder, work, tasks, about or {"seed": 0}, engine="serial", resume=resume)


def test_rows_come_in_the_order_of_keys(tmp_path):
    for folder in (tmp_path / "new" / "folder", None):
        done = []
        assert run(folder, done) == [{"x": 1}, {"x": 2}, {"x": 3}]
        assert done == [3, 1, 2]


def test_a_resumed_run_repeats_nothing(tmp_path):
    run(tmp_path / "out", done := [], tasks=TASKS[:2])
    assert run(tmp_path / "out", done, resume=True) == [{"x": 1}, {"x": 2}, {"x": 3}]
    assert done == [3, 1, 2]


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for resume in (False, True):
        with refuses(tmp_path, ROWS):
            run(tmp_path, [], resume=resume)
    run(tmp_path / "out", [])
    with refuses(tmp_path / "out", "resume=True"):
        run(tmp_path / "out", [])
    with refuses("seed was 0, now 1"):
        run(tmp_path / "out", [], about={"seed": 1}, resume=True)
    assert (tmp_path / "out" / ROWS).exists()


def test_progress_goes_to_stderr(tmp_path, capsys):
    run(tmp_path / "out", [])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == f"banditplex: {tmp_path / 'out'}: 3 of 3 runs."
