"""The page in a real browser: charts, hover, sorting, search, download; names stay text; nothing leaves the page."""

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.report.collect import collect_graph, collect_history, collect_leaderboard, collect_probabilities
from banditplex.report.links import top_links
from banditplex.report.page import write_page
from tests.quick import only
from tests.report.conftest import HOSTILE, LONG, hostile
from tests.report.test_collect import LIKELY, history, small

MINUS = "\N{MINUS SIGN}"
SECTIONS = ["links", "layers", "quality", "multiplex", "about", "training"]


def cells(page, table, column):
    return page.locator(f"{table} tbody tr td:nth-child({column})").all_inner_texts()


def numbers(texts):
    return [float(text.replace(MINUS, "-").replace(",", "")) for text in texts]


def unfold(page):
    page.evaluate("document.querySelector('#training details').open = true")


def test_every_section_is_there_and_linked(page):
    """Findings first, training last and folded; its link unfolds it."""
    assert page.eval_on_selector_all("#sections > section", "found => found.map(each => each.id)") == SECTIONS
    links = page.eval_on_selector_all("nav a", "found => found.map(each => each.getAttribute('href'))")
    assert links == [f"#{name}" for name in SECTIONS]
    assert page.locator("#training .chart").first.is_hidden()
    page.locator("nav a").last.click()
    assert page.locator("#training .chart").first.is_visible()


def test_the_page_begins_with_what_was_found(page, data):
    """Three sentences, in which layers are names; they are those that the data has."""
    names = data["layers"]
    told = ["".join(part if isinstance(part, str) else names[part] for part in each) for each in data["findings"]]
    shown = page.locator("#intro .findings li").all_inner_texts()
    assert len(shown) == 3
    assert shown[1:] == told[1:]
    assert shown[0].startswith(told[0][:30])
    assert (
        page.evaluate("document.querySelector('.findings').compareDocumentPosition(document.querySelector('#links'))")
        == 4
    )


def test_names_stay_text(page):
    """No element came from a name, and all names can be read."""
    assert page.evaluate("document.querySelectorAll('img, iframe, object, svg script').length") == 0
    assert page.evaluate("[...document.scripts].filter(each => each.textContent.includes('gone')).length") == 1  # data
    assert page.locator("h1").inner_text() == HOSTILE[0]
    shown = page.locator("#multiplex tbody td:first-child bdi").all_inner_texts()
    assert shown == [f"{LONG[:119]}…" if name == LONG else name for name in HOSTILE]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.evaluate("() => document.querySelectorAll('#links tbody button').forEach(each => each.click())")
    assert page.locator("#links .evidence").count() == page.locator("#links tbody button").count() >= 5
    page.evaluate("() => document.querySelectorAll('#links tbody button').forEach(each => each.click())")
    assert page.title() == f"{HOSTILE[0]} · banditplex report"


def test_scripts_are_allowed_by_hash_alone(page):
    policy = page.get_attribute("meta[http-equiv='Content-Security-Policy']", "content")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", source) for source in rules["script-src"].split())
    assert len(rules["script-src"].split()) == page.evaluate("[...document.scripts].filter(s => !s.type).length")


COLOURS = """() => [...document.querySelectorAll('.chart canvas, .matrix canvas')].map(canvas => {
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size; })"""
"""The number of different pixels of each chart."""


def test_charts_are_drawn(page):
    """Every canvas has pixels of more than one colour once it has been on the screen."""
    unfold(page)
    for block in page.locator("figure").all():
        block.scroll_into_view_if_needed()
        page.wait_for_timeout(20)
    colours = page.evaluate(COLOURS)
    assert len(colours) == 10  # layers per pair, graph, 4 of training, reliability; 3 heat maps
    assert min(colours) > 3


def test_all_charts_are_printed(opened, written):
    """A browser prints what is there after `beforeprint`, also of charts that have never been on the screen."""
    with opened(written, reduced_motion="no-preference") as page:
        assert page.locator(".chart canvas, .matrix canvas").count() < 10
        colours = page.evaluate(f"() => {{ dispatchEvent(new Event('beforeprint')); return ({COLOURS})(); }}")
    assert len(colours) == 10
    assert min(colours) > 3


