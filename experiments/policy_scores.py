"""The ways to predict with a model, whichever policy it was trained with.

A policy that never prefers a layer, such as `uniform`, has no most probable layer: predicting with one at random would
make it look worse than it is. So a comparison shows every policy with its most probable layers, with the mean over
draws, and with the single layer that is best on validation edges.
"""

from collections.abc import Collection

from banditplex.policy_scores import Score, drawn_in_training, validated_layers, with_one
from banditplex.predictor import LinkPredictor

PREDICTED, ONE, MEAN, VALIDATED = "most probable layers", "one layer", "mean of draws", "validated layer"
WAYS = (PREDICTED, ONE, MEAN, VALIDATED)
DRAWS = 32


def ways_to_score(model: LinkPredictor, wanted: Collection[str] = WAYS) -> dict[str, Score]:
    """Return the `wanted` ways to predict with a fitted model, by name.

    `PREDICTED` is what `score_pairs` does. If k = "auto", `ONE` is with the most probable layer alone. `MEAN` is the
    mean over `DRAWS` draws, and `VALIDATED` with the layer of `validated_layers`. Ways that could not differ from
    `PREDICTED`, or use a layer that training never draws, are left out.
    """
    names, trainer = model.multiplex_.node_names, model._trainer
    ways: dict[str, Score] = {PREDICTED: lambda pairs, layer: model.score_pairs(names[pairs], layer)}
    policy = trainer.policy
    if policy is not None and policy.takes_k:
        if trainer.config.chooses_k and ONE in wanted:
            ways[ONE] = with_one(model, trainer.most_probable_layers(1)[:, 0])
        ways[MEAN] = lambda pairs, layer: model.score_pairs(names[pairs], layer, draws=DRAWS)
    if policy is not None and VALIDATED in wanted and drawn_in_training(trainer).sum(1).max() > 1:
        ways[VALIDATED] = with_one(model, validated_layers(model))
    return {way: score for way, score in ways.items() if way in wanted}
