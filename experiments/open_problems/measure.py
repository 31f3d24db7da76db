"""One training: scores on held-out test pairs, and the work that it took."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from banditplex.arrays import Ints
from banditplex.datasets import planted
from banditplex.datasets.planted import similar_layer
from banditplex.evaluation import Split, accuracy, roc_auc, split
from banditplex.multiplex import Multiplex, Name
from banditplex.predictor import LinkPredictor
from banditplex.rng import stream
from banditplex.training.members import Members
from experiments import comparison
from experiments.open_problems import settings

CURVES = ("steps", "cost")
"""Parts in which a model is tested after each epoch."""


@dataclass(frozen=True)
class Training:
    """One training.

    `part` is k, steps, cost or losses; `label` the policy or layer loss that is compared; `value` is k, the steps per
    draw or the strength of prices.
    """

    part: str
    data: str
    label: str
    value: float
    seed: int
    epochs: int

    @property
    def key(self) -> str:
        """The name of the task."""
        return f"{self.part} {self.data} {self.label} {self.value:g} seed {self.seed}"


class Counting(LinkPredictor):
    """A LinkPredictor that counts steps, edges that the encoder passed messages along, and pair features."""

    def make_members(self, *arguments: Any, **options: Any) -> Members:
        """Return a training of one network that counts how often it scores pairs."""
        members = super().make_members(*arguments, **options)
        self.work = {"steps": 0, "edges": 0, "pairs": 0}
        model: Any = members.current.model
        score = model.score

        def counted(*arguments: Any) -> Any:
            logits = score(*arguments)
            self._count(logits)
            return logits

        model.score = counted
        return members

    def _count(self, logits: Any) -> None:
        self.work["steps"] += 1
        self.work["edges"] += 0 if logits.block is None else logits.block.edge_index.shape[1] // 2
        self.work["pairs"] += logits.own.numel() + logits.other.numel()


class TrainingWatch:
    """Tests a model after each epoch, with the clock stopped; the clock counts processor seconds."""

    def __init__(self, part: Split, targets: list[Name], *, curves: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._seconds: list[float] = []
        self._since = process_time()
        self._part, self._targets, self._curves = part, targets, curves

    def __call__(self, model: Counting, row: dict[str, Any]) -> None:
        """Serve as `on_epoch` of a fit."""
        self._seconds.append(process_time() - self._since)
        if self._curves:
            self.rows.append({"epoch": row["epoch"]} | self.judge(model))
        self._since = process_time()

    def judge(self, model: Counting) -> dict[str, Any]:
        """Return means over targets of test ROC-AUC and accuracy, the work done so far, and the median time."""
        auc, right = comparison.model_means(self._part, model, roc_auc, accuracy, targets=self._targets)
        seconds = float(np.median(self._seconds))
        return {"auc": auc, "accuracy": right, "seconds_per_epoch": seconds, **model.work, "draws": draws(model)}


def work(task: Training) -> Iterator[dict[str, Any]]:
    """Train and test a model; yield a row per epoch if the part has curves, and one at the end (`final`)."""
    mx, chosen = load(task.data, task.seed)
    part = split(mx, hide=settings.HIDDEN_IN, seed=task.seed)
    part.check()
    targets = list(chosen or mx.layer_names)
    model = make_model(task, part.train, targets)
    watch = TrainingWatch(part, targets, curves=task.part in CURVES)
    model.fit(part.train, targets, watch)
    head = {name: getattr(task, name) for name in ("part", "data", "label", "value", "seed")}
    for row in watch.rows:
        yield head | {"final": False} | row
    matched = split(mx, hide=settings.HIDDEN_IN, seed=task.seed, negatives="degree")
    found = comparison.relevant_probabilities(model, mx, targets)
    more = {
        "auc_degree": comparison.model_means(matched, model, roc_auc, targets=targets)[0],
        "probability": float(np.mean(found)) if found else None,  # of relevant layers, if they are known
    }
    yield head | {"final": True, "epoch": task.epochs} | watch.judge(model) | more


def make_model(task: Training, mx: Multiplex, targets: list[Name]) -> Counting:
    """Return the model of a task."""
    options: dict[str, dict[str, Any]] = {
        "k": {"policy": task.label, "k": max(1, int(task.value))},
        "steps": {"policy": task.label, "steps_per_draw": int(task.value)},
        "cost": {"policy": task.label, "policy_options": {"prices": prices(mx, targets), "strength": task.value}},
        "losses": {"policy": "uniform"} if task.label == "uniform" else {"relevance": task.label},
    }
    settings_of_all = settings.TRAINING | {"batch_size": settings.DATA[task.data].batch_size, "seed": task.seed}
    return Counting(epochs=task.epochs, patience=task.epochs, **settings_of_all | options[task.part])


def prices(mx: Multiplex, targets: list[Name]) -> list[list[float]]:
    """Return the price of each arm of each target: the number of edges of that layer, at least 1."""
    size = np.maximum(mx.layer_sizes, 1).astype(np.float64)
    return [np.delete(size, mx.layer_index(target)).tolist() for target in targets]


def draws(model: LinkPredictor) -> int:
    """Return the number of completed draws, over all targets."""
    drawn = sum(sum(row.values()) for row in model.history_["drawn"])
    return int(drawn // max(1, model.draw_size))


# Data


def load(name: str, seed: int) -> tuple[Multiplex, list[Name] | None]:
    """Return a data set and its target layers (None = all); synthetic ones are generated anew for each seed."""
    if name == "uneven":
        mx = uneven(seed)
        return mx, [layer for layer in mx.layer_names if str(layer).endswith("base")]
    mx = comparison.load(name, seed)
    return mx, choose_targets(mx, settings.DATA[name])


def choose_targets(mx: Multiplex, data: settings.Data) -> list[Name] | None:
    """Choose layers at random among those with enough edges, the same for all seeds; None if all are targets."""
    if data.num_targets is None:
        return None
    large = np.flatnonzero(mx.layer_sizes >= data.min_edges)
    chosen = stream(settings.SEED, "targets").choice(large, data.num_targets, replace=False)
    return [mx.layer_names[index] for index in np.sort(chosen)]


def uneven(seed: int) -> Multiplex:
    """Return a multiplex whose relevant layers differ in size.

    In each group there is a base layer with communities, a copy that has some of its edges and as many edges in all,
    and a dense layer that has nearly all of its edges, and three times as many in all. The rest is noise.

    >>> mx = uneven(0)
    >>> [(name, int(size)) for name, size in zip(mx.layer_names, mx.layer_sizes)][:3]
    [('g1-base', 500), ('g1-copy', 500), ('g1-dense', 1500)]
    """
    count, nodes = settings.UNEVEN_EDGES, settings.UNEVEN_NODES
    rng = stream(seed, "uneven")
    bases = planted(
        2 * settings.UNEVEN_GROUPS + settings.UNEVEN_NOISE, settings.UNEVEN_GROUPS, settings.UNEVEN_COPY,
        num_nodes=nodes, edges_per_layer=count, seed=seed,
    )  # fmt: skip
    layers: dict[str, Ints] = {}
    relevant: dict[str, list[str]] = {}
    for group in range(1, settings.UNEVEN_GROUPS + 1):
        base, copy, dense = (f"g{group}-{kind}" for kind in ("base", "copy", "dense"))
        layers[base], layers[copy] = bases.edges(base), bases.edges(f"g{group}-copy1")
        more = (settings.UNEVEN_FACTOR - 1) * count
        near = similar_layer(layers[base], nodes, settings.UNEVEN_DENSE, rng)
        layers[dense] = _with_more(near, nodes, more, rng)
        relevant |= {base: [dense, copy], copy: [base, dense], dense: [base, copy]}
    noise = [str(name) for name in bases.layer_names if str(name).startswith("noise")]
    layers |= {name: bases.edges(name) for name in noise}
    source, destination = np.concatenate(list(layers.values()), axis=1)
    names = np.repeat(list(layers), [edges.shape[1] for edges in layers.values()])
    about = {"name": "uneven", "relevant": relevant | {name: [] for name in noise}}
    return Multiplex.from_edges(source, destination, names, num_nodes=nodes, metadata=about)


def _with_more(edges: Ints, num_nodes: int, count: int, rng: np.random.Generator) -> Ints:
    """Return the edges (2, E) and `count` others, all distinct, smaller index first."""
    upper = np.stack(np.triu_indices(num_nodes, 1))
    code, known = upper[0] * num_nodes + upper[1], edges.min(axis=0) * num_nodes + edges.max(axis=0)
    free = upper[:, ~np.isin(code, known)]
    return np.concatenate([edges, rng.choice(free, count, replace=False, axis=1)], axis=1)
