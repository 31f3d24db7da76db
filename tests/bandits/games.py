"""Games with given arms, shared by tests: no random generator of a policy is involved."""

import numpy as np
from hypothesis import strategies as st

from banditplex.bandits import Draw, make_policy

UP_TO_TEN = st.floats(0, 10)


@st.composite
def loss_tables(draw, max_arms=6, rounds=15, losses=UP_TO_TEN):
    """Return arms (T,) to be drawn and losses (T, n); zeros and ties are likely."""
    n = draw(st.integers(2, max_arms))
    arms = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=rounds))
    level = losses | st.sampled_from([0.0, 0.5, 1.0])
    table = draw(st.lists(st.lists(level, min_size=n, max_size=n), min_size=len(arms), max_size=len(arms)))
    return np.array(arms), np.array(table)


def forced_probabilities(name, arms, losses, **options):
    """Return inclusion (T + 1, n) of a game of one play in which `arms` (T,) are drawn.

    An arm that is out of reach for any real draw gives way to the likeliest.
    """
    policy = make_policy(name, num_arms=losses.shape[1], **options)
    out = [policy.inclusion()[0]]
    for wanted, row in zip(np.asarray(arms).tolist(), losses, strict=True):
        arm = wanted if out[-1][wanted] > 1e-9 else int(out[-1].argmax())
        policy.update(Draw([0], [[arm]], [[out[-1][arm]]]), [[row[arm]]])
        out.append(policy.inclusion()[0])
    return np.array(out)
