"""The paper's open problems, measured: `python -m banditplex.experiments.open_problems`."""
