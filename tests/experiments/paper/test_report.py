"""Files that are written from hand-made rows: the same bytes every time, and the numbers of the rows."""

import re
from xml.etree import ElementTree

import pandas as pd
import pytest

from banditplex.experiments.paper import report
from banditplex.experiments.paper.analysis import Runs, curve_table, findings
from banditplex.experiments.paper.report import FIGURES, draw
from banditplex.experiments.paper.settings import DATASETS, METHODS, Size
from faults.links import contents, plant


@pytest.fixture(
    scope="module",
    params=[("variants", "test-euclidean"), pytest.param(tuple(FIGURES), marks=pytest.mark.slow)],
    ids=["two figures", "all figures"],
)
def folder(request, made_rows, tmp_path_factory):
    path, outside = tmp_path_factory.mktemp("report"), tmp_path_factory.mktemp("outside")
    plant(outside, path, ["claims.csv", "claims.md", "curves.csv", "index.md", "variants.png", "variants.svg"])
    before = contents(outside)
    with pytest.MonkeyPatch.context() as patch:
        for name in set(FIGURES) - set(request.param):
            patch.delitem(FIGURES, name)
        report.write(Runs.from_rows(made_rows), path, command="banditplex reproduce", size=Size(5, 2, 4))
        assert contents(outside) == before  # links in the places of files are replaced, not followed
        yield path


def test_all_files_are_there_and_small(folder):
    assert {path.name for path in folder.iterdir()} == {"claims.csv", "claims.md", "curves.csv", "index.md"} | {
        f"{name}.{ending}" for name in FIGURES for ending in ("png", "svg")
    }
    assert all((folder / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in FIGURES)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000


def test_what_is_written_does_not_depend_on_the_order_of_rows(made_rows, folder, tmp_path):
    runs = Runs.from_rows(made_rows[::-1])
    assert report.claims_page(runs, findings(runs)) == (folder / "claims.md").read_text()
    draw(curve_table(runs), tmp_path, "variants")
    for name in ("variants.png", "variants.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_figures_have_a_panel_per_data_set_and_name_every_method(folder):
    svg = (folder / "test-euclidean.svg").read_text()
    text = " ".join(ElementTree.fromstring(svg).itertext())
    for name in ("rand-internship", "CKM", "Vickers", "small-3-layers", "LAZEGA", "EUAIR"):
        assert text.count(name) == 1
    assert [len(re.findall(rf"\b{name}(?=\s)", text)) for name in ("ours", "uniform")] == [6, 6]
    assert "<dc:date>" not in svg


def test_figures_and_tables_use_the_same_names(folder):
    for name, (_, _, methods) in FIGURES.items():
        text = [part.strip() for part in ElementTree.parse(folder / f"{name}.svg").getroot().itertext()]
        assert [text.count(method) for method in methods] == [6] * len(methods)
        assert set(methods) <= set(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 6])
def test_titles_fit_into_their_figures(made_rows, count, tmp_path):
    runs = Runs.from_rows([row for row in made_rows if row["dataset"] in list(DATASETS)[:count]])
    for name in FIGURES:
        figure = draw(curve_table(runs), tmp_path, name)
        figure.canvas.draw()
        (title,) = figure.texts
        box = title.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= max(axes.title.get_window_extent().y1 for axes in figure.axes)


def test_tables(made_rows, folder):
    curves = pd.read_csv(folder / "curves.csv")
    assert len(curves) == 6 * 7 * 4
    by_hand = [row["test"][3] for row in made_rows if (row["dataset"], row["method"]) == ("euair", "ours")]
    at = (curves["dataset"] == "euair") & (curves["method"] == "ours") & (curves["epoch"] == 4)
    assert abs(curves[at]["test"].item() - sum(by_hand) / 10) < 1e-4
    assert set(pd.read_csv(folder / "claims.csv")["method"]) == {"exp3+", "ours"}


def test_index(folder):
    index = (folder / "index.md").read_text()
    assert "420 runs of 4 epochs (1,680 epochs in all)" in index
    assert "| better everywhere | yes | yes |" in index
    for target in re.findall(r"\]\(([^)]+)\)", index):
        assert (folder / target).exists()


def test_some_data_sets_are_enough(made_rows, tmp_path):
    runs = Runs.from_rows([row for row in made_rows if row["dataset"] == "ckm"])
    page = report.claims_page(runs, findings(runs))
    assert "CKM" in page
    assert "8 points early" not in page
    draw(curve_table(runs), tmp_path, "variants")
    assert "Vickers" not in (tmp_path / "variants.svg").read_text()
