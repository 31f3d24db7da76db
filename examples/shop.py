"""A shop with two kinds of nodes: which customers will buy which products, and what helps to predict it."""

import numpy as np
import pandas as pd

import banditplex as bx

# Made-up events. Customers and products both have the ids 1, 2, 3, ...; tastes come in four kinds.
rng = np.random.default_rng(0)
customers, products = rng.integers(0, 4, 60), rng.integers(0, 4, 40)
taste = np.where(customers[:, None] == products, 0.3, 0.04)
views = rng.random(taste.shape) < taste
events = {
    "view": views,
    "cart": views & (rng.random(taste.shape) < 0.6),
    "purchase": views & (rng.random(taste.shape) < 0.5),
    "mailing": rng.random(taste.shape) < 0.06,  # sent at random
}
table = pd.concat(
    pd.DataFrame(np.argwhere(seen) + 1, columns=["customer", "product"]).assign(event=event)
    for event, seen in events.items()
)
print(table.sample(4, random_state=0).to_string(index=False), "\n")

# bipartite: customer 7 and product 7 are two nodes, and only a customer and a product can be linked.
roles = {"source": "customer", "destination": "product", "layer": "event"}
mx = bx.Multiplex.from_pandas(table, **roles, bipartite=True)
print(mx.summary(), "\n")

model = bx.LinkPredictor(epochs=10, seed=0).fit(mx, targets=["purchase"])
print(model.layer_gains_.round(3).to_string(index=False), "\n")

new = model.recommend("purchase", top=8)
print("Most likely new purchases:")
print(new.round(2).to_string(index=False), "\n")
print("What the first of them may buy:")
print(model.recommend("purchase", node=new["source"][0], top=3).round(2).to_string(index=False))

assert new["source"].str.startswith("customer/").all()
assert new["destination"].str.startswith("product/").all()
helps = model.layer_gains_.query("helps")["layer"].tolist()
assert "view" in helps
assert "mailing" not in helps
