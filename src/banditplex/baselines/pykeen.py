"""Knowledge-graph models of the library PyKEEN: layers are relations, and edges are triples (u, layer, v)."""

import warnings
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

import numpy as np
import torch

from banditplex.baselines.base import BASELINES, Baseline, parameters
from banditplex.baselines.columns import Floats, Ints
from banditplex.errors import InputError
from banditplex.registry import Registry
from banditplex.training.data import choose_device
from banditplex.training.generators import seeded

TRIPLES_AT_ONCE = 1 << 16
"""Pairs that are scored at a time."""
PART = 5
"""Epochs between two looks at the clock."""
PARTS = ("models", "triples", "training")
"""What is used of PyKEEN."""
MODELS: Registry[str] = Registry("PyKEEN model")
"""Name -> class in PyKEEN."""
MODELS.add("simple", "SimplE")
MODELS.add("complex", "ComplEx")
MODELS.add("distmult", "DistMult")
MODELS.add("rotate", "RotatE")


@parameters
class PyKEEN(Baseline):
    """A knowledge-graph model of PyKEEN (Ali et al., JMLR 2021), learnt from the edges of all layers.

    The score of a triple (u, r, v) is, with <a, b, c> the sum of a_i b_i c_i,

    - "distmult" (Yang et al., ICLR 2015): <e_u, w_r, e_v>;
    - "complex" (Trouillon et al., ICML 2016): the real part of <e_u, w_r, conjugate of e_v>;
    - "simple" (Kazemi and Poole, NeurIPS 2018): (<h_u, w_r, t_v> + <h_v, w'_r, t_u>) / 2 in the paper, but
      (<h_u, w_r, h_v> + <t_u, w'_r, t_v>) / 2 in PyKEEN 1.11, which is symmetric;
    - "rotate" (Sun et al., ICLR 2019): - |e_u w_r - e_v|, with complex vectors and |w_r,i| = 1.

    Needs `pip install banditplex[pykeen]`. An undirected edge counts in both directions, and its score is the mean of
    the two. All training edges are seen. `Triples` has all four without PyKEEN.

    Differs from the originals: logistic loss and Adam for all models. Initial vectors of the first three are normal,
    with mean length 1, and DistMult does not normalise them. RotatE's own loss, with a margin and weighted negatives,
    needs far more negatives and epochs: after 40 epochs on the twins, ROC-AUC was .68 instead of .93.
    """

    model: str = field(default="complex", kw_only=False)
    dimension: int = 200
    epochs: int = 100
    batch_size: int = 256
    num_negatives: int = 10
    learning_rate: float = 0.01
    time_limit: float | None = None
    device: str = "auto"

    def _fit(self) -> None:
        name = MODELS[self.model]
        self.model_: Any = None
        triples = self._triples()
        if not len(triples):
            return
        device = choose_device(self.device)
        with warnings.catch_warnings(), seeded(self.seed, "pykeen", device):
            warnings.simplefilter("ignore")  # of PyKEEN and of the torch functions that it uses
            models, factories, training = (_module(part) for part in PARTS)
            size = {"num_entities": self.mx_.num_nodes, "num_relations": self.mx_.num_layers}
            factory = factories.CoreTriplesFactory(torch.from_numpy(triples), **size)
            model = getattr(models, name)(
                triples_factory=factory, embedding_dim=self.dimension, loss="softplus", random_seed=self.seed,
                **self._model_options(),
            ).to(device)  # fmt: skip
            loop = training.SLCWATrainingLoop(
                model=model, triples_factory=factory, optimizer="Adam", optimizer_kwargs={"lr": self.learning_rate},
                negative_sampler_kwargs={"num_negs_per_pos": self.num_negatives},
            )  # fmt: skip
            for epochs in self._parts():
                loop.train(
                    factory, num_epochs=epochs, batch_size=min(self.batch_size, len(triples)), use_tqdm=False,
                    use_tqdm_batch=False, continue_training=epochs > PART and self.time_limit is not None,
                )  # fmt: skip
        self.model_ = model.eval()
        self.num_parameters_ = sum(each.numel() for each in model.parameters())

    def _parts(self) -> Iterator[int]:
        """Yield up to which epoch to train: all, or parts for which there is time, judged by those before."""
        if self.time_limit is None:
            yield self.epochs
            return
        began = monotonic()
        for done in range(0, self.epochs, PART):
            if done and (monotonic() - began) * (done + PART) / done > self.time_limit:
                return
            yield min(done + PART, self.epochs)

    def load_libraries(self) -> None:
        """Import PyKEEN, which takes seconds: what measures the time of a fit calls this before."""
        for part in PARTS:
            _module(part)

    def _model_options(self) -> dict[str, Any]:
        """Return smaller initial vectors for products: PyKEEN's have scores far from 0, which few edges do not mend."""
        if self.model == "rotate":
            return {}
        start = partial(torch.nn.init.normal_, std=self.dimension**-0.5)
        options: dict[str, Any] = {"entity_initializer": start, "relation_initializer": start}
        return options | ({"entity_constrainer": None} if self.model == "distmult" else {})

    def _triples(self) -> Ints:
        """Return all edges (n, 3) as source, layer and destination; undirected ones twice."""
        (source, destination), layer = self.mx_.edge_index, self.mx_.edge_layer
        triples = np.stack([source, layer, destination], 1)[source != destination]
        return triples if self.mx_.directed else np.concatenate([triples, triples[:, ::-1]])

    def _score(self, pairs: Ints, target: int) -> Floats:
        if self.model_ is None:
            return np.zeros(len(pairs))
        found = self._score_triples(pairs, target)
        return found if self.mx_.directed else (found + self._score_triples(pairs[:, ::-1], target)) / 2

    def _score_triples(self, pairs: Ints, target: int) -> Floats:
        triples = torch.from_numpy(np.insert(pairs, 1, target, axis=1)).to(self.model_.device)
        with torch.no_grad():
            parts = [self.model_.score_hrt(some)[:, 0].double().cpu() for some in torch.split(triples, TRIPLES_AT_ONCE)]
        return torch.cat(parts).numpy()


def _module(part: str) -> Any:
    """Import a part of PyKEEN."""
    try:
        return import_module(f"pykeen.{part}")
    except ImportError as error:
        raise InputError(
            f"Expected PyKEEN, which is not installed here ({error}): pip install 'banditplex[pykeen]'."
        ) from error


for _name in MODELS:
    BASELINES.add(_name, partial(PyKEEN, _name))
