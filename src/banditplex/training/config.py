"""Settings of training, each with the text that explains it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from banditplex.errors import InputError
from banditplex.nn import Convolution
from banditplex.nn.relevance import Relevance

HIDE = ("edge", "layer", "pair")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that training can be told; the defaults are what the benchmarks use."""

    policy: str = "default"  # name of a policy: who decides which layers are looked at
    policy_options: Mapping[str, Any] = field(default_factory=dict)  # options of that policy
    relevance: str | Relevance = "predictive"  # layer loss: a name or a callable
    k: int = 1  # layers drawn per round
    hide: str = "edge"  # of a pair: "edge", its own in the target layer; "layer", the reverse arc too; "pair", in all
    union: bool = False  # whether the union of all layers can be drawn, too, as one more layer
    steps_per_draw: int = 1  # consecutive steps of a target that use the same drawn layers
    epochs: int = 100  # at most; see patience
    batch_size: int = 64  # pairs per target and step, half of them edges
    max_rounds: int | None = 64  # of a target per epoch: batches of targets with more edges grow; None = no limit
    targets_per_step: int = 8  # targets whose batches share a step
    learning_rate: float = 0.01  # at the start; falls to 5 % along a cosine
    weight_decay: float = 0.1  # of shared weights (AdamW)
    layer_decay: float = 1.0  # of weights that belong to single layers, or see single nodes (encoder)
    average: float = 0.98  # of the running mean of weights that predictions use
    validation: float = 0.1  # share of each target's edges kept for early stopping and calibration
    warmup: int = (
        3  # first epochs, at most a quarter, with even draws: layer losses of an untrained network say nothing
    )
    patience: int = 20  # epochs without a better validation loss before training ends
    conv: Convolution = "sage"  # "sage", "gcn", or a PyG convolution: a class or function called as conv(in, out)
    width: int = 16  # of node embeddings; 0 = structural features only
    depth: int = 2  # convolutions
    fanout: int | None = 10  # neighbours that "sage" sees in training, in layers of over 2,048 edges; None = all
    learnt_nodes: int = 2_000  # without node features, a vector per node is learnt, or random if there are more nodes
    hidden: int = 8  # hidden units of the two heads
    rank: int = 2  # of the correction per (target, layer)
    device: str = "auto"  # "auto" = CUDA where there is one
    seed: int = 0  # of every random stream

    def __post_init__(self) -> None:
        if not isinstance(self.union, bool | np.bool_):
            raise InputError(f"Expected union to be True or False, got {self.union!r}.")
        object.__setattr__(self, "union", bool(self.union))
        if self.hide not in HIDE:
            raise InputError(f"Expected hide to be one of {', '.join(HIDE)}, got {self.hide!r}.")
        for name in ("epochs", "steps_per_draw", "targets_per_step", "patience", "depth", "hidden", "rank"):
            self._expect(name, int, 1)
        for name in ("fanout", "max_rounds"):
            if getattr(self, name) is not None:
                self._expect(name, int, 1)
        for name, low in (("batch_size", 2), ("k", 0), ("warmup", 0), ("width", 0), ("learnt_nodes", 0), ("seed", 0)):
            self._expect(name, int, low)
        for name in ("learning_rate", "weight_decay", "layer_decay"):
            self._expect(name, float, 0)
        for name in ("validation", "average"):
            self._expect(name, float, 0)
            if getattr(self, name) >= 1:
                raise InputError(f"Expected {name} below 1, got {getattr(self, name)}.")

    @property
    def even_epochs(self) -> int:
        """How many epochs warm up: at most a quarter."""
        return min(self.warmup, self.epochs // 4)

    def _expect(self, name: str, kind: type[int] | type[float], low: int) -> None:
        value = getattr(self, name)
        allowed = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, allowed) or not low <= value < float("inf"):
            noun = "an integer" if kind is int else "a number"
            raise InputError(f"Expected {name} to be {noun} of at least {low}, got {value!r}.")
        object.__setattr__(self, name, kind(value))  # numbers of numpy too, as a grid search has them
