"""Which layers help to predict a layer's links, and which new links are likely: on a built-in data set, in seconds."""

import banditplex as bx
from banditplex.evaluation import roc_auc, split

mx = bx.load_dataset("twins")  # 200 nodes, 8 layers; "a" has a near copy, "a-twin"
print(mx.summary(), "\n")

model = bx.LinkPredictor(epochs=10, seed=0).fit(mx, targets=["a"])

gains = model.layer_gains_  # how far the log loss falls with each layer, with 95 % limits
print("Which layers help:", *gains.loc[gains["helps"], "layer"])
print(gains.head(3).round(3).to_string(index=False), "\n")

print("The most likely new links in layer a:")
print(model.recommend("a", top=5).round(3).to_string(index=False), "\n")

# How good is it? Hide a fifth of all edges, train without them, and ask for them.
parts = split(mx, hide="layer", seed=0)
tested = bx.LinkPredictor(epochs=10, seed=0).fit(parts.train, targets=["a"])
pairs, label = parts.test("a")  # node indices; models take node names
auc = roc_auc(label, tested.score_pairs(mx.node_names[pairs], layer="a"))
print(f"ROC-AUC of held-out edges: {auc:.2f}")

assert gains.loc[gains["helps"], "layer"].tolist() == ["a-twin"]
assert auc > 0.85
