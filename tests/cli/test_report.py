"""`banditplex report`, and the pages that other commands write."""

import json
import shutil

import pytest

import banditplex as bx
from banditplex.cli.report import try_page
from banditplex.report.kept import ABOUT, END, PAGE, START, kept_data
from tests.cli.conftest import FAST
from tests.persistence.killed import multiplex
from tests.refusals import refuses
from tests.test_package import loaded_after


def data_of(page):
    return json.loads(page.read_text(encoding="utf-8").partition(START)[2].partition(END)[0])


def test_train_writes_a_page_and_links_it_last(place, trained, call):
    assert trained["report"] == f"run/{PAGE}"
    _, text, _ = call("train", "data.bx", "-o", "run", "--resume", cwd=place)
    assert text.rstrip().splitlines()[-1].endswith(f"Report: run/{PAGE}")
    found = data_of(place / "run" / PAGE)
    assert (found["title"], found["layers"]) == ("Data", ["a", "b", "c", "d"])
    assert found["history"]["targets"] == [0, 2]
    assert found["history"]["kept_epochs"] == trained["kept_epochs"]
    assert found["about"]["versions"]["Python"]
    assert found["truth"] is None


def test_report_writes_the_same_page_elsewhere(place, trained, call):
    status, text, _ = call("report", "run", "-o", "page.html", cwd=place)
    assert (status, text) == (0, "Report: page.html\n")
    assert (place / "page.html").read_bytes() == (place / "run" / PAGE).read_bytes()


def test_the_page_of_a_run_that_has_one_needs_no_model(place, trained):
    shutil.copytree(place / "run", place / "again")
    code = "from typer.testing import CliRunner\nfrom banditplex.cli import app\n"
    call = f"assert CliRunner().invoke(app, ['report', {str(place / 'again')!r}]).exit_code == 0\n"
    assert "torch" in loaded_after(code + call)  # the folder has another name than the one that the page was made for
    before = (place / "again" / PAGE).read_bytes()
    assert loaded_after(code + call) == set()
    assert (place / "again" / PAGE).read_bytes() == before


@pytest.fixture
def kept(place, trained, call):
    """A folder with a run and its page, and the page's data."""
    shutil.copytree(place / "run", place / "kept")
    assert call("report", "kept", "--quiet", cwd=place)[0] == 0
    yield place / "kept", data_of(place / "kept" / PAGE)
    shutil.rmtree(place / "kept")


def test_a_page_is_up_to_date_until_a_file_of_the_run_changes(kept):
    folder, data = kept
    assert kept_data(folder, None) == data
    assert kept_data(folder, "Mails") == data | {"title": "Mails"}
    files = sorted({path.name for path in folder.iterdir()} - {PAGE, "layer_gains.csv"})
    assert len(files) == 6  # model.json, the three files beside it, the checkpoint and about.json
    for name in files:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        assert kept_data(folder, None) is None
        (folder / name).write_bytes(content)
    (folder / "reading.json").write_text("{}")
    assert kept_data(folder, None) is None


def test_a_damaged_file_of_the_model_is_refused_although_there_is_a_page(kept, place, refusal):
    with (kept[0] / "weights.safetensors").open("ab") as file:
        file.write(b" ")
    assert "weights.safetensors" in refusal("report", "kept", "-o", "w.html", cwd=place)


@pytest.mark.parametrize(
    "text",
    [
        "", "<html></html>", f"{START}{END}", f"{START}[]{END}", f"{START}{{}}{END}", START + "[" * 200_000,
        f'{START}{{"made_from": null}}{END}', f'{START}{{"made_from": {{"files": "0", "title": "x"}}}}{END}',
    ],
)  # fmt: skip
def test_what_is_no_page_of_this_run_is_written_anew(kept, place, call, text):
    folder, data = kept
    (folder / PAGE).write_text(text)
    assert call("report", "kept", "--quiet", cwd=place) == (0, "", "")
    assert data_of(folder / PAGE) == data


def test_links_that_were_asked_for_do_not_stay(kept, place, call):
    folder, data = kept
    assert call("report", "kept", "--layer", "c", "--title", "Mails", "--quiet", cwd=place)[0] == 0
    assert (data_of(folder / PAGE)["made_from"], data_of(folder / PAGE)["title"]) == (None, "Mails")
    assert call("report", "kept", "--quiet", cwd=place)[0] == 0
    assert data_of(folder / PAGE) == data


def test_the_title_of_a_run_stays_until_another_is_asked_for(place, call):
    assert call("train", "data.bx", "-o", "titled", *FAST, "--title", "Calls", cwd=place)[0] == 0
    assert data_of(place / "titled" / "report.html")["title"] == "Calls"
    for more, title in (((), "Calls"), (("--title", "Mails"), "Mails")):
        assert call("report", "titled", *more, cwd=place)[0] == 0
        assert data_of(place / "titled" / "report.html")["title"] == title


def test_a_page_has_the_title_asked_for(place, trained, call):
    status, _, _ = call("report", "run", "-o", "named.html", "--title", "Calls & <mails>", cwd=place)
    assert (status, data_of(place / "named.html")["title"]) == (0, "Calls & <mails>")
    assert "<title>Calls &amp; &lt;mails&gt; · banditplex report</title>" in (place / "named.html").read_text("utf-8")


def test_links_of_the_layers_asked_for(place, trained, call):
    status, text, _ = call("report", "run", "-o", "c.html", "--layer", "c", "--json", cwd=place)
    assert (status, json.loads(text)) == (0, {"run": "run", "report": "c.html"})
    assert [part["target"] for part in data_of(place / "c.html")["links"]["targets"]] == [2]


