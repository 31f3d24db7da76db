"""Find: which layers to pool with each target (its panel), before the networks are trained.

1. search   a bandit looks at few pairs in all layers, and at more in those that promise more
2. compare  regressions on the target, with and without each of the best, on pairs that they did not learn from
3. order    the best first, then what adds most beside those before it; copies of these are left out
4. choose   how many of them to pool: as many as make a regression with the columns of their pool better
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import map_on_cpu
from banditplex.backend.packing import EdgeTensors
from banditplex.bandits.arms import to_layer
from banditplex.multiplex import Multiplex
from banditplex.nn.evidence import Evidence
from banditplex.nn.graph import PackedGraph
from banditplex.nn.known import look_up
from banditplex.nn.panels import Panels
from banditplex.nn.paths import FEW_PAIRS
from banditplex.nn.view import View
from banditplex.rng import stream
from banditplex.training.comparison import FEWEST_EDGES, Comparison
from banditplex.training.config import Config
from banditplex.training.data import MOST_EXAMPLES, TrainingData, count_examples, prepare
from banditplex.training.search import promising_layers

LOOKS = 20_000_000
"""Pairs of all targets that are looked at in search of promising layers, counted once for each layer; see `price`."""
SEEM, BY_CHANCE = 2.0, 1
"""So many layers with renamed nodes may seem to help, by so many errors; if more do, bridges are left out of a search.

Of up to 32, .7 would by chance. Where layers of umls are permuted, 12 layers instead of 33 are pooled with 92 targets,
and 7 without bridges.
"""
COMPARED = 32  # the most promising layers, which regressions compare; with 16, near copies of one crowd out others
SIZES = (1, 4, 16)
"""Numbers of layers that are tried as a panel.

With (1, 2, 4, 8, 16), hard MRR changes by -.003 to +.004 and ROC-AUC by -.001 to +.001 on kinships, euair and umls.
With 16 alone, ROC-AUC of kinships falls by .0006 and .0011 (two errors and more), and panels are twice as large.
"""
MAX_EDGES, NEGATIVES = 1_000, 2
"""Edges of a target that regressions learn from and are tested on, and negatives of each."""
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
    data = prepare(mx, targets, replace(config, evidence="drawn", validation=0.0))
    return choose(data, config.seed, tell)


def choose(data: TrainingData, seed: int, tell: Tell) -> Panels:
    """Return which layers, how many and in which order, to pool with each target."""
    targets = data.targets.tolist()
    places, every = range(len(targets)), np.arange(data.full_mx.num_layers)
    compare = [comparison(data, place, seed, "find") for place in places]
    done = count(1)

    def after_each() -> None:  # of two passes
        tell(next(done) / len(compare) / 2)

    def useful_of(place: int) -> tuple[int, ...]:
        searched, others = comparison(data, place, seed, "search"), np.delete(every, targets[place])
        bridged = bridges_hold(searched, others, stream(seed, "renamed", targets[place]))
        searched, compared = (replace(each, bridged=bridged) for each in (searched, compare[place]))
        return helpful(compared, promising_layers(searched, others, COMPARED, LOOKS // len(targets)))

    useful = map_on_cpu(useful_of, places, data.device, after_each)
    tried = [list(dict.fromkeys(some[:size] for size in SIZES if some)) for some in useful]
    chosen = {}
    for each, panels, losses in zip(compare, tried, pooled_losses(data, compare, tried, after_each), strict=True):
        found = [each.estimate(losses[0] - loss) for loss in losses]
        clear = [estimate.gain if estimate.gain > estimate.error else 0.0 for estimate in found]
        chosen[each.target] = ((), *panels)[int(np.argmax(clear))]
    return Panels(chosen)


def comparison(data: TrainingData, place: int, seed: int, purpose: str) -> Comparison:
    """Return the comparison of other layers with a target.

    Each purpose has its own negatives: of many layers, some go with the negatives of the search by chance. Up to
    `MAX_EDGES` edges are the same, so that some layers may go with these by chance; `layer_gains_` does not use panels.
    """
    rng = stream(seed, purpose, int(data.targets[place]))
    return Comparison.of(data, data.train_view.graph, place, rng, most=MAX_EDGES, negatives_each=NEGATIVES)


def bridges_hold(compare: Comparison, layers: Ints, rng: np.random.Generator) -> bool:
    """Say whether bridges say nothing where they should not: in layers (m,) whose nodes are renamed at random.

    Where a target joins few nodes, bridges of any layer that has edges at these say something about the target itself.
    """
    some = layers[:: math.ceil(len(layers) / COMPARED)]
    found = compare.estimates_of(*compare.renamed(some, rng))
    return sum(each.gain > SEEM * each.error for each in found) <= BY_CHANCE


def helpful(compare: Comparison, layers: Ints) -> tuple[int, ...]:
    """Return those of some layers (m,) that help clearly alone and beside those before them, the best first."""
    without, added = compare.logits_with(layers)
    alone = compare.estimates_of(without, added)
    clear = [
        place for place, found in enumerate(alone) if found.edges >= FEWEST_EDGES and found.gain > CLEAR * found.error
    ]
    clear = sorted(clear, key=lambda place: -alone[place].gain)
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
        losses = [each.losses(plain[None], plain.shape[1])[0]]
        for pool in pools_of[place]:
            layer = torch.full_like(target, graph.num_plain + 1 + pools.index(pool))
            more = evidence.pool_columns(each.pairs, target, layer)
            losses.append(each.losses(torch.cat([plain, more], 1)[None], plain.shape[1])[0])
        return losses

    first = [losses_of(place) for place in range(min(1, len(compare)))]  # tables for all are made here
    after_each()
    return first + map_on_cpu(losses_of, range(1, len(compare)), data.device, after_each)
