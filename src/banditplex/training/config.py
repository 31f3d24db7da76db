"""The settings of training, each declared once: type, default, range and a sentence.

The documentation of `LinkPredictor`, the options of the command line and the table in the docs are made from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditplex.bandits import POLICIES
from banditplex.errors import InputError
from banditplex.pairs.visibility import HIDE, Visibility

if TYPE_CHECKING:
    from banditplex.multiplex import Multiplex
    from banditplex.nn.encoder import Convolution
    from banditplex.nn.panels import Panels
    from banditplex.nn.relevance import LayerLoss, Relevance


class Setting(NamedTuple):
    """What is known of a setting besides its name."""

    default: Any
    text: str
    low: float | None = None  # the least number allowed
    below: float | None = None  # numbers must be smaller
    choices: tuple[str, ...] = ()
    closed: bool = True  # whether there is nothing but the choices
    optional: bool = False  # whether None is allowed
    group: str = "Training"
    also: str = ""  # what can be said in Python, and not on the command line
    word: str = ""  # allowed in place of an integer
    several: bool = False  # whether a list of numbers is allowed as well

    def check(self, name: str, value: Any) -> Any:
        """Return a value as a plain bool, int or float; refuse one that is out of range."""
        if value is None and self.optional:
            return None
        if self.several and isinstance(value, list | tuple) and value:
            return tuple(self._replace(several=False, optional=False).check(name, each) for each in value)
        if self.choices and self.closed and value not in self.choices:
            raise InputError(f"Expected {name} to be one of {', '.join(self.choices)}, got {value!r}.")
        if isinstance(self.default, bool):
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"Expected {name} to be True or False, got {value!r}.")
            return bool(value)
        if self.low is None or (self.word and value == self.word):
            return value
        kind, noun = (int, "an integer") if self.word or isinstance(self.default, int) else (float, "a number")
        allowed = (int, np.integer) if kind is int else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, allowed) or not self.low <= value < float("inf"):
            other = f", or {self.word!r}" * bool(self.word)
            raise InputError(f"Expected {name} to be {noun} of at least {self.low}{other}, got {value!r}.")
        if self.below is not None and value >= self.below:
            raise InputError(f"Expected {name} below {self.below}, got {value}.")
        return kind(value)


def setting(default: Any, text: str, **more: Any) -> Any:
    """Declare a field of `Config`; further arguments are those of `Setting`."""
    return field(default=default, metadata={"setting": Setting(default, text, **more)})


AUTO = "auto"
EVIDENCE = ("all", "drawn")
MIN_EPOCHS = 5
MANY_EDGES = 20_000  # from so many edges on, there is one network, it is larger, and it is trained for fewer steps
MAX_STEPS = {0: 6400, MANY_EDGES: 3200, 100_000: 1600}
"""Steps of a training, at most, from so many edges on.

From 100,000 edges on, 1,600 instead of 3,200, on sacchcere (two fits) and homo: ROC-AUC -.0001, MRR among 100 negatives
+.0000. On single test splits, homo and moscow lost .0003 to .0010.
"""
MEMBERS, LONG = 3, 30
"""Networks that are trained, if edges are not many and epochs are at least so many; else one.

Three instead of four, on 13 leaderboards with three seeds: hard MRR +.0028 ± .0018, ROC-AUC +.0003 ± .0003. Two, on
seven data sets with four seeds, both ways of hiding: -.003 ± .002, -.0002 ± .0002, at about an eighth less time.
"""
BATCH, ENSEMBLE_BATCH = 64, 128
"""Pairs per target and step, of one network and of several: fewer steps make up for more networks."""
MAX_ROUNDS, ENSEMBLE_ROUNDS = 64, 16
"""Steps of a target per epoch, at most, likewise: batches of large targets grow.

