"""Settings of the open problems: constants."""

from dataclasses import asdict, dataclass
from typing import Any

SEED, SEEDS = 0, 5  # the first seed, and how many; a seed makes split, negatives, weights and draws
HIDE = "layer"


@dataclass(frozen=True)
class Data:
    """A data set, and how long and how it is trained on, whatever is compared."""

    title: str
    epochs: int
    batch_size: int = 64
    num_targets: int | None = None  # a random choice of layers with at least `min_edges`; None = all layers
    min_edges: int = 100
    only_means: bool = False  # terms of use forbid to compare layers


DATA = {
    "twins": Data("twins", 20),
    "planted-20": Data("planted, 20 layers", 15),
    "uneven": Data("uneven", 25),
    "vickers": Data("Vickers", 40),
    "ckm": Data("CKM", 30),
    "lazega-corrected": Data("LAZEGA, corrected", 30),
    "celegans": Data("C. elegans", 20),
    "euair": Data("EUAIR", 30, only_means=True),
    "fao": Data("FAO", 20, batch_size=128, num_targets=16),
}

# Open problem 1: several layers per draw. `all` is the reference where it can be afforded.
KS = (1, 2, 4, 8)
K_POLICIES = ("default", "uniform")
REFERENCES = {"all": "all other layers", "none": "no other layer"}
K_DATA = {"euair": ("all", "none"), "fao": ("none",)}  # data set -> references

# Open problem 2: gradient steps per draw, and layers that differ in price.
STEPS = (1, 2, 4, 8, 16)
STEPS_DATA = ("twins", "planted-20", "ckm")
STRENGTHS = (0.0, 0.1, 0.25, 0.5, 1.0)
COST_DATA = ("uneven", "euair", "fao")

# Open problem 3: layer losses.
LOSSES = ("predictive", "euclidean", "cosine")
LOSSES_DATA = ("twins", "planted-20", "vickers", "ckm", "lazega-corrected", "celegans")

# Quick form: synthetic data sets, few epochs.
QUICK_EPOCHS = 6
QUICK_DATA = {"k": ("twins",), "steps": ("twins",), "cost": ("uneven",), "losses": ("twins",)}
QUICK_KS, QUICK_STEPS, QUICK_STRENGTHS = (1, 4), (1, 8), (0.0, 1.0)

LABELS = ("default", "cost-aware", *LOSSES, "uniform", *REFERENCES)
"""All that is compared, in the order of the tables."""

PARTS = ("k", "steps", "losses")
"""The problems, as the paper lists them; prices belong to steps."""
TRAINING: dict[str, Any] = {"device": "cpu"}
"""Settings that differ from those of LinkPredictor, besides epochs and batch size; training runs all its epochs."""

# The made data set `uneven`: in each group a base layer, a near copy as large, and a dense layer that has almost all
# edges of the base layer among many others: more relevant, and dearer.
UNEVEN_GROUPS, UNEVEN_NOISE, UNEVEN_NODES, UNEVEN_EDGES = 4, 3, 200, 500
UNEVEN_COPY, UNEVEN_DENSE, UNEVEN_FACTOR = 0.6, 0.95, 3  # shares kept by copy and dense layer; size of the latter


def as_dict() -> dict[str, Any]:
    """Return all constants as plain values."""
    constants = {name: value for name, value in globals().items() if name.isupper()}
    return constants | {"DATA": {name: asdict(data) for name, data in DATA.items()}}
