"""Learns the vectors of `nn/vectors.py` from the edges of all layers, for all folds at once.

Each edge asks two questions: given one end and the layer, which node is the other end? The loss of an edge is the
cross-entropy of the right node among all nodes, or a sample of them, in both questions, plus a penalty on the cubes of
lengths (Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018). Pairs of the fold are
no answers, right or wrong; in a large multiplex, where few pairs are links, they are wrong ones. All that is random is
drawn without looking at them. So the vectors of a fold depend on the edges of the other folds alone, on a CPU to the
last bit.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from banditplex.arrays import Floats, Ints
from banditplex.backend.lists import ranges
from banditplex.backend.packing import EdgeTensors
from banditplex.nn.known import Known
from banditplex.nn.relations import TINY
from banditplex.nn.vectors import DIMENSION, MORE_NODES, Folds, Vectors
from banditplex.rng import stream
from banditplex.training.config import Config
from banditplex.training.data import TrainingData, hold_out
from banditplex.training.descent import Step, descent
from banditplex.training.threads import Ask, alone_on_cpu, begun

EPOCHS, FEWEST = 30, 60
"""Passes over the questions of a fold; if these make fewer or more steps than that, there are more or fewer."""
BATCH, LARGE_BATCH = 256, 1_024
"""Questions in a step; more, up to the second number, if a pass would have more parts than the recipe says."""


class Recipe(NamedTuple):
    """How vectors are learnt."""

    shrink: float  # the first numbers are normal ones, divided by this
    rate: float  # of the first step, in Adagrad; it falls to 0
    penalty: float  # weight of the cubes of the lengths of an edge's complex numbers
    most: int  # steps
    parts: int  # of a pass
    full: int  # up to so many nodes, right answers are compared with all, else with a sample
    candidates: int  # in this sample


SEVERAL = Recipe(shrink=DIMENSION**0.5, rate=0.3, penalty=0.03, most=300, parts=40, full=256, candidates=128)
"""Several sets have one rate per row: with one per number, as one set has, kinships and umls gain .004, but
lazega-corrected and vickers lose .01.
"""
ALONE = SEVERAL._replace(penalty=0.06)
LONG = Recipe(shrink=100, rate=0.2, penalty=0.04, most=600, parts=60, full=MORE_NODES, candidates=0)
"""The folds of long vectors are short, as they score known edges alone.

Filtered MRR of long vectors alone, with 40 parts and a penalty of .03, on valid triples of three knowledge graphs of
3,078 to 3,570 nodes and 26,000 to 32,000 facts: .573, .549 and .721; with a sample of 512 candidates .551, .520, .646.
"""
AGAIN = 0.25
"""What has learnt without validation edges learns all edges in so many times its steps.