def test_a_heat_map_tells_its_numbers(page, run):
    """Hover, and arrow keys; the numbers are those of the table of gains."""
    gains = run[1].layer_gains_.set_index(["target", "layer"])
    canvas = page.locator("#layers .matrix canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    page.keyboard.press("ArrowDown")  # the first cell
    page.keyboard.press("ArrowRight")  # target 0, layer 1
    row = gains.loc[(HOSTILE[0], HOSTILE[1])]
    told = page.locator("#tip").inner_text().replace(MINUS, "-")
    assert HOSTILE[1] in told
    assert f"{row['gain']:.3f}" in told
    assert f"{row['low']:.3f} to {row['high']:.3f}" in told
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] - 50)  # the last column, next-to-last row
    assert page.locator("#tip").is_visible()
    assert HOSTILE[5] in page.locator("#tip b").inner_text()
    page.mouse.move(0, 0)
    assert page.locator("#tip").is_hidden()


def test_a_chart_tells_its_numbers(page, run):
    history = run[1].history_
    unfold(page)
    chart = page.locator("#training .chart").first
    chart.scroll_into_view_if_needed()
    chart.focus()
    page.keyboard.press("ArrowRight")
    told = chart.locator(".tip").inner_text()
    first = history[history["epoch"] == 1]
    assert "epoch 1" in told
    assert f"{first['train_loss'].mean():.3f}" in told
    assert f"{first['validation_loss'].mean():.3f}" in told
    page.keyboard.press("Tab")