16 batches and three networks instead of 64 and four, in 20 fits: hard MRR -.0013 ± .0015, ROC-AUC -.0005 ± .0005.
"""
_LAYERS, _NETWORK = "Which layers are drawn", "Network"


@dataclass(kw_only=True, repr=False, eq=False)
class Config:
    """All settings of training; the defaults are those of the benchmarks. Values are checked by `checked`."""

    policy: str = setting(
        "default", "Policy that decides which layers are drawn.", choices=tuple(POLICIES), closed=False, group=_LAYERS
    )
    policy_options: Mapping[str, Any] | None = setting(
        None, "Options of the policy, by name.", optional=True, group=_LAYERS
    )
    relevance: "str | Relevance | LayerLoss" = setting(
        "predictive", "Layer loss that the policy learns from.", also="Or a `Relevance`, or a function.",
        choices=("predictive", "euclidean", "cosine"), closed=False, group=_LAYERS,
    )  # fmt: skip
    k: int | str = setting(
        AUTO, "Layers drawn per round, and used in predictions. auto: 1 is drawn, layers that "
        "help are pooled with the target (its panel), and validation edges choose how many layers have a term of their "
        "own. A number: so many layers, and no panel.", low=0, word=AUTO, group=_LAYERS,
    )  # fmt: skip
    hide: str | None = setting(
        None,
        "What the model must not see of a pair: its edge (edge), all edges between its two nodes in the target layer "
        "(layer), or all edges between them in any layer (pair).",
        also="None: `evaluate` sets it to what it hides; elsewhere it means edge.",
        choices=HIDE, optional=True, group=_LAYERS,
    )  # fmt: skip
    evidence: str = setting(
        "all",
        "What is looked at besides target and drawn layers: which layers have the pair, and the union of all layers "
        "(all), or nothing (drawn).",
        choices=EVIDENCE, group=_LAYERS,
    )  # fmt: skip
    weighted: bool = setting(
        False, "Whether weights of edges count in common neighbours, relative to the mean weight of their layer.",
        group=_NETWORK,
    )  # fmt: skip
    steps_per_draw: int = setting(1, "Consecutive steps of a target that use the same draw.", low=1, group=_LAYERS)
    warmup: int = setting(
        3, "First epochs with uniform draws, at most a quarter of all: early layer losses are noise.", low=0,
        group=_LAYERS,
    )  # fmt: skip
    epochs: int = setting(40, "Maximum number of epochs.", low=1)
    max_steps: int | str | None = setting(
        AUTO, "Maximum number of steps: where an epoch has many, there are fewer epochs, but at least 5. auto: 6,400, "
        "from 20,000 edges on 3,200, from 100,000 on 1,600. None: no limit.", low=1, word=AUTO, optional=True,
    )  # fmt: skip
    patience: int = setting(20, "Epochs without a lower (calibrated) validation loss before training stops.", low=1)
    batch_size: int | str = setting(
        AUTO, "Pairs per target and step, half of them edges; batches grow where a target would have over 64 of them. "
        "auto: 64 or, where several networks are trained, 128, in at most 16 batches.", low=1, word=AUTO,
    )  # fmt: skip
    targets_per_step: int | str = setting(
        AUTO, "Targets whose batches share a step. auto: 32, or more where an epoch would have over 512 steps or a GPU "
        "would be idle.", low=1, word=AUTO,
    )  # fmt: skip
    learning_rate: float = setting(0.02, "Learning rate at the start; it falls to 5 % along a cosine.", low=0)
    weight_decay: float = setting(
        1.0, "Weight decay of shared weights (AdamW), up to 300 edges; beyond, it falls in proportion to them.", low=0
    )
    validation: float = setting(
        0.1, "Share of each target's edges held out for early stopping and calibration.", low=0, below=1
    )
    members: int | str = setting(
        AUTO, "Networks that are trained one after the other, each with validation edges of its own; predictions use "
        "the mean of their logits. auto: 3, from 20,000 edges on or with fewer than 30 epochs 1. Networks that see all "
        "layers (evidence) are stacked with a regression for each target, or with one for all if edges are many, and, "
        "up to 20,000 nodes, with vectors of nodes and layers (ComplEx); a single network that was asked for is not.",
        low=1, word=AUTO,
    )  # fmt: skip
    conv: "Convolution" = setting(
        "sage", "Convolution of the encoder.", also="Or a PyG class, or a function, called as conv(in, out).",
        choices=("sage", "gcn"), closed=False, group=_NETWORK,
    )  # fmt: skip
    width: int | str = setting(
        AUTO, "Width of node embeddings; 0: structural features only, without node features. auto: 16 if "
        "nodes have features, or conv or relevance ask for embeddings; else 0.", low=0, word=AUTO, group=_NETWORK,
    )  # fmt: skip
    depth: int = setting(2, "Number of convolutions.", low=1, group=_NETWORK)
    fanout: int | Sequence[int] | None = setting(
        10, "Neighbours sampled per node in layers of more than 2,048 edges (sage, in training); several numbers, such "
        "as 10,5: one for each convolution, counted from the pair. None: all.", low=1, optional=True, several=True,
        group=_NETWORK,
    )  # fmt: skip
    hidden_units: int | str = setting(
        AUTO, "Hidden units of the heads. auto: 8, from 20,000 edges on 64.", low=1, word=AUTO, group=_NETWORK
    )
    device: str = setting("auto", "Device: auto (CUDA if there is one), cpu, cuda, ...")
    seed: int = setting(0, "Seed of every random stream.", low=0)

    @property
    def chooses_k(self) -> bool:
        """Whether the number of layers that predictions use is chosen on validation edges."""
        return self.k == AUTO

    @property
    def draw_size(self) -> int:
        """Layers drawn per round."""
        return 1 if self.chooses_k else int(self.k)

    @property
    def sees_all(self) -> bool:
        """Whether all layers are looked at, not target and drawn layers alone."""
        return self.evidence == EVIDENCE[0]

    @property
    def stacks(self) -> bool:
        """Whether others stand beside networks: not with drawn layers alone, few epochs or one network if given."""
        return self.sees_all and (self.epochs >= LONG if self.members == AUTO else int(self.members) > 1)

    @property
    def fanouts(self) -> tuple[int, ...] | None:
        """Neighbours sampled per node for each convolution; None: all."""
        if self.fanout is None:
            return None
        return (self.fanout,) * self.depth if isinstance(self.fanout, int) else tuple(self.fanout)

    def visibility(self, mx: "Multiplex", panels: "Panels | None" = None) -> Visibility:
        """Return what a network sees of the pairs of a multiplex, with panels or without."""
        pooled = self.sees_all and panels is not None and not panels.empty
        seen = {"evidence": self.sees_all, "weighted": self.weighted, "pooled": pooled}
        return Visibility.of_training(self.hide, mx, **seen)

    def warmup_epochs(self, epochs: int) -> int:
        """Return how many of so many epochs are for warming up: at most a quarter."""
        return min(self.warmup, epochs // 4)

    def num_epochs(self, steps: int, num_edges: int) -> int:
        """Return the number of epochs, of so many steps each, for a multiplex with so many edges."""
        if self.max_steps is None:
            return self.epochs
        most = min(steps for edges, steps in MAX_STEPS.items() if num_edges >= edges)
        if self.max_steps != AUTO:
            most = int(self.max_steps)
        return min(self.epochs, max(MIN_EPOCHS, most // max(1, steps)))

    def num_members(self, num_edges: int) -> int:
        """Return the number of networks for a multiplex with so many edges."""
        if self.members != AUTO:
            return int(self.members)
        return MEMBERS if self.epochs >= LONG and num_edges < MANY_EDGES else 1

    def batch_edges(self, num_edges: int) -> int:
        """Return the edges of a target in a step, half of its pairs, for a multiplex with so many edges."""
        if self.batch_size != AUTO:
            return max(1, int(self.batch_size) // 2)
        return (ENSEMBLE_BATCH if self._has_large_batches(num_edges) else BATCH) // 2

    def max_rounds(self, num_edges: int) -> int:
        """Return the most batches of a target in an epoch, for a multiplex with so many edges."""
        return ENSEMBLE_ROUNDS if self._has_large_batches(num_edges) else MAX_ROUNDS

    def _has_large_batches(self, num_edges: int) -> bool:
        """Say whether batches are to be large: there are several networks, and nobody asked for that or for a size."""
        return self.batch_size == AUTO and self.members == AUTO and self.num_members(num_edges) > 1

    @property
    def uses_torch_generators(self) -> bool:
        """Whether training may draw from torch's global generators: a convolution of the user's own may."""
        return not isinstance(self.conv, str)

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in SETTINGS}

    def checked(self, **changes: Any) -> "Config":
        """Return a copy with checked values; None as `hide` becomes "edge"."""
        values = {name: SETTINGS[name].check(name, value) for name, value in (self.values() | changes).items()}
        fanout, depth = values["fanout"], values["depth"]
        if isinstance(fanout, tuple) and len(fanout) != depth:
            raise InputError(f"Expected one fanout for each of the {depth} convolutions (depth), got {[*fanout]}.")
        return replace(Config(**values), hide=values["hide"] or HIDE[0])


PAPER_MODEL: Mapping[str, Any] = {
    "k": 1, "evidence": "drawn", "width": 16, "hidden_units": 8, "weight_decay": 0.1, "targets_per_step": 8,
    "members": 1, "learning_rate": 0.01,
}  # fmt: skip
"""Settings of a model that sees target and drawn layers alone, by their embeddings, as the paper's does.

Experiments that compare policies use it: with evidence of all layers, what is drawn matters less.
"""

SETTINGS: dict[str, Setting] = {each.name: each.metadata["setting"] for each in fields(Config)}


def numpydoc(settings: Mapping[str, Setting]) -> str:
    """Return settings as the parameters of a docstring, in the manner of numpydoc."""
    lines = ["Parameters", "----------"]
    for name, each in settings.items():
        choices = f"{{{', '.join(map(repr, each.choices))}}}, " if each.choices else ""
        lines += [f"{name} : {choices}default {each.default!r}", f"    {each.text} {each.also}".rstrip()]
    return "\n".join(lines)
