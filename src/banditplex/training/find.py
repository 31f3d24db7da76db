"""Find: which layers to pool with each target (its panel), before the networks are trained.

    1. screen   with very many layers, one pass over all edges keeps the most promising ones
    2. explore  with more than 32, bandits draw several per round; a small network that sees target and drawn layers alone, as the
                paper's does, says what each was worth
    3. compare  regressions on the target, with and without each of the layers drawn most, on pairs they did not learn from
    4. order    the best first, then what adds most beside those before it; copies of these are left out
    5. choose   how many of them to pool: as many as make a regression with the columns of their pool better

The cost grows with the number of targets; from 32 other layers on, hardly with the number of layers.
"""  # noqa: E501

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import map_on_cpu
from banditplex.backend.packing import EdgeTensors
from banditplex.bandits import POLICIES
from banditplex.bandits.arms import to_arm, to_layer
from banditplex.multiplex import Multiplex
from banditplex.nn.evidence import Evidence
from banditplex.nn.graph import PackedGraph
from banditplex.nn.known import look_up
from banditplex.nn.panels import Panels
from banditplex.nn.paths import FEW_PAIRS
from banditplex.nn.view import View
from banditplex.rng import stream
from banditplex.training.batches import TARGETS
from banditplex.training.config import Config
from banditplex.training.data import MOST_EXAMPLES, TrainingData, choose_device, count_examples, prepare
from banditplex.training.gains import Comparison
from banditplex.training.screening import promising_layers
from banditplex.training.setup import make_trainer

MAX_ARMS = 128
"""Layers that bandits choose from; if there are more, those that one pass over all edges finds most promising."""
DRAWN = 8  # layers drawn per round: with several, the second and the fifth helper are found, not the first alone
FEW = 32  # up to so many other layers, regressions compare all of them: to draw layers would take longer
COMPARED = 16  # where there are more, the layers that regressions compare: those drawn most
SIZES = (1, 4, 16)
"""Numbers of layers that are tried as a panel.

With (1, 2, 4, 8, 16), hard MRR changes by -.003 to +.004 and ROC-AUC by -.001 to +.001 on kinships, euair and umls.
With 16 alone, ROC-AUC of kinships falls by .0006 and .0011 (two errors and more), and panels are twice as large.
"""
EXPLORING: Mapping[str, Any] = {
    "epochs": 15, "learning_rate": 0.02, "batch_size": 128, "members": 1, "hidden_units": 8, "width": 0,
    "validation": 0.0,
}  # fmt: skip
"""Settings of the small network: few large steps find as many helpers as twice as many steps of half the size."""
ROUNDS, MAX_STEPS = 200, 800
"""Rounds of a target, about, and steps at most: with 1,000 layers, all helpers were found in 200 rounds."""
MAX_EDGES, NEGATIVES = 1_000, 2
"""Edges of a target that regressions learn from and are tested on, and negatives of each."""
MOST_ORDERED = 64  # layers that are added one after another, by as many regressions on up to as many columns
CLEAR = 2.75
"""Standard errors by which a layer with half its weight must lower the loss to be pooled; the pool must by one.

With 500 layers in groups of 3, half copied, pairs hidden, 97 % of the helpers pass and .4 % of other layers; with whole
layers and 2 errors, 82 % and .4 % would.
"""
Tell = Callable[[float], Any]
"""Called with the share of the search that is done, from 0 to 1."""


def find_panels(mx: Multiplex, targets: Ints, config: Config, tell: Tell = lambda _: None) -> Panels:
    """Return the layers to pool with each target."""
    others = mx.num_layers - 1
    pooled = config.sees_all and config.chooses_k and others > 0 and config.policy != "none"
    if not pooled or count_examples(mx, targets) > MOST_EXAMPLES:
        tell(1.0)
        return Panels.none(targets.tolist())
    if config.policy == "fixed":
        tell(1.0)
        layers = to_layer(targets[:, None], np.array((config.policy_options or {})["arms"]))
        return Panels({target: tuple(some) for target, some in zip(targets.tolist(), layers.tolist(), strict=True)})
    steps = min(ROUNDS * math.ceil(len(targets) / TARGETS), MAX_STEPS)
    exploring = {**EXPLORING, "k": min(DRAWN, others), "max_steps": steps}
    config = replace(config, evidence="drawn", relevance="predictive", **exploring)
    if others <= FEW or not POLICIES[config.policy].takes_k:
        every = to_layer(targets[:, None], np.arange(others)[None])
        return choose(prepare(mx, targets, config), every, config.seed, tell)
    candidates = None
    if others > MAX_ARMS:
        graph = PackedGraph.from_multiplex(mx, choose_device(config.device))
        candidates = promising_layers(graph, targets, MAX_ARMS)
        options, arms = dict(config.policy_options or {}), to_arm(targets[:, None], candidates)
        for name in (name for name, kind in POLICIES[config.policy].arm_options.items() if kind == "values"):
            options[name] = np.take_along_axis(np.array(options[name]), arms, 1).tolist()
        config = replace(config, policy_options=options)
    trainer = make_trainer(mx, targets, config, candidates=candidates)
    while not trainer.finished:
        trainer.run_epoch()
        tell(trainer.epoch / trainer.epochs / 2)
    layers = trainer.most_probable_layers(COMPARED)
    return choose(trainer.data, layers, config.seed, lambda share: tell((1 + share) / 2))


