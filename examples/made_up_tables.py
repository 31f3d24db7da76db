"""Made-up tables as people have them: a shop's log, a wide table of a school, a folder of drugs.

docs/gallery.md has their pages. Layers that follow the same groups of nodes help each other, and no others do.
"""

from pathlib import Path

import numpy as np
import pandas as pd

SHOP = {"view": "taste", "cart": "taste", "purchase": "taste", "coupon": "area", "return": "week", "mailing": "list"}
SCHOOL = {"friend": "class", "lunch": "class", "homework": "class", "sport": "club", "bus": "street"}
SCHOOL |= {name: name for name in ("music", "chess", "choir", "library", "games")}  # groups of their own
DRUGS = {"nausea": "gut", "vomiting": "gut", "diarrhoea": "gut", "rash": "skin", "itching": "skin"}
DRUGS |= {name: name for name in ("anaemia", "cough", "fever", "gout", "insomnia", "pain", "tremor", "vertigo")}


def links(kinds: dict[str, str], seed: int, nodes: int, products: int = 0) -> pd.DataFrame:
    """Return a row per link: a, b, layer. Three in ten pairs of a group are linked, and one in a hundred others."""
    rng = np.random.default_rng(seed)
    groups = {kind: rng.integers(0, 12, nodes + products) for kind in dict.fromkeys(kinds.values())}
    chance = {
        kind: rng.random((nodes, products or nodes)) for kind in groups
    }  # two thirds are shared by layers of a kind
    tables = []
    for layer, kind in kinds.items():
        near = groups[kind][:nodes, None] == (groups[kind][nodes:] if products else groups[kind])
        own = np.where(rng.random(near.shape) < 2 / 3, chance[kind], rng.random(near.shape))
        linked = np.argwhere(own < np.where(near, 0.3, 0.01)) + 1
        linked = linked if products else linked[linked[:, 0] < linked[:, 1]]
        tables.append(pd.DataFrame(linked, columns=["a", "b"]).assign(layer=layer))
    return pd.concat(tables).sample(frac=1, random_state=seed)


def write_shop(path: Path, seed: int = 0) -> None:
    """Write a row per event; customers and products both have the ids 1, 2, 3, ..."""
    table = links(SHOP, seed, nodes=200, products=150)
    table.set_axis(["customer", "product", "event"], axis=1).to_csv(path, index=False)


def write_school(path: Path, seed: int = 0) -> None:
    """Write a row per pair of pupils, and a column of 0 and 1 per relation."""
    table = links(SCHOOL, seed, nodes=240).rename(columns={"a": "pupil_a", "b": "pupil_b"}).assign(one=1)
    table.pivot_table("one", ["pupil_a", "pupil_b"], "layer", fill_value=0).astype(int).to_csv(path)


def write_drugs(folder: Path, seed: int = 0) -> None:
    """Write a file per side effect: pairs of drugs that have it when they are taken together."""
    folder.mkdir()
    for layer, table in links(DRUGS, seed, nodes=200).groupby("layer"):
        named = table[["a", "b"]].map("D{:03}".format).set_axis(["drug_1", "drug_2"], axis=1)
        named.to_csv(folder / f"{layer}.csv", index=False)


if __name__ == "__main__":
    write_shop(Path("shop.csv"))
    write_school(Path("school.csv"))
    write_drugs(Path("drugs"))
    print(pd.read_csv("school.csv").head(), sorted(path.name for path in Path("drugs").iterdir()), sep="\n")