def test_a_saved_model_has_a_page_without_what_only_train_knows(place, trained, call):
    shutil.copytree(place / "run", place / "bare")
    for name in (ABOUT, PAGE, "checkpoint.safetensors"):
        (place / "bare" / name).unlink()
    assert call("report", "bare", "--quiet", cwd=place) == (0, "", "")
    found = data_of(place / "bare" / PAGE)
    assert (found["title"], found["held_out"], found["history"]["kept_epochs"]) == ("Bare", None, [])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("nothing", "-o", "x.html"), "nothing"),
        (("run", "-o", "x.txt"), "x.txt"),
        (("run", "-o", "no/x.html"), "no"),
        (("run", "-o", "run/report.html"), "--force"),
        (("run", "-o", "y.html", "--layer", "b"), "'b'"),
    ],
)
def test_what_cannot_be_written_is_refused(place, trained, refusal, words, named):
    assert named in refusal("report", *words, cwd=place)


def test_evaluate_writes_a_page_beside_its_rows(place, trained, call):
    words = (
        "evaluate",
        "data.bx",
        "--hide",
        "layer",
        "--trials",
        "1",
        "--folds",
        "2",
        "--engine",
        "serial",
        "-o",
        "e.jsonl",
    )
    status, text, _ = call(*words, "--policy", "uniform,none", "--target", "a", *FAST, "--quiet", cwd=place)
    assert status == 0
    assert text.rstrip().endswith("Report: e.html")
    found = data_of(place / "e.html")["comparison"]
    assert found["methods"] == ["uniform", "none"]
    rows = [json.loads(line) for line in (place / "e.jsonl").read_text().splitlines()[1:]]
    means = [
        row["roc_auc"] for each in rows for row in each["rows"] if (row["method"], row["scope"]) == ("none", "mean")
    ]
    shown = [line["mean"] for line in found["lines"] if (line["method"], line["metric"]) == ("none", "roc_auc")]
    assert shown == [pytest.approx(sum(means) / 2)]


EVALUATE = ("evaluate", "data.bx", "--hide", "layer", "--trials", "1", "--folds", "2", "--engine", "serial")
UNASKED = {
    "evaluation": (*EVALUATE, "--policy", "none", "--target", "a", *FAST, "--quiet"),
    "comparison": (
        "compare", "data.bx", "--methods", "jaccard", "--seeds", "1", "--trials", "1", "--engine", "serial", "--quiet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ["evaluation", pytest.param("comparison", marks=pytest.mark.slow)])
def test_a_page_is_written_without_being_asked_for(call, tmp_path, what):
    bx.write(multiplex(), tmp_path / "data.bx")
    status, text, _ = call(*UNASKED[what], cwd=tmp_path)
    assert (status, text.rstrip().splitlines()[-1]) == (0, f"Report: data-{what}.html")
    found = data_of(tmp_path / f"data-{what}.html")
    if what == "evaluation":
        assert found["comparison"]["methods"] == ["none"]
    else:
        assert [line["method"] for line in found["leaderboard"]["methods"]] == ["jaccard"]


@pytest.mark.slow
@pytest.mark.parametrize("what", UNASKED)
def test_json_comes_without_a_page_that_was_not_asked_for(call, tmp_path, what):
    bx.write(multiplex(), tmp_path / "data.bx")
    assert json.loads(call(*UNASKED[what], "--json", cwd=tmp_path)[1])["report"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["data.bx"]


def test_a_page_that_was_not_asked_for_loses_no_results(tmp_path, capsys):
    """There is a folder in its place."""
    (tmp_path / "page.html").mkdir()
    assert try_page(tmp_path / "page.html", {"title": "data"}, asked=False) is None
    assert "page.html" in capsys.readouterr().err
    with refuses("page.html"):
        try_page(tmp_path / "page.html", {"title": "data"}, asked=True)


def quality_of(entries):
    return f'{{"held_out": {{"bins": [], "targets": [{{{entries}, "low": 0.4, "high": 0.6, "clear": false}}]}}}}'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[]", "object"),
        ("[" * 200_000, "levels"),
        ('{"data": 7}', "data"),
        ('{"versions": {"Python": 3}}', "versions"),
        ('{"relevant": [[0, -1]]}', "-1"),
        ('{"relevant": [[0, 4]]}', "from 0 to 3"),
        ('{"relevant": [[0, 1' + "0" * 400 + "]]}", "from 0 to 3"),
        ('{"relevant": [[0]]}', "relevant"),
        ('{"relevant": [[0, 1, 2]]}', "relevant"),
        ('{"held_out": {"bins": [], "targets": []}}', "held_out.targets"),
        (quality_of('"edges": 1, "roc_auc": 7'), "roc_auc"),
        (quality_of('"edges": 1' + "0" * 400 + ', "roc_auc": 0.5'), "edges"),
        (quality_of('"edges": 1, "roc_auc": 1.5'), "roc_auc"),
        ('{"held_out": {"bins": [{"share": 1}], "targets": []}}', "bins"),
        (quality_of('"edges": 1, "roc_auc": NaN'), "roc_auc"),
    ],
)
def test_notes_of_a_run_that_cannot_be(place, trained, refusal, text, named):
    shutil.copytree(place / "run", place / "crafted", dirs_exist_ok=True)
    (place / "crafted" / ABOUT).write_text(text)
    error = refusal("report", "crafted", "-o", "z.html", cwd=place)
    assert error.startswith(f"crafted/{ABOUT}: ")
    assert named in error
    assert not (place / "z.html").exists()
