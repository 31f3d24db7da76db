"""What is declared about the data sets is what the data say, and what the documentation shows."""

import re
from pathlib import Path

import numpy as np
import pytest

from banditplex.datasets import check_dataset, dataset_info, fetch, list_datasets, load_dataset
from banditplex.datasets.base import CATALOG, CKM
from banditplex.errors import InputError
from banditplex.evaluation import fixed_split
from tests.refusals import refuses

DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"
REAL = [dataset.name for dataset in CATALOG]


def cells(line):
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def number(cell):
    return int(re.match(r"[0-9,]+", cell)[0].replace(",", ""))


# What is declared, whether the data are at hand or not


def test_names():
    assert list_datasets()[:3] == ["twins", "mixed", "groups"]
    assert list_datasets()[3:20] == REAL
    assert list_datasets()[20:22] == ["rand-internship", "small-3-layers"]  # what users register comes after


@pytest.mark.parametrize("dataset", CATALOG, ids=REAL)
def test_every_declaration_is_complete(dataset):
    facts = dataset_info(dataset.name)
    assert facts["kind"] == "download"
    assert all(facts[fact] for fact in ("title", "terms", "citation", "address", "nodes", "layers", "edges"))
    assert facts["undirected_edges"] <= facts["edges"]
    assert facts["directed"] or facts["undirected_edges"] == facts["edges"]
    for file in dataset.files:
        kind, _, digest = file.checksum.partition(":")
        assert re.fullmatch("[0-9a-f]+", digest)
        assert len(digest) == {"sha256": 64, "git": 40}[kind]
        if dataset.name != "polypharmacy":  # cannot be downloaded
            assert dataset.archive.startswith("https://") or file.mirror.startswith("https://")
        assert file.mirror.endswith(file.name) or not file.mirror


def test_checksums_stand_for_one_file_each():
    files = {file.path: file.checksum for dataset in CATALOG for file in dataset.files}
    assert len(set(files.values())) == len(files)


def test_both_releases_of_lazega_say_what_they_are():
    old, new = dataset_info("lazega"), dataset_info("lazega-corrected")
    assert "faulty" in old["title"]
    assert "'lazega-corrected'" in old["note"]
    assert "corrected" in new["title"]
    assert "'lazega'" in new["note"]
    one, other = (next(each for each in CATALOG if each.name == name) for name in ("lazega", "lazega-corrected"))
    assert one.archive == other.archive


def test_the_terms_of_euair_are_told():
    assert "GNU Free Documentation License" in dataset_info("euair")["terms"]
    assert "comparative studies" in dataset_info("euair")["terms"]


def test_the_documentation_has_the_same_counts():
    rows = [cells(line) for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    shown = {row[0]: row[1:] for row in rows}
    assert list(shown) == list_datasets()[:22]
    for name, (nodes, layers, edges, undirected, direction, weights, *_) in shown.items():
        facts = dataset_info(name)
        assert [number(nodes), number(layers), number(edges), number(undirected)] == [
            facts["nodes"], facts["layers"], facts["edges"], facts["undirected_edges"]
        ]  # fmt: skip
        assert direction == ("directed" if facts["directed"] else "undirected")
        assert weights == ("weighted" if facts["weighted"] else "")


def test_unknown_names_and_built_in_sets():
    with refuses("'lazgea'", "'lazega'"):
        load_dataset("lazgea")
    with refuses("'twins'", "built in"):
        fetch("twins")
    assert check_dataset("twins").metadata["terms"]


def test_what_is_not_at_hand_says_so(folder, monkeypatch):
    monkeypatch.setattr("banditplex.datasets.loading._get", no_network)
    assert not dataset_info("ckm")["at_hand"]
    assert dataset_info("twins")["at_hand"]
    with refuses("ckm", CKM.archive, "no connection"):
        load_dataset("ckm")


def test_what_cannot_be_downloaded_says_how_to_get_it(folder):
    with refuses("polypharmacy/train.parquet", folder, "bio-decagon-combo"):
        load_dataset("polypharmacy")


def no_network(address, path, progress):
    raise InputError(f"{address}: no connection.")


# The data themselves


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "polypharmacy")) for name in REAL]
)
def test_the_data_are_what_is_declared(real_data, name):
    mx = check_dataset(name)
    assert mx.metadata["name"] == name
    assert mx.metadata["source"].startswith("https://")


