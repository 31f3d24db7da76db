"""Settings of the open problems: constants."""

from dataclasses import asdict, dataclass
from typing import Any

from banditplex.training.config import PAPER_MODEL

SEED, SEEDS = 0, 5  # the first seed, and how many; a seed makes split, negatives, weights and draws
HIDDEN_IN = "layer"


@dataclass(frozen=True)
class Data:
    """A data set, and how long and how it is trained on, whatever is compared."""

    title: str
    epochs: int
    batch_size: int = 64
    num_targets: int | None = None  # a random choice of layers with at least `min_edges`; None = all layers
    min_edges: int = 100
    all_layers: bool = True  # whether looking at all other layers at once can be afforded


DATA = {
    "twins": Data("twins", 20),
    "planted-20": Data("planted, 20 layers", 15),
    "uneven": Data("uneven", 25),
    "vickers": Data("Vickers", 40),
    "ckm": Data("CKM", 30),
    "lazega-corrected": Data("LAZEGA, corrected", 30),
    "celegans": Data("C. elegans", 20),
    "euair": Data("EUAIR", 30),
    "fao": Data("FAO", 20, batch_size=128, num_targets=16, all_layers=False),
}

LOSSES = ("predictive", "euclidean", "cosine")
REFERENCES = {"all": "all other layers", "none": "no other layer"}  # beside the values of k
LABELS = ("default", "cost-aware", *LOSSES, "uniform", *REFERENCES)
"""All that is compared, in the order of the tables."""


@dataclass(frozen=True)
class PartPlan:
    """Labels (policies or layer losses) that are compared on data sets, each at some values."""

    data: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[float, ...] = (1,)  # layers per draw, gradient steps per draw or strengths of prices


PLANS = {
    "k": PartPlan(("euair", "fao"), ("default", "uniform"), (1, 2, 4, 8)),
    "steps": PartPlan(("twins", "planted-20", "ckm"), ("default",), (1, 2, 4, 8, 16)),
    "cost": PartPlan(("uneven", "euair", "fao"), ("cost-aware",), (0.0, 0.1, 0.25, 0.5, 1.0)),
    "losses": PartPlan(
        ("twins", "planted-20", "vickers", "ckm", "lazega-corrected", "celegans"), (*LOSSES, "uniform")
    ),
}  # fmt: skip
QUICK_PLANS = {
    "k": PartPlan(("twins",), ("default", "uniform"), (1, 4)),
    "steps": PartPlan(("twins",), ("default",), (1, 8)),
    "cost": PartPlan(("uneven",), ("cost-aware",), (0.0, 1.0)),
    "losses": PartPlan(("twins",), (*LOSSES, "uniform")),
}
QUICK_EPOCHS = 6

PARTS = {"k": ("k",), "steps": ("steps", "cost"), "losses": ("losses",)}
"""The problems, as the paper lists them, and their plans."""
TRAINING: dict[str, Any] = {**PAPER_MODEL, "device": "cpu"}
"""Settings that differ from those of LinkPredictor, besides epochs and batch size; training runs all its epochs."""

# The made data set `uneven`: in each group a base layer, a near copy as large, and a dense layer that has almost all
# edges of the base layer among many others: more relevant, and dearer.
UNEVEN_GROUPS, UNEVEN_NOISE, UNEVEN_NODES, UNEVEN_EDGES = 4, 3, 200, 500
UNEVEN_COPY, UNEVEN_DENSE, UNEVEN_FACTOR = 0.6, 0.95, 3  # shares kept by copy and dense layer; size of the latter


def as_dict() -> dict[str, Any]:
    """Return all constants as plain values."""
    constants = {name: value for name, value in globals().items() if name.isupper()}
    tables = {name: constants[name] for name in ("DATA", "PLANS", "QUICK_PLANS")}
    return constants | {name: {key: asdict(each) for key, each in table.items()} for name, table in tables.items()}