That is nearly as good as a new start, which has .576, .548 and .723, filtered MRR as above.
"""
USUAL = 256
"""Random pairs of a layer whose mean score is the usual one."""
MOST_NODES, MOST_EDGES = 20_000, 5_000_000
"""With more of either there are no vectors: they are many numbers, and learn little in so few steps."""
MANY_LAYERS = 64
"""With more layers, vectors are learnt from targets and their panels alone: the others would take most of the steps."""


@dataclass(frozen=True, eq=False)
class TargetVectors:
    """Vectors that score pairs in targets as a network does; a pair is never scored by those learnt from it."""

    vectors: Vectors
    data: TrainingData

    @torch.no_grad()
    def logits_of_targets(self, pairs: Ints, instance: Ints, known: Known | None = None) -> Floats:
        """Return the scores (n,) of pairs (n, 2) in the targets number (n,)."""
        device, targets = self.data.device, self.data.targets[instance]
        asked, target = (torch.from_numpy(np.ascontiguousarray(each)).to(device) for each in (pairs, targets))
        found: Floats = self.vectors.score(asked, target, held_out=True).cpu().numpy().astype(np.float64)
        return found


def can_learn(data: TrainingData) -> bool:
    """Say whether there may be vectors: for not too many nodes and edges, where negatives are any pairs of nodes."""
    mx = data.full_mx
    return mx.num_nodes <= MOST_NODES and mx.num_edges <= MOST_EDGES and not data.negatives.only_host


class Part(NamedTuple):
    """Some of the J = S * M models of all sets, and what learns their vectors (j, N, D) and (j, L, D), step by step."""

    models: list[int]
    steps: Generator[None, None, tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class VectorsInParts:
    """Vectors that are learnt in parts.

    The first `judging` parts, which do not depend on each other, are all that scores validation edges. The others are
    learnt if these say that vectors count.
    """

    vectors: Vectors
    parts: Sequence[Part]
    judging: int
    data: TrainingData
    generator: torch.Generator
    values: Ask[tuple[Tensor, Tensor]]

    def judged(self) -> Vectors:
        """Return the vectors, with factors of 0, as soon as they can score validation edges."""
        self._take(slice(self.judging))
        return self.vectors

    def finish(self) -> None:
        """Let the vectors have all that is left to learn."""
        if self.judging < len(self.parts):
            self._take(slice(self.judging, None))

    @torch.no_grad()
    def _take(self, some: slice) -> None:
        """Take over the values of some parts; after the last, look which scores are usual."""
        vectors, mx, targets = self.vectors, self.data.full_mx, torch.from_numpy(self.data.targets)
        own = [each.flatten(0, 1) for each in (vectors.node, vectors.layer)]
        for part, learnt in zip(self.parts[some], self.values(some), strict=True):
            for all_models, found in zip(own, learnt, strict=True):
                all_models[part.models] = found
        if some.stop in (None, len(self.parts)):
            drawn = torch.randint(mx.num_nodes, (mx.num_layers, USUAL, 2), generator=self.generator)
            drawn, device = drawn[targets].flatten(0, 1), vectors.usual.device
            score = vectors.score(drawn.to(device), targets.repeat_interleave(USUAL).to(device))
            vectors.usual[targets.to(device)] = score.view(-1, USUAL).mean(1)
        self.data.group.copy_first(vectors.state_dict().values())


@contextmanager
def vectors_begun(data: TrainingData, members: Sequence[Config]) -> Iterator[VectorsInParts | None]:
    """Begin to learn vectors, on a CPU in a second thread, and return them; None: there are to be none.

    `data` is that of the first member; the settings of all `members` say which edges are held out.
    """
    config, mx, device = members[0], data.full_mx, data.device
    if not config.stacks or not can_learn(data):
        yield None
        return
    first = int(stream(config.seed, "vectors").integers(2**62))
    begin, vectors = torch.Generator().manual_seed(first), Vectors(mx, data.visibility)
    folds = Folds.draw(mx, begin, everywhere=data.visibility.hides_everywhere)
    vectors.seed.fill_(first)
    vectors.node_group.copy_(folds.node)
    vectors.layer_group.copy_(folds.layer)
    vectors = vectors.to(device)
    parts = learn(*edges_to_learn(data, members if vectors.long else ()), vectors, first)
    judging = len(parts) - vectors.long  # the last part of long vectors learns what is held out
    with begun([part.steps for part in parts], judging, wanted=alone_on_cpu(data)) as values:
        yield VectorsInParts(vectors, parts, judging, data, begin, values)


def edges_to_learn(data: TrainingData, members: Sequence[Config]) -> tuple[EdgeTensors, Tensor]:
    """Return the edges that vectors are learnt from, and which of them (E,) members hold out."""
    edges = EdgeTensors.of(data.full_mx, data.device)
    held_out = torch.zeros_like(edges.layer, dtype=torch.bool)
    for config in members:
        held_out |= ~hold_out(edges, data.targets, config, data.visibility).kept
    if data.full_mx.num_layers <= MANY_LAYERS:
        return edges, held_out
    pools, _ = data.panels.pools()
    wanted = torch.isin(edges.layer, torch.tensor(sorted({*chain(*pools)}), device=data.device))
    return edges.keep(wanted), held_out[wanted]


def learn(edges: EdgeTensors, held_out: Tensor | None, vectors: Vectors, seed: int) -> list[Part]:
    """Return the parts that learn the models of all sets.

    The last of long vectors learns in two parts: in the first one without edges that are `held_out` (E,), None: there
    are none; in the last one, from where it is then, from all edges.
    """
    device, (sets, models, _, width) = edges.layer.device, vectors.node.shape
    generator = torch.Generator().manual_seed(seed)
    having, number = torch.unique(edges.layer, return_inverse=True)  # the others are left out
    fold = vectors.fold(torch.stack([edges.source, edges.destination], 1), edges.layer)
    hidden = (fold.unsqueeze(1) == torch.arange(models, device=device).unsqueeze(1)).flatten(0, 1)  # (J, E)
    if vectors.long:
        first = torch.zeros_like(hidden[0]) if held_out is None else held_out
        hidden = torch.cat([hidden, first.unsqueeze(0)])
    groups = None if vectors.alone else Folds(vectors.node_group, vectors.layer_group[:, having])
    questions = Questions.of(replace(edges, layer=number, num_layers=len(having)), hidden, groups)
    of_models = list(questions.of_models())

    def candidates(recipe: Recipe) -> Iterator[Tensor]:
        own, nodes = torch.Generator(), torch.arange(edges.num_nodes, device=device)
        own.set_state(generator.get_state())
        while True:
            some = torch.randint(len(nodes), (recipe.candidates,), generator=own) if len(nodes) > recipe.full else None
            yield nodes if some is None else torch.unique(some).to(device)

    def begin(recipe: Recipe, width: int) -> list[Tensor]:
        values = [torch.randn(sets, size, width, generator=generator) for size in (edges.num_nodes, edges.num_layers)]
        values = [(each / recipe.shrink).repeat_interleave(models, 0).to(device) for each in values]
        values[1] = values[1][:, having]
        return [*values, *(each.new_zeros(*each.shape[:2], width if vectors.alone else 1) for each in values)]

    def part(some: list[int], rows: list[int], recipe: Recipe, state: list[Tensor], share: float = 1.0) -> Part:
        """Return what lets some models learn, and changes their state; `rows` of `hidden` are theirs."""
        draws = [Draws(of_models[row], seed + 1 + row, recipe) for row in rows]

        def steps() -> Generator[None, None, tuple[Tensor, Tensor]]:
            yield from descend(state, questions.of_models_at(rows, models), draws, candidates(recipe), recipe, share)
            layer = state[1].new_zeros(len(some), edges.num_layers, state[1].shape[2])
            layer[:, having] = state[1]
            return lengthened(state[0], width), lengthened(layer, width)

        return Part(some, steps())

    def parts(some: list[int], recipe: Recipe, state: list[Tensor]) -> list[Part]:
        size = len(some) if device.type != "cpu" else 1 if vectors.alone else models  # on a GPU, few large steps
        every = [some[first : first + size] for first in range(0, len(some), size)]
        return [part(each, each, recipe, [values[each] for values in state]) for each in every]

    if not vectors.long:
        recipe = ALONE if vectors.alone else SEVERAL
        return parts([*range(sets * models)], recipe, begin(recipe, width))
    *folds, last = range(models)
    state = [each[[last]] for each in begin(LONG, width)]
    short = parts(folds, ALONE, begin(ALONE, 2 * DIMENSION))
    return [part([last], [models], LONG, state), *short, part([last], [last], LONG, state, AGAIN)]


def lengthened(vectors: Tensor, width: int) -> Tensor:
    """Return complex vectors (..., D) with zeros behind, (..., width) in all."""
    halves = vectors.reshape(*vectors.shape[:-1], 2, -1)
    return pad(halves, (0, width // 2 - halves.shape[-1])).flatten(-2)


def descend(
    state: Sequence[Tensor], questions: "Questions", draws: Sequence["Draws"], candidates: Iterator[Tensor],
    recipe: Recipe, share: float = 1.0,
) -> Generator[None, None, None]:  # fmt: skip
    """Let some models learn, step by step, in a share of their steps.

    Their state is the vectors of nodes (j, N, D) and of layers (j, L, D), then for both the sums of squared gradients,
    with (j, N, 1) and (j, L, 1) of their means.
    """
    steps = (share * torch.tensor([draw.steps for draw in draws])).ceil()
    for step in range(int(steps.max())):
        at = pad_sequence([draw.take(step) for draw in draws], batch_first=True, padding_value=len(questions.end) - 1)
        rate = recipe.rate * (1 - step / steps.clamp(min=1)).clamp(min=0).to(at.device).unsqueeze(1)
        asked = Step(at, *questions.answers_to(at), next(candidates))
        gradients = descent(state[0], state[1], questions, asked, recipe.penalty)
        for value, square, gradient in zip(state[:2], state[2:], gradients, strict=True):
            if square.shape[2] == value.shape[2]:
                square.addcmul_(gradient, gradient)
            else:
                square += torch.linalg.vector_norm(gradient, dim=2, keepdim=True).square_() / value.shape[2]
            value.addcmul_(gradient, (square + TINY).rsqrt_().mul_(-rate.unsqueeze(2)))
        yield


class Questions(NamedTuple):
    """The edges as questions, sorted: an end, a layer, and whether the answer is the edge's source.

    An undirected edge counts in both directions. The last question has no answers, and stands for none.
    """

    end: Tensor  # (Q + 1,)
    layer: Tensor  # (Q + 1,)
    against: Tensor  # (Q + 1,): whether the end is a destination
    start: Tensor  # (Q + 2,): the place of the first answer to each
    answer: Tensor  # (A,): nodes
    hidden: Tensor  # (J, A): which answers each model does not learn
    groups: Folds | None  # if pairs of the fold are no wrong answers either
    directed: bool  # else no end is a destination

    @classmethod
    def of(cls, edges: EdgeTensors, hidden: Tensor, groups: Folds | None) -> "Questions":
        """Return those of all edges, some `hidden` (J, E) from each model; loops excepted."""
        hidden, edges, size = hidden[:, ~edges.is_loop].repeat(1, 2), edges.keep(~edges.is_loop), edges.num_nodes
        end, answer = torch.cat([edges.source, edges.destination]), torch.cat([edges.destination, edges.source])
        against = torch.arange(2, device=end.device).repeat_interleave(len(edges.layer)) * edges.directed
        layer = edges.layer.repeat(2)
        key = (against * edges.num_layers + layer) * size + end
        order = torch.argsort(key * size + answer)
        which, count = torch.unique_consecutive(key[order], return_counts=True)
        start = torch.cat([count.new_zeros(1), torch.cumsum(count, 0), count.sum().unsqueeze(0)])
        none = which.new_zeros(1)
        of_end, of_layer = torch.cat([which % size, none]), torch.cat([which // size % edges.num_layers, none])
        of_way = torch.cat([which // (size * edges.num_layers), none])
        return cls(of_end, of_layer, of_way, start, answer[order], hidden[:, order], groups, edges.directed)

    def of_models(self) -> Iterator[Tensor]:
        """Yield the questions (n,) that each model learns from: those with an answer that is not hidden from it."""
        which = torch.repeat_interleave(self.start.diff())
        for hidden in self.hidden:
            yield torch.unique_consecutive(which[~hidden])

    def of_models_at(self, some: list[int], models: int) -> "Questions":
        """Return what some of the models learn from: all of a set, if there are several sets of so many."""
        groups = self.groups
        if groups is not None:
            sets = [place // models for place in some[::models]]
            groups = Folds(groups.node[sets], groups.layer[sets])
        return self._replace(hidden=self.hidden[some], groups=groups)

    def answers_to(self, question: Tensor) -> tuple[Tensor, Tensor]:
        """Return the answers to questions (J, B) that each model learns, as `row` and `answer` of a step."""
        begin = self.start[question.flatten()]
        row, at = ranges(begin, self.start[question.flatten() + 1] - begin)
        learnt = (~self.hidden[row // question.shape[1], at]).nonzero().squeeze(1)
        return row[learnt], self.answer[at[learnt]]


class Draws:
    """Draws some of a model's questions (n,) in each step: all of them in each pass, in a new order."""

    def __init__(self, own: Tensor, seed: int, recipe: Recipe) -> None:
        self._own, self._generator = own, torch.Generator().manual_seed(seed)
        self._size = min(max(BATCH, len(own) // recipe.parts), LARGE_BATCH)
        self._rest: list[Tensor] = []
        self.steps = min(max(EPOCHS * -(-len(own) // self._size), FEWEST), recipe.most) if len(own) else 0

    def take(self, step: int) -> Tensor:
        """Return the questions of the next step; none after the last."""
        if step >= self.steps:
            return self._own[:0]
        if not self._rest:
            order = torch.randperm(len(self._own), generator=self._generator).to(self._own.device)
            self._rest = list(torch.tensor_split(self._own[order], -(-len(order) // self._size)))
        return self._rest.pop()