def test_counts_agree_with_the_tables_beside_the_data(real_data):
    """The counts that came with the files, where their README is at hand."""
    if not (real_data / "README.md").is_file():
        pytest.skip("the data folder has no README.md")
    text = (real_data / "README.md").read_text(encoding="utf-8")
    counts = re.search(r"^\| folder \| layers \| nodes.*?\n\n", text, re.MULTILINE | re.DOTALL)[0].split("\n")[2:-2]
    rows = {row[0]: row[1:] for row in map(cells, counts)}
    assert set(rows) == set(REAL) - {"gatne-amazon", "polypharmacy", "nations", "kinships", "umls"}
    for name, (layers, nodes, lines, undirected, union, loops, *_) in rows.items():
        facts, mx = dataset_info(name), load_dataset(name)
        assert [number(layers), number(nodes), number(lines), number(undirected)] == [
            facts["layers"], facts["nodes"], facts["edges"], facts["undirected_edges"]
        ]  # fmt: skip
        linked = re.search(r"\(([0-9]+)\)", nodes)
        assert len(np.unique(mx.edge_index)) == (int(linked[1]) if linked else facts["nodes"])
        assert mx.to_undirected().union().num_edges == number(union)
        assert (mx.edge_index[0] == mx.edge_index[1]).sum() == number(loops)


@pytest.mark.parametrize(
    ("name", "stored", "undirected"),
    [
        ("ckm", {"advice": 480, "discussion": 565, "friend": 506}, [449, 498, 423]),
        ("vickers", {"get on with": 361, "best friends": 181, "prefer to work with": 198}, [240, 126, 152]),
        ("lazega", {"advice": 612, "friendship": 855, "co-work": 756}, [556, 725, 378]),
        ("lazega-corrected", {"advice": 892, "friendship": 575, "co-work": 1104}, [717, 399, 726]),
        ("gatne-amazon", {1: 76924, 2: 71735}, [73412, 57487]),
    ],
)
def test_layer_by_layer(real_data, name, stored, undirected):
    mx = load_dataset(name)
    assert dict(zip(mx.layer_names, mx.layer_sizes.tolist(), strict=True)) == stored
    assert mx.to_undirected().layer_sizes.tolist() == undirected


def test_names_come_from_the_files(real_data):
    assert load_dataset("fao").layer_names[0] == "Beverages,_non_alcoholic"
    assert "Afghanistan" in load_dataset("fao").node_names
    assert load_dataset("london").layer_names[0] == "Tube (All underground lines aggregated)"
    assert load_dataset("london").node_names[0] == "abbeyroad"
    assert load_dataset("ckm").node_names.tolist() == list(range(1, 247))
    assert load_dataset("arxiv").node_names.tolist() == list(range(1, 14490))


def test_one_edge_of_fao_reads_as_its_line(real_data):
    """Line 1 of the file without weights is `1 2 1 1`: Australia sells beverages to Afghanistan."""
    mx = load_dataset("fao")
    if "missing" not in mx.metadata:
        pytest.skip("the original, with weights, is at hand")
    pair = mx.node_index(["Australia", "Afghanistan"])
    assert mx.has_edges([pair], "Beverages,_non_alcoholic").tolist() == [True]
    assert mx.metadata["missing"] == ["weight"]


def test_gatne_without_its_test_edges(real_data):
    assert load_dataset("gatne-amazon", part="train").num_edges == 126535


@pytest.mark.parametrize(
    ("name", "sizes"), [("nations", (1592, 199, 201)), ("kinships", (8544, 1068, 1074)), ("umls", (5216, 652, 661))]
)
def test_knowledge_graphs_have_the_split_in_print(real_data, name, sizes):
    """Sizes as their README gives them; the parts have the same names, no common edge, and make up the whole."""
    whole, parts = load_dataset(name), [load_dataset(name, part=part) for part in ("train", "valid", "test")]
    assert tuple(part.num_edges for part in parts) == sizes
    assert whole.num_edges == sum(sizes)
    for part in parts:
        assert part.layer_names == whole.layer_names
        assert part.node_names.tolist() == whole.node_names.tolist()


def test_every_pair_has_one_kinship_term(real_data):
    mx = load_dataset("kinships")
    assert mx.union().num_edges == mx.num_edges


@pytest.mark.slow
def test_polypharmacy_has_the_split_in_print(real_data):
    """Counts as its README gives them; validation negatives that are test negatives, too, are dropped."""
    mx, fixed = load_dataset("polypharmacy"), fixed_split(fetch("polypharmacy"), leaks="drop")
    assert fixed.test.train.num_edges == 3661895
    assert fixed.test.label.sum() == fixed.valid.label.sum() == 457196
    assert len(fixed.test.label) == 2 * 457196
    assert fixed.test.train.layer_names == mx.layer_names
    assert mx.layer_names[:2] == ("atelectasis", "Back Ache")
    assert mx.union().num_edges == 63472
    fixed.test.check(mx)
    fixed.valid.check(mx)
