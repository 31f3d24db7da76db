"""The default model, from top to bottom: all that `LinkPredictor.fit` learns, in the order in which it is learnt.

    1. panels        for each target, the layers that are pooled with it; if there are many, a bandit searches them
    2. networks      several, trained in turn, each without validation edges of its own; they see the target, its panel,
                     the union of all layers, and layers drawn by bandits, which go on learning from one to the next
    3. layers        the most probable ones of each target, as many as the validation edges ask for
    4. regression    for each target a logistic regression on the columns that the networks see; in a large multiplex,
                     which has one network, one regression for all targets; in a knowledge graph none
    5. vectors       of nodes and layers (ComplEx), learnt in folds; on a CPU, in a second thread beside the networks
    6. stacking      how much networks, regression and vectors count, from the validation edges
    7. calibration   from scores to probabilities, from the validation edges and a sample of unknown pairs
    8. fitted model  a value that answers; nothing is learnt in it

Networks that see drawn layers alone stay as in the paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from banditplex.arrays import Ints
from banditplex.multiplex import Multiplex, Name
from banditplex.nn.ensemble import joined, members_of
from banditplex.nn.panels import Panels
from banditplex.prediction import FittedModel
from banditplex.rng import stream
from banditplex.training.calibration import HeldOut, HeldOutPairs, fit
from banditplex.training.config import Config
from banditplex.training.data import count_examples
from banditplex.training.find import find_panels
from banditplex.training.loop import Trainer
from banditplex.training.members import Members, choose_layers, mean_of_networks, member_seed
from banditplex.training.rankings import Rankings
from banditplex.training.regression import fit_regressions, mean_of
from banditplex.training.setup import make_trainer
from banditplex.training.stacking import stack
from banditplex.training.targets import check_task
from banditplex.training.vectors import TargetVectors, VectorsInParts, vectors_begun

Find = Callable[[Multiplex, Ints, Config], Panels]
"""Returns the layers to pool with each target."""


class Learnt(NamedTuple):
    """A fitted model, and the scores that its probabilities were calibrated with; None without validation edges."""

    fitted: FittedModel
    held_out: HeldOut | None


def make_networks(mx: Multiplex, targets: Sequence[Name] | None, config: Config, find: Find = find_panels) -> Members:
    """Check the input, find panels, and return the networks to train."""
    chosen, config = check_task(mx, targets, config)
    panels = find(mx, chosen, config)

    def make(member: int) -> Trainer:
        own = replace(config, seed=member_seed(config.seed, member))
        return make_trainer(mx, chosen, own, panels=panels)

    return Members(make, config.num_members(count_examples(mx, chosen)))


def learn(networks: Members, after_epoch: Callable[[list[dict[str, Any]]], bool]) -> Learnt:
    """Train the networks, until all have finished or `after_epoch` says so, then learn what comes after them."""
    first = networks.trainers[0]
    configs = [replace(first.config, seed=member_seed(first.config.seed, each)) for each in range(networks.count)]
    with vectors_begun(first.data, configs) as vectors:
        while not networks.finished and not after_epoch(networks.run_epoch()):
            pass
        networks.finish()
        return complete(networks.trainers, vectors)


def complete(trainers: Sequence[Trainer], begun: VectorsInParts | None = None) -> Learnt:
    """Learn all that comes after the networks have been trained; of vectors, what is left if they have been `begun`."""
    every, config = [each.data for each in trainers], trainers[0].config
    # Layers, and what the mean of the networks says with them.
    used = choose_layers(trainers)
    mean = mean_of_networks(trainers, used)
    if not any(len(data.validation_edges) for data in every):
        return Learnt(mean, None)
    # Validation edges and unknown pairs, scored by each network on the graph that it was trained on.
    pairs = HeldOutPairs.draw(every, stream(config.seed, "calibration"))
    alone = [replace(mean, model=each.ema_model, source=each.data.train_view) for each in trainers]
    scores, regression, rankings = [pairs.score(alone)], None, None
    vectors = None if begun is None else begun.judged()
    of_vectors = [] if vectors is None else [TargetVectors(vectors, data) for data in every]
    if vectors is not None and vectors.ranked:
        rankings = Rankings.of(every[0], [alone[0], of_vectors[0]], vectors, stream(config.seed, "rankings"))
    elif config.stacks and (fits := fit_regressions(trainers, used)):
        regression = mean_of(fits)
        scores.append(pairs.score(fits))
    if of_vectors:
        scores.append(pairs.score(of_vectors))
    # Stacking, calibration, and all together.
    beside, held_out = stack(scores, regression, vectors, every, rankings)
    if begun is not None and beside is not None and beside.vectors is not None:  # they count
        begun.finish()
    model = joined(members_of(mean.model), beside)
    return Learnt(replace(mean, model=model, calibration=fit(*held_out)), held_out)
