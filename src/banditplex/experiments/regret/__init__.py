"""How much regret policies have on losses with known means: `python -m banditplex.experiments.regret`."""
