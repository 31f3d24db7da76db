"""A leaderboard: what was compared, under which conditions, and what was found, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from banditplex.leaderboard.device import on_cuda
from banditplex.leaderboard.facts import Facts
from banditplex.leaderboard.lines import PLANNED, Line, headline
from banditplex.leaderboard.measure import EARLY, OURS_EARLY
from banditplex.leaderboard.parts import RANKED, SHARE
from banditplex.leaderboard.plan import Plan
from banditplex.leaderboard.tables import HEADS
from banditplex.leaderboard.verdict import saturation, verdict
from banditplex.multiplex import Name
from banditplex.storage.rows import Row

FIXED = {
    "drop": "without pairs that leak: that are training edges in either direction, or are listed twice",
    "keep": "with all its pairs, also those that leak, as in print",
    "triples": "as in print: single edges are held out, and their reverse edges may be seen (hide=edge)",
}


@dataclass(frozen=True)
class Leaderboard:
    """All that there is to show: the data, the conditions, lines per method, per layer and method, and per seed."""

    name: str
    facts: Facts
    plan: Plan
    lines: Sequence[Line] = ()
    layers: Mapping[Name, Sequence[Line]] = field(default_factory=dict)
    tests: Sequence[Row] = ()  # means over layers, of each method with each seed
    fixed: str | None = None  # of a split that came with the data, what became of leaks, "drop" or "keep"; or "triples"
    device: str = "cpu"  # in words

    @property
    def conditions(self) -> list[str]:
        """How methods were fitted and tested, in sentences."""
        plan, hidden = self.plan, {"layer": "its own layer", "pair": "every layer"}[self.plan.hide]
        where = f"A held-out pair is hidden in {hidden} (hide={plan.hide})."
        if self.fixed == "keep":
            where = "Reverse edges of test pairs may be seen, as in print (hide=edge in a directed graph)."
        share, seeds = f"{100 * SHARE:.0f} %", "1 seed" if self.plan.seeds == 1 else f"{self.plan.seeds} seeds"
        split = f"{seeds}, each with its own split: {share} of the edges are held out, beside as many random pairs."
        tuning = "Methods have their default settings, without tuning."
        if plan.trials > 1:
            edges = "validation edges" if self.fixed else f"validation edges ({share} of the training edges)"
            by = "filtered MRR" if self.fixed == "triples" else "ROC-AUC"
            tuning = (
                f"Each method may try {plan.trials} settings per seed, its defaults first; {by} on {edges} decides."
            )
        on_gpu = on_cuda(plan.device)
        time, memory = "wall-clock" if on_gpu else "processor", " of main and GPU memory together" if on_gpu else ""
        limits = [f"Methods that can use a GPU run on {self.device}."] if on_gpu else []
        limits += [
            f"A fit may take {plan.budget:g} s of {time} time and {plan.memory:g} GB{memory}; methods that learn in "
            f"epochs stop after {100 * EARLY:.0f} % of this time (ours: {100 * OURS_EARLY:.0f} %), with what they have "
            "learnt."
        ]
        if plan.seeds > 1:
            limits += ["A method that exceeds a limit with the first seed is not tried with the others."]
        return [
            f"{seeds}, on the split that comes with the data, {FIXED[self.fixed]}." if self.fixed else split,
            *([where] if self.fixed != "triples" else []),
            tuning,
            *limits,
        ]

    @property
    def legend(self) -> list[str]:
        """What the columns mean, in sentences."""
        text = ["Means over layers, then over seeds, ± the standard deviation over seeds."]
        text += [f"Methods are sorted by {HEADS[headline(self.lines)]}."]
        saturated = saturation(self.lines)
        text += [saturated] if saturated else []
        names = "Accuracy and F1" if self.fixed else "Accuracy"
        text += [f"{names}: in each layer as many pairs are predicted edges as are edges, or more if scores are tied."]
        if self.fixed:
            text += ["AP@50: average precision of the 50 pairs with the highest scores. Medians are over layers."]
        if any("random_mrr" in line.mean for line in self.lines):
            text += [
                f"MRR and Hits@10: at most about {RANKED} held-out edges are ranked, each among up to 100 pairs, at "
                "random or hard ones, which look like links."
            ]
        if any("filtered_mrr" in line.mean for line in self.lines):
            text += [
                "Filtered MRR and Hits: both ends of every test edge are ranked among all nodes, without those that "
                "make another known edge; means over edges, as in print."
            ]
        time = "wall-clock" if on_cuda(self.plan.device) else "processor"
        text += [f"Seconds: {time} time of training, MB: peak memory beyond that of an idle process; medians."]
        references = {each.to for line in self.lines for each in line.difference.values()}
        if references:
            text += [
                f"Differences to {references.pop()} on the same splits, ± the standard error of Nadeau and Bengio, "
                f"which allows for training sets that overlap; p is that of their t-test over seeds. p of {PLANNED}, "
                "the one planned comparison, stands alone; the others are adjusted for their number (Holm)."
            ]
        return text

    @property
    def verdict(self) -> str | None:
        """Does our learner help here, in one sentence."""
        return verdict(self.lines)