def test_losses_of_several_networks_are_a_mean_with_a_band(opened, tmp_path):
    """Networks of 3 and 2 epochs: (.9 + .8) / 2, (.7 + .4) / 2 and, as the second has stopped, (.5 + .4) / 2."""
    losses = [0.9, 0.7, 0.5, 0.8, 0.4]
    rows = [
        row | {"train_loss": losses[row["epoch"] - 1], "member": 1 + (row["epoch"] > 3)} for row in history(epochs=5)
    ]
    gains = pd.DataFrame([], columns=["target", "layer", "gain", "low", "high", "weight", "helps"])
    data = collect_graph(small(), "two networks", None, gains)
    data["history"] = collect_history(rows, LIKELY, small()) | {"kept_epochs": [2, 5]}
    data["about"] = {"command": "banditplex train " + "long-name " * 20, "settings": []}
    write_page(tmp_path / "two.html", data)
    with opened(tmp_path / "two.html", viewport={"width": 390, "height": 800}) as page:
        unfold(page)
        assert page.locator("#training output").inner_text() == "epoch 3 of 3"
        assert page.locator("#training input[type=range]").get_attribute("max") == "2"
        chart = page.locator("#training .chart").first
        chart.scroll_into_view_if_needed()
        chart.locator("canvas").wait_for()
        chart.focus()
        for epoch, told in enumerate(("0.850 ± 0.050", "0.550 ± 0.150", "0.450 ± 0.050"), 1):
            page.keyboard.press("ArrowRight")
            assert f"epoch {epoch}" in chart.locator(".tip").inner_text()
            assert told in chart.locator(".tip").inner_text()
        assert "means of 2 networks" in page.locator("#training").inner_text()
        block = "document.querySelector('.command pre')"  # on one line, which scrolls inside
        assert page.evaluate(f"{block}.scrollWidth > {block}.clientWidth && {block}.clientHeight < 60")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_table_is_sorted_by_a_click(page):
    head = page.locator("#multiplex th", has_text="Density")
    for order in ("descending", "ascending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        found = numbers(cells(page, "#multiplex", 4))
        assert found == sorted(found, reverse=order == "descending")
    page.locator("#multiplex th button", has_text="Layer").first.click()


def test_a_heat_map_is_sorted(page):
    """By name, the first row is that of the name that comes first."""
    select = page.locator("#layers select")
    select.select_option("name")
    canvas = page.locator("#layers .matrix canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    first = page.evaluate("names => [...names].sort((a, b) => a.localeCompare(b))[0]", list(HOSTILE))
    assert page.locator("#tip b").inner_text().endswith(f"for target {first}")
    select.select_option("given")
    page.keyboard.press("Escape")


def test_links_are_searched_explained_and_downloaded(page, data, run):
    lows = [each["low"] for each in data["held_out"]["targets"]]
    best = HOSTILE[lows.index(max(lows))]  # all layers are targets, in their order
    table = run[1].recommend(best, top=100)
    part = data["links"]["targets"][lows.index(max(lows))]
    assert part["source"] == table["source"].tolist()
    page.locator("#links select").first.select_option(str(HOSTILE.index(best)))
    assert page.locator("#links tbody tr").count() == 15
    page.locator("#links input").fill("NODE 7")
    hits = [i for i in range(len(table)) if "node 7" in f"{table['source'][i]}\n{table['destination'][i]}"]
    assert page.locator("#links tbody tr").count() == min(15, len(hits))
    page.locator("#links input").fill("no such node")
    assert page.locator("#links tbody").inner_text() == "No link found."
    page.locator("#links input").fill("")
    page.locator("#links tbody button").first.click()
    terms = run[1].explain(table[["source", "destination"]].to_numpy()[:1], best)
    said = page.locator("#links .evidence").inner_text().replace(MINUS, "-")
    assert f"{terms['value'].sum():.2f}: a typical pair has {terms['value'][0]:.2f}" in said
    rest = terms[~terms["term"].isin(["base", "own"])].groupby("layer")["value"].sum()
    shown = numbers(page.locator("#links .terms .number").all_inner_texts())
    assert sorted(shown) == pytest.approx(sorted([terms["value"][1], *rest]), abs=0.006)
    page.locator("#links tbody button").first.click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    with open(waiting.value.path(), encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(io.StringIO(file.read())))
    assert [row["source"] for row in rows] == table["source"].tolist()
    assert [row["layer"] for row in rows] == [best] * len(table)
    assert [float(row["probability"]) for row in rows] == pytest.approx(table["probability"].tolist())


def saved(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return waiting.value.path().read_text(encoding="utf-8-sig")


def test_looked_at_used_and_proven_are_told_apart(page, data, run):
    """What is proven has a gain that helps; what is looked at is drawn twice as often as by an even policy, or more."""
    model, names = run[1], data["layers"]
    rows = page.locator("#layers table").first.locator("tbody tr")
    for row in rows.all():
        target, _, looked, used, proven = [cell.locator("bdi.chip, bdi.name") for cell in row.locator("td").all()]
        name = target.get_attribute("title")
        name = next(each for each in names if each[:299] == name[:299])
        gains, likely = model.layer_gains_.query("helps and target == @name"), model.layer_probabilities_.loc[name]
        often = likely[likely > 2 * likely.sum() / 5].sort_values(ascending=False).index[:3]
        assert [chip.get_attribute("title")[:299] for chip in proven.all()] == [each[:299] for each in gains["layer"]]
        assert [chip.get_attribute("title")[:299] for chip in looked.all()] == [each[:299] for each in often]
        assert used.count() == min(5, model.k_[name])
    assert rows.count() == 6


def test_results_are_saved_as_json_and_csv(page, data, run):
    """Findings, gains, quality and links are those of the model; the CSV has the same gains."""
    model = run[1]
    found = json.loads(saved(page, "Save results as JSON"))
    gains = model.layer_gains_.set_index(["target", "layer"])
    assert len(found["gains"]) == len(gains)
    for row in found["gains"]:
        expected = gains.loc[(row["target"], row["layer"])]
        assert row["helps"] == expected["helps"]
        assert [row[name] for name in ("gain", "low", "high")] == pytest.approx(
            expected[["gain", "low", "high"]].tolist(), abs=1e-4
        )
    rows = list(csv.DictReader(io.StringIO(saved(page, "Gains as CSV"))))
    assert [row["layer"].lstrip("'") for row in rows] == [row["layer"] for row in found["gains"]]
    assert [float(row["gain"]) for row in rows] == pytest.approx([row["gain"] for row in found["gains"]], abs=1e-4)
    best = model.recommend(HOSTILE[1], top=100)
    links = [row for row in found["links"] if row["layer"] == HOSTILE[1]]
    assert [row["source"] for row in links] == best["source"].tolist()
    assert [row["probability"] for row in links] == pytest.approx(best["probability"].tolist())
    assert len(list(csv.DictReader(io.StringIO(saved(page, "Links as CSV"))))) == len(found["links"])
    assert [row["target"] for row in found["quality"]] == list(HOSTILE)
    assert {row["target"]: row["layer"] for row in found["used"]}.keys() == set(model.k_[model.k_ > 0].index)
    assert found["about"]["settings"]["epochs"] == "5"


def test_overlap_has_a_fixed_scale(opened, tmp_path):
    """Jaccard indices of 1/3 and 1/2 are a third and a half of the way from the lowest colour to that of 1."""
    gains = pd.DataFrame([], columns=["target", "layer", "gain", "low", "high", "weight", "helps"])
    write_page(tmp_path / "small.html", collect_graph(small(), "small", None, gains))
    with opened(tmp_path / "small.html") as page:
        canvas = page.locator("#multiplex .matrix canvas")
        canvas.scroll_into_view_if_needed()
        seen = set(canvas.evaluate(PIXELS))
    low, high = np.array([0xF1, 0xF3, 0xF5]), np.array([0x0D, 0x4A, 0x8C])
    for share in (1 / 3, 1 / 2):
        near = low + share * (high - low)
        assert any(np.abs(np.array(each) - near).max() <= 2 for each in map(rgb, seen)), share
    assert not any(np.abs(np.array(each) - high).max() <= 2 for each in map(rgb, seen))


def rgb(word):
    return [word & 255, word >> 8 & 255, word >> 16 & 255]


PIXELS = """canvas => { const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [...new Set(new Uint32Array(data.buffer))]; }"""


def test_other_numbers_of_new_links_can_be_supposed(page, data):
    """The default is one new link for nine known ones."""
    lows = [each["low"] for each in data["held_out"]["targets"]]
    part = data["links"]["targets"][lows.index(max(lows))]
    page.locator("#links select").first.select_option(str(lows.index(max(lows))))
    said = page.locator("#links").inner_text()
    assert part["unknown"] == 24 * 23 // 2 - 60
    assert f"about {round(part['prior'] * part['unknown'])} new links beside 60 known" in said
    assert "every tenth link is unknown" in said
    assert part["prior"] * part["unknown"] == pytest.approx(60 / 9)
    assert page.locator("#links select").nth(1).locator("option").all_inner_texts() == [
        "7, 1 for 9 known", "60, 1 for 1 known", "15, 1 for 4 known", "3, 1 for 20 known",
    ]  # fmt: skip
    column = [text.split("\t")[2] for text in page.locator("#links tbody tr").all_inner_texts()]
    assert numbers(column) == pytest.approx(part["probability"][:15], abs=6e-4)
    page.locator("#links select").nth(1).select_option(index=2)  # 1 for 4 known
    column = [text.split("\t")[2] for text in page.locator("#links tbody tr").all_inner_texts()]
    assert numbers(column) == pytest.approx(part["supposed"][1]["probability"][:15], abs=6e-4)
    page.locator("#links select").nth(1).select_option(index=0)


def with_quality(data, rows):
    """Return the data of a page with another quality of its first targets; nothing is known of the others."""
    nothing = {"edges": 0, "roc_auc": None, "low": None, "high": None, "clear": False}
    targets = [dict(zip(nothing, row, strict=True)) for row in rows] + [nothing] * (6 - len(rows))
    return data | {"held_out": data["held_out"] | {"targets": targets}}


def test_a_target_no_better_than_chance_is_warned_of(opened, data, tmp_path):
    """The second target is the best that has been shown; the third is at chance, the fourth has too few edges."""
    rows = [(50, 0.7, 0.6, 0.8, True), (60, 0.8, 0.7, 0.9, True), (40, 0.55, 0.45, 0.65, False)]
    rows += [(3, 1.0, 0.75, 1.0, False)]
    write_page(tmp_path / "page.html", with_quality(data, rows))
    with opened(tmp_path / "page.html") as page:
        targets, caution = page.locator("#links select").first, page.locator("#links .caution")
        assert targets.input_value() == "-1"  # the links of both targets that are clear, the most probable first
        assert caution.count() == 0
        assert page.locator("#links tbody tr").count() == 5
        both = [(p, HOSTILE[t]) for t in (0, 1) for p in data["links"]["targets"][t]["probability"]]
        layers = [text.split("\t")[2] for text in page.locator("#links tbody tr").all_inner_texts()]
        assert layers == [layer for _, layer in sorted(both, key=lambda each: -each[0])[:5]]
        for target, text in ((2, "0.550, 99 % limits 0.450 to 0.650"), (3, "3 held-out edges"), (4, "0 held-out")):
            targets.select_option(str(target))
            assert text in caution.inner_text()
        targets.select_option("0")
        assert caution.count() == 0
        assert "2 of 6 targets are predicted clearly better than by chance" in page.locator("#quality").inner_text()


def test_of_noise_nothing_is_promised(opened, data, tmp_path):
    rows = [(20, 0.5, 0.3, 0.7, False)] * 6
    write_page(tmp_path / "page.html", with_quality(data, rows))
    with opened(tmp_path / "page.html") as page:
        assert "take none of these links as a finding" in page.locator("#links .lede").inner_text()
        assert page.locator("#links .caution").count() == 1
        assert "No target is predicted clearly better than by chance" in page.locator("#quality .lede").inner_text()
    unknown = {name: value for name, value in data.items() if name != "held_out"}
    write_page(tmp_path / "unknown.html", unknown)
    with opened(tmp_path / "unknown.html") as page:
        assert "not known how good these links are" in page.locator("#links .caution").inner_text()


def test_a_shop_has_customers_and_products(opened, tmp_path):
    """Counts and headings name the types; no customer shares a neighbour with a product, so paths are counted.

    Two of the twelve customers have bought nothing.
    """
    rng = np.random.default_rng(0)
    bought = rng.random((12, 9)) < 0.3
    customer, product = np.nonzero(bought)
    names = np.array([f"{4_900_012_345_600_000 + i}" for i in range(21)], object)
    edges = pd.DataFrame({"source": names[customer], "target": names[12 + product], "layer": "buys"})
    types = dict.fromkeys(names[:12], "customer") | dict.fromkeys(names[12:], "product")
    mx = bx.Multiplex.from_edges(edges["source"], edges["target"], edges["layer"]).with_node_types(types)
    model = bx.LinkPredictor(epochs=1, width=0, members=1, device="cpu").fit(mx)
    page_data = collect_graph(mx, "shop", None, model.layer_gains_) | {"links": top_links(model)}
    notes = ["shop.csv: read with semicolons.", f"{HOSTILE[1]} not used"]
    write_page(tmp_path / "shop.html", page_data | {"about": {"notes": notes, "gains_seconds": 12.34}})
    with opened(tmp_path / "shop.html") as page:
        assert "10 customers + 9 products" in page.locator("#intro").inner_text()
        heads = page.locator("#links th").all_inner_texts()
        assert [head.strip(" ↕") for head in heads[1:]] == ["Customer", "Product", "Probability", PATHS, "Reasons"]
        assert set(cells(page, "#links", 2)) <= set(names[:12])
        assert set(cells(page, "#links", 3)) <= set(names[12:])
        assert page.locator("#about ul.notes li").all_inner_texts() == notes
        assert page.locator("#about dl.list div").inner_text().split() == ["Layer", "gains", "took", "12.3", "s"]
    with opened(tmp_path / "shop.html", viewport={"width": 390, "height": 800}) as page:
        ids = page.locator("#links tbody bdi.id:visible")
        assert set(ids.all_inner_texts()) <= set(names)
        assert page.evaluate(BROKEN) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        labels = page.locator("#links tbody tr").first.locator(".label").all_inner_texts()
        assert labels == ["Customer", "Product"]


def test_on_a_phone_pairs_keep_their_labels(opened, written, data):
    """Both ends, the layer and where the pair is linked, each with a label that can be seen."""
    with opened(written, viewport={"width": 390, "height": 800}) as page:
        page.locator("#links select").first.select_option("0")
        row, part = page.locator("#links tbody tr").first, data["links"]["targets"][0]
        assert row.locator(".label:visible").all_inner_texts() == ["Between", "and", "Linked in"]
        linked = [HOSTILE[layer] for layer in part["has"][0]][:2]
        assert row.locator(".chip:visible").all_inner_texts() == [
            f"{name[:39]}…" if len(name) > 40 else name for name in linked
        ]


PATHS = "Paths of 3 steps"
BROKEN = """() => [...document.querySelectorAll('#links tbody bdi.id')].filter(each => each.offsetWidth)
    .filter(each => each.getClientRects().length > 1 || each.scrollWidth > each.clientWidth || each.offsetHeight > 30)
    .map(each => each.textContent)"""
"""Names of one word that are cut, or broken into lines."""
SIZES = [(390, "#quality .table"), (1200, ".table"), (1440, ".table")]


@pytest.mark.parametrize(("width", "tables"), only(SIZES[:2], SIZES))
def test_no_column_is_cut_off(opened, written, width, tables):
    with opened(written, viewport={"width": width, "height": 900}) as page:
        script = "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.innerText)"
        assert page.eval_on_selector_all(tables, script) == []


def test_epochs_are_played(page):
    unfold(page)
    slider, label = page.locator("#training input[type=range]"), page.locator("#training output")
    assert label.inner_text() == "epoch 5 of 5"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert label.inner_text() == "epoch 4 of 5"
    page.get_by_role("button", name="Play").click()
    page.locator("#training output", has_text="epoch 5 of 5").wait_for()
    page.get_by_role("button", name="Play").wait_for()  # it has stopped by itself


@pytest.mark.parametrize(("scheme", "width"), only([("dark", 390)], [("light", 390), ("dark", 390), ("dark", 1280)]))
def test_dark_and_on_a_phone(opened, written, scheme, width):
    """The page takes the theme of the system, the button changes it, and nothing is wider than the screen."""
    with opened(written, color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
        ground = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(ground)
        assert (sum(map(int, re.findall(r"\d+", before))) < 200) == (scheme == "dark")
        page.locator("#theme").click()
        assert (sum(map(int, re.findall(r"\d+", page.evaluate(ground)))) < 200) == (scheme == "light")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_that_nothing_helps_is_said_plainly(opened, data, tmp_path):
    gains = data["gains"] | {"helps": [0] * len(data["gains"]["helps"])}
    write_page(tmp_path / "none.html", data | {"gains": gains})
    with opened(tmp_path / "none.html") as page:
        assert "None does here." in page.locator("#layers .lede").inner_text()
        assert "no arrow to draw" in page.locator("#layers").inner_text()


def leaderboard(**more):
    """The data of a comparison: three methods, one without a result."""
    lines = [
        {"method": "default", "ours": True, "seeds": 2, "roc_auc": 0.8, "roc_auc_deviation": 0.1, "mrr": 0.25,
         "note": "", "settings": "defaults", "fit_seconds": 2.0, "memory_bytes": 3e6, "parameters": 1234},
        {"method": HOSTILE[1], "ours": False, "seeds": 2, "roc_auc": 0.9, "roc_auc_deviation": 0.05, "mrr": 0.125,
         "roc_auc_difference": 0.1, "roc_auc_p": 0.04, "note": "", "settings": "rank=4", "fit_seconds": 1.0,
         "memory_bytes": 2e6, "parameters": 0},
        {"method": "slow", "ours": False, "seeds": 0, "note": "out of time (3 s)", "settings": ""},
    ]  # fmt: skip
    values = np.array([[[0.5, 0.75], [0.7, 0.6]]])
    board = {
        "methods": lines, "columns": [{"name": "roc_auc", "title": "ROC-AUC"}, {"name": "mrr", "title": "MRR"}],
        "verdict": f"It helps {HOSTILE[0]}.", "warning": None, "conditions": ["Twice."], "facts_text": ["Dense."],
        "legend": ["Means."], "reference": "default", "seeds": 2, "seeds_text": "0 to 1",
        "by_layer": {
            "layers": list(HOSTILE[:2]), "methods": ["default", HOSTILE[1]], "metrics": ["roc_auc"], "values": values,
        },
    }  # fmt: skip
    return collect_leaderboard(HOSTILE[0], hostile(), board | more)


def test_a_leaderboard_is_sorted_searched_and_shown_by_layer(opened, tmp_path):
    """Numbers are those given, and hostile names stay text."""
    path = tmp_path / "board.html"
    write_page(path, leaderboard())
    with opened(path) as page:
        tables = page.locator("#leaderboard table")
        assert tables.count() == 4
        first = tables.nth(0).locator("tbody tr").all_inner_texts()
        assert [HOSTILE[1] in first[0], "default" in first[1], len(first)] == [True, True, 2]
        assert "+0.100" in first[0]
        assert tables.nth(1).locator("tbody tr").count() == 3
        tables.nth(1).locator("thead button", has_text="MRR").click()
        ranked = [text.split("\t")[2] for text in tables.nth(1).locator("tbody tr").all_inner_texts()]
        assert ranked == ["0.250", "0.125", "\N{EN DASH}"]
        assert "out of time (3 s)" in tables.nth(1).inner_text()
        page.locator("#leaderboard input[type=search]").first.fill("defa")
        assert tables.nth(0).locator("tbody tr").count() == 1
        by_layer = [text.split("\t") for text in tables.nth(2).locator("tbody tr").all_inner_texts()]
        assert [[row[1], row[3], row[4]] for row in by_layer] == [
            ["0.500", "0.750", f"{MINUS}0.250"], ["0.700", "0.600", "+0.100"],
        ]  # fmt: skip
        page.locator("#leaderboard select").last.select_option(index=1)
        assert "0.700" in tables.nth(3).locator("tbody tr").first.inner_text()
        assert page.locator("#intro .findings li").all_inner_texts() == [f"It helps {HOSTILE[0]}."]
        assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_a_comparison_with_all_columns_fits_1400_pixels(opened, tmp_path):
    names = ("ROC-AUC", "AP", "accuracy", "MRR", "Hits@10", "hard MRR", "hard Hits@10")
    columns = [{"name": name, "title": name} for name in names]
    lines = [
        {"method": f"pooled-regression-{i}", "ours": i == 0, "seeds": 2, "fit_seconds": 1234.5, "memory_bytes": 5e9,
         "parameters": 1_234_567, "settings": "rank=4, decay=0.01 (3 of 5); rank=8, decay=0.1 (2 of 5)",
         "note": "2 of 5 seeds failed: out of time (120 s)"} | dict.fromkeys(names, 0.5)
        for i in range(3)
    ]  # fmt: skip
    write_page(tmp_path / "wide.html", leaderboard(methods=lines, columns=columns, by_layer=None))
    with opened(tmp_path / "wide.html", viewport={"width": 1400, "height": 900}) as page:
        assert page.locator("#leaderboard table").nth(1).locator("th").count() == 13
        sizes = page.eval_on_selector_all(".table", "all => all.map(each => each.scrollWidth - each.clientWidth)")
        assert max(sizes) <= 0


LOOKS = [("light", 1400), ("dark", 390)]


@pytest.mark.parametrize(
    ("kind", "scheme", "width"),
    only([("run", "dark", 390)], [(kind, *each) for kind in ("run", "board") for each in LOOKS]),
)
def test_a_checker_finds_nothing_to_mend(opened, written, tmp_path, kind, scheme, width):
    """axe-core: headings, labels, roles, contrast, access by keyboard; with every section open and one reason shown.

    The shades at the edges of tables are taken away first: axe cannot tell contrast in front of a gradient.
    """
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (Path(axe.__path__[0]) / "axe.min.js").read_text(encoding="utf-8")
    if kind == "board":
        written = tmp_path / "board.html"
        write_page(written, leaderboard())
    with opened(written, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True) as page:
        page.add_style_tag(content=".table { background: none !important; }")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        for block in page.locator("figure").all():
            block.scroll_into_view_if_needed()
        if kind == "run":
            page.locator("#links tbody button").first.click()
        page.evaluate(script)
        found = page.evaluate("axe.run()")
        levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(each => Number(each.tagName[1]))")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert {"color-contrast", "heading-order", "button-name"} <= {each["id"] for each in found["passes"]}
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.slow
def test_963_layers_open_in_three_seconds_and_answer_in_a_quarter_of_one(opened, tmp_path):
    """Seconds of the processor, as other tests run beside this one."""
    write_page(tmp_path / "many.html", many_layers(963))
    with opened(tmp_path / "many.html") as page:
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent():
            found = meter.send("Performance.getMetrics")["metrics"]
            return next(each["value"] for each in found if each["name"] == "TaskDuration")

        before = spent()
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert spent() - before < 3
        unfold(page)
        for section in ("multiplex", "layers", "training", "quality", "links"):
            for block in page.locator(f"#{section} figure").all():
                block.scroll_into_view_if_needed()
                page.wait_for_timeout(100)
            kinds = ("select", "th button", ".zoom button", "tbody button")
            for control in [f"#{section} {kind}" for kind in kinds]:
                if page.locator(control).count():
                    page.locator(control).first.scroll_into_view_if_needed()
                    page.wait_for_timeout(300)
                    before = spent()
                    page.evaluate(USE, control)
                    assert spent() - before < 0.25, control


USE = """async selector => {
    const element = document.querySelector(selector);
    if (element.tagName === 'SELECT') { element.selectedIndex = 1; element.dispatchEvent(new Event('change')); }
    else element.click();
    await new Promise(done => requestAnimationFrame(() => setTimeout(done))); }"""
"""Uses a control, and waits until the page shows the result."""


def many_layers(number):
    """The data of a run on many layers, with everything that the page shows of them."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 200, (2, number * 40))
    names = [f"side effect {i}" for i in range(number)]
    mx = bx.Multiplex.from_edges(*ends, np.repeat(names, 40), num_nodes=200, self_loops="drop")
    names = list(mx.layer_names)
    likely = pd.DataFrame(rng.dirichlet(np.full(number, 0.05), number), index=names, columns=names)
    others = [[names[(i + 1 + j) % number] for j in range(8)] for i in range(number)]
    gains = [
        (name, layer, 0.02, 0.0, 0.04, 1.0, True) for name, each in zip(names, others, strict=True) for layer in each
    ]
    numbers = {"train_loss": 0.5, "validation_loss": 0.6, "validation_accuracy": 0.7, "regret": 1.0}
    history = [
        {"epoch": epoch, "layer": name, **numbers, "inclusion": dict.fromkeys(each, 0.1), "layer_loss": {}}
        for epoch in range(1, 21)
        for name, each in zip(names, others, strict=True)
    ]
    table = pd.DataFrame(gains, columns=["target", "layer", "gain", "low", "high", "weight", "helps"])
    part = {
        "ranked": 19_900, "possible": 19_900, "chosen": "all pairs", "prior": 0.002, "unknown": 19_860,
        "types": None, "supposed": [],
        "source": [*range(100)], "destination": [*range(100, 200)], "probability": rng.random(100).tolist(),
        "has": [[*range(0, number, 3)]] * 100, "layers": [*range(9)], "base": -2.0, "own": [0.5] * 100,
        "by_layer": [[(i, 0.25, 5) for i in range(8)]] * 100, "rest": [[300, 1.5]] * 100, "near": [[3] * 100] * 9,
        "near_any": [7] * 100,
    }  # fmt: skip
    quality = {"edges": 4, "roc_auc": 0.8, "low": 0.4, "high": 0.95, "clear": False}
    bins = [{"probability": 0.1, "share": 0.1, "low": 0.05, "high": 0.2, "links": 12}]
    return collect_graph(mx, "many", None, table) | {
        "panel": [(i, (i + 1 + j) % number, 0.5) for i in range(number) for j in range(8)],
        "probabilities": collect_probabilities(likely, mx),
        "history": collect_history(history, likely, mx) | {"kept_epochs": [20]},
        "held_out": {"bins": bins, "targets": [quality] * number},
        "links": {
            "targets": [part | {"target": i} for i in range(20)], "all_targets": number, "near": "neighbours"
        },
    }  # fmt: skip
