"""Settings of the regret experiment: constants only."""

PARTS = ("main", "held-out", "theorem", "free", "probabilities")

Sizes = dict[tuple[int, ...], int]

# The policies of the table: label -> registry name and options.
POLICIES = {
    "uniform": ("uniform", {}),
    "printed sign": ("exp3+", {"printed_sign": True}),
    "exp3+": ("exp3+", {}),
    "raw range": ("exp3+", {"raw_range": True}),
    "exp3": ("exp3", {}),
    "exp3-ix": ("exp3-ix", {}),
    "tsallis-inf": ("tsallis-inf", {}),
    "hinted": ("hinted", {}),
}
REFERENCE = "uniform"  # the policy whose regret is 1

RUNS, QUICK_RUNS = 200, 20  # games per cell and in the figure, unless the plan says otherwise

# Means of the environments.
BEST, OTHERS = 0.3, (0.5, 0.9)  # one good arm among others
SPREAD = (0.2, 1.0)
SHRINK_FINAL, SHRINK_INITIAL = (0.05, 0.8), (0.9, 1.1)
SHRINK_PACE = (0.05, 0.4)  # in parts of the horizon
PHASES, BAIT = 4, 0.1  # switch: phases, and what one arm has in each
LATE_PART, LATE_BEFORE, LATE_NEIGHBOUR = 0.2, 1.0, 0.5
PARETO_INDEX = 1.5
INTERNSHIP, INTERNSHIP_REST = (0.9, 0.1, 0.1, 0.05, 0.01), 0.05  # similarities of layers

# Means of the held-out environments.
DRIFT_LEGS = 10
CYCLE_LEVEL, CYCLE_HEIGHT, CYCLES = (0.4, 0.8), 0.3, 5
RARE_CHANCE = 0.02
SELDOM_BEST, SELDOM_OTHERS = 0.02, (0.05, 0.2)
CROWD = (0.3, 0.32)
SWING = 0.2

# Free observations, layers as moving points.
FREE_POLICIES = {
    "uniform": ("uniform", "own draws"),
    "exp3+": ("exp3+", "own draws"),
    "own draws": ("hinted", "own draws"),
    "advisory": ("hinted", "advisory"),
    "probabilities": ("hinted", "probabilities"),
}
FREE_DIMENSION, FREE_PACE, FREE_NOISE = 8, 0.1, 0.1  # pace in parts of the number of steps

# Theorem 1: constant losses and the number of rounds.
COUNTER_EXAMPLES = {
    "36 arms, .3 against .7": ((0.3, *(0.7,) * 35), 10_000),
    "2 arms, 5 against 5.1": ((5.0, 5.1), 1_000),
}
COUNTER_RUNS = 20
QUICK_COUNTER_EXAMPLES = ("2 arms, 5 against 5.1",)

# The plan: table -> (arms, rounds) -> runs; for free: (layers, targets per step, k, rounds per layer) -> runs.
PLAN: dict[str, Sizes] = {
    "main": {
        (2, 50): 200, (2, 1000): 100, (5, 50): 200, (5, 200): 200, (36, 50): 200, (36, 200): 200, (36, 1000): 100,
        (363, 200): 40, (1000, 1000): 10,
    },
    "held-out": {(5, 200): 200, (36, 200): 200, (363, 1000): 20},
    "bound": {(5, 200): 200, (36, 200): 200},
    "free": {(6, 3, 1, 50): 200, (37, 4, 1, 200): 20, (37, 37, 1, 50): 20, (364, 16, 1, 50): 2, (364, 16, 4, 50): 2},
}  # fmt: skip
QUICK_PLAN: dict[str, Sizes] = {
    "main": {(2, 20): 5, (5, 50): 10},
    "held-out": {(5, 20): 5},
    "bound": {(5, 50): 5},
    "free": {(6, 3, 1, 10): 5},
}
DETAILED = ((5, 200), (36, 200))  # sizes whose environments are listed one by one; all sizes if none is run

# The figure of probabilities: environment, arms, rounds.
FIGURE_GAMES = (("intern", 5, 200), ("stoch", 36, 1000))
QUICK_FIGURE_GAMES = (("intern", 5, 20),)
FIGURE_POLICIES = ("printed sign", "exp3+", "raw range", "hinted")
