"""The ways to predict with a model, whichever policy it was trained with: columns of the comparison of policies."""

from banditplex.predictor import LinkPredictor
from experiments.policy_scores import Score, drawn_in_training, validated_layers, with_one

PREDICTED, ONE, MEAN, VALIDATED = "most probable layers", "one layer", "mean of draws", "validated layer"
WAYS = (PREDICTED, ONE, MEAN, VALIDATED)
DRAWS = 32


def ways_to_score(model: LinkPredictor) -> dict[str, Score]:
    """Return the ways to predict with a fitted model, by name.

    `PREDICTED` is what `score_pairs` does. If k = "auto", `ONE` is with the most probable layer alone. `MEAN` is the
    mean over `DRAWS` draws, and `VALIDATED` with the layer of `validated_layers`. Ways that could not differ from
    `PREDICTED`, or use a layer that training never draws, are left out.
    """
    names, trainer = model.multiplex_.node_names, model._trainer
    ways: dict[str, Score] = {PREDICTED: lambda pairs, layer: model.score_pairs(names[pairs], layer)}
    policy = trainer.policy
    if policy is not None and policy.takes_k:
        if trainer.config.chooses_k:
            ways[ONE] = with_one(model, trainer.most_probable_layers(1)[:, 0])
        ways[MEAN] = lambda pairs, layer: model.score_pairs(names[pairs], layer, draws=DRAWS)
    if policy is not None and drawn_in_training(trainer).sum(1).max() > 1:
        ways[VALIDATED] = with_one(model, validated_layers(model))
    return ways
