"""A policy of your own: softmax of mean losses (Boltzmann exploration), registered, checked and used in training."""

import numpy as np

import banditplex as bx
from banditplex.bandits import Policy, register
from banditplex.bandits.hedge import exponential_weights
from banditplex.testing import check_policy


@register("softmax")
class Softmax(Policy):
    """Draws layers by a softmax of their mean losses, divided by the range of the means: no scale to tune."""

    def __init__(self, *, num_arms, k=1, num_instances=1, greed=5.0):
        self.greed = greed
        start = {"total": 0.0, "count": 0.0}  # for each target and layer
        super().__init__(num_arms=num_arms, k=k, num_instances=num_instances, per_arm=start)

    def _marginals(self, rows):
        """Return the probabilities of the next draw, for some targets (rows) at once."""
        state = self._state
        mean = state.read("total", rows) / np.maximum(state.read("count", rows), 1)  # 0 if never drawn: try it
        spread = mean.max(axis=1) - mean.min(axis=1)
        eta = self.greed / np.where(spread > 0, spread, np.inf)
        return state.marginals(rows, exponential_weights(mean, eta, self.k, state.size(rows)))

    def _learn(self, rows, seen):
        """Take in the losses of the drawn layers."""
        self._state.add("total", seen.instance, seen.arm, seen.loss)
        self._state.add("count", seen.instance, seen.arm, np.ones_like(seen.loss))


check_policy("softmax")  # probabilities, draws, restored states, bad input, extreme losses
print("Softmax keeps the promises of a policy.")

mx = bx.load_dataset("twins")  # "a" has a near copy, "a-twin"
model = bx.LinkPredictor(policy="softmax", policy_options={"greed": 8.0}, evidence="drawn", epochs=10, seed=0)
model.fit(mx, targets=["a"])
drawn = model.layer_probabilities_.loc["a"].sort_values(ascending=False)
print(drawn.round(2).to_string())
assert drawn.index[0] == "a-twin"