def choose(data: TrainingData, layers: Ints, seed: int, tell: Tell) -> Panels:
    """Return which of layers (T, m), how many and in which order, to pool with each target."""
    targets, graph = data.targets.tolist(), data.train_view.graph
    rngs = [stream(seed, "find", target) for target in targets]
    compare = [
        Comparison.of(data, graph, place, rng, most=MAX_EDGES, negatives_each=NEGATIVES)
        for place, rng in enumerate(rngs)
    ]
    done = count(1)

    def after_each() -> None:  # of two passes
        tell(next(done) / len(compare) / 2)

    places = range(len(compare))
    useful = map_on_cpu(lambda place: helpful(compare[place], layers[place]), places, data.device, after_each)
    tried = [list(dict.fromkeys(some[:size] for size in SIZES if some)) for some in useful]
    chosen = {}
    for each, panels, losses in zip(compare, tried, pooled_losses(data, compare, tried, after_each), strict=True):
        found = [each.estimate(losses[0] - loss) for loss in losses]
        clear = [estimate.gain if estimate.gain > estimate.error else 0.0 for estimate in found]
        chosen[each.target] = ((), *panels)[int(np.argmax(clear))]
    return Panels(chosen)


def helpful(compare: Comparison, layers: Ints) -> tuple[int, ...]:
    """Return those of some layers (m,) that help clearly alone and beside those before them, the best first."""
    without, added = compare.logits_with(layers)
    alone = compare.estimates_of(without, added)
    clear = [place for place, found in enumerate(alone) if found.gain > CLEAR * found.error]
    clear = sorted(clear, key=lambda place: -alone[place].gain)[:MOST_ORDERED]
    if not clear:
        return ()
    new = compare.are_new(without, added[clear], [alone[place] for place in clear])
    return tuple(layers[clear][new].tolist())


def pooled_losses(
    data: TrainingData,
    compare: Sequence[Comparison],
    tried: Sequence[Sequence[tuple[int, ...]]],
    after_each: Callable[[], Any],
) -> list[list[Floats]]:
    """Return for each comparison the losses of its pairs, without a pool and with each of the panels that are tried.

    They are those of regressions on all columns that a network would see. One graph has all pools.
    """
    pools_of = [
        [tuple(sorted((each.target, *some))) for some in panels] for each, panels in zip(compare, tried, strict=True)
    ]
    pools = list(dict.fromkeys(pool for some in pools_of for pool in some))
    visibility = replace(data.visibility, evidence=True)
    graph = PackedGraph.from_edges(EdgeTensors.of(data.full_mx, data.device), union=True, pools=pools)
    evidence = Evidence.of(graph, visibility, Panels.none(data.targets.tolist()))
    evidence = replace(evidence, largest_table=FEW_PAIRS)

    def losses_of(place: int) -> list[Floats]:
        each = compare[place]
        target = torch.full_like(each.pairs[:, 0], each.target)
        plain = look_up(View(graph, visibility, evidence), each.pairs, target).values
        losses = [each.losses(plain[None])[0]]
        for pool in pools_of[place]:
            layer = torch.full_like(target, graph.num_plain + 1 + pools.index(pool))
            more = evidence.pool_columns(each.pairs, target, layer)
            losses.append(each.losses(torch.cat([plain, more], 1)[None])[0])
        return losses

    first = [losses_of(place) for place in range(min(1, len(compare)))]  # tables for all are made here
    after_each()
    return first + map_on_cpu(losses_of, range(1, len(compare)), data.device, after_each)
