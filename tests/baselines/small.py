"""Baselines with sizes for tests: small enough to be fitted in a fraction of a second."""

from banditplex.baselines import BASELINES
from banditplex.baselines.neural import NeuralBaseline

WALKS = {"dimension": 8, "num_walks": 2, "walk_length": 10, "window": 3}
LAYERS = {"dimension": 8, "epochs": 1, "num_walks": 2, "walk_length": 5}
SMALL: dict[str, dict] = {  # name -> options that make it fast
    "gatne-t": LAYERS | {"edge_dimension": 2, "attention_dimension": 3, "neighbour_samples": 3},
    "mne": LAYERS | {"layer_dimension": 2},
}
for names, options in (
    (("regression", "pooled-regression"), {"strengths": (0.1,)}),
    (("node2vec", "node2vec-union"), WALKS),
    (("distmult-torch", "complex-torch", "simple-torch", "rotate-torch"), {"dimension": 8, "epochs": 3}),
):
    SMALL |= dict.fromkeys(names, options)

SIMPLE = [name for name in BASELINES if not isinstance(BASELINES[name](), NeuralBaseline)]
"""All baselines but graph networks, which have tests of their own."""


def make(name, **options):
    """Make a baseline with the sizes above."""
    return BASELINES[name](**{**SMALL.get(name, {}), **options})
