"""A layer loss of your own: what the policy is told about a drawn layer. Here, how many pairs it gets wrong."""

import torch

import banditplex as bx
from banditplex.nn.relevance import Relevance
from banditplex.testing import check_relevance


def mistakes(batch):
    """Return the share of pairs on the wrong side of 0 with the layer's term: one number per comparison."""
    wrong = (torch.sign(batch.own + batch.other) != torch.sign(batch.label - 0.5)).float()
    return batch.mean(wrong, batch.pair_group)


relevance = Relevance(mistakes, needs={"logits"})  # what it reads; "embeddings" would need an encoder
check_relevance(relevance)  # one finite number >= 0 per comparison, whatever the order of pairs
print("The layer loss keeps its promises.")

mx = bx.load_dataset("twins")  # "a" has a near copy, "a-twin"
for each in ("predictive", relevance):  # the default, and ours
    model = bx.LinkPredictor(relevance=each, evidence="drawn", epochs=10, seed=0).fit(mx, targets=["a"])
    drawn = model.layer_probabilities_.loc["a"].sort_values(ascending=False)
    print(getattr(each, "name", each), drawn.head(3).round(2).to_dict())
    assert drawn.index[0] == "a-twin"
