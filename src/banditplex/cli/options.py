"""Options of the model, the same wherever one is trained; the library has the defaults, and checks what is given."""

from typing import Annotated, Any

import typer

_LAYERS, _TRAINING = "Which layers are looked at", "Training"
POLICIES = (
    "default", "hinted", "exp3+", "exp3", "exp3-ix", "tsallis-inf", "epsilon-greedy", "adahedge", "cost-aware",
    "uniform", "fixed", "all", "none",
)  # fmt: skip
RELEVANCES = ("predictive", "euclidean", "cosine")


def _setting(*flags: str, default: object, help: str, panel: str = _TRAINING, metavar: str | None = None) -> Any:
    """Return an option for a setting of the library, whose default it shows, but does not set."""
    return typer.Option(*flags, help=help, metavar=metavar, show_default=str(default), rich_help_panel=panel)


Target = Annotated[
    list[str] | None,
    typer.Option(metavar="LAYER", help="Predict links in this layer; several are allowed.", show_default="all"),
]
Policy = Annotated[str | None, _setting(default="default", help=f"Who decides: {', '.join(POLICIES)}.", panel=_LAYERS)]
K = Annotated[int | None, _setting("-k", default=1, help="Layers drawn per round.", panel=_LAYERS)]
Hide = Annotated[
    str | None,
    _setting(
        metavar="edge|layer|pair",
        default="edge",
        help="Hidden of a pair, edge: its own; layer: its reverse arc, too; pair: all edges, in every layer.",
        panel=_LAYERS,
    ),
]
Union = Annotated[
    bool | None,
    _setting(
        "--union/--no-union", default="no-union", help="The union of all layers can be drawn, too.", panel=_LAYERS
    ),
]
StepsPerDraw = Annotated[
    int | None, _setting(default=1, help="Steps of a target that use the same drawn layers.", panel=_LAYERS)
]
Relevance = Annotated[
    str | None, _setting(default="predictive", help=f"Layer loss: {', '.join(RELEVANCES)}.", panel=_LAYERS)
]
Layers = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME,..", help="Look at these, always (--policy fixed).", rich_help_panel=_LAYERS),
]
Price = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LAYER=NUMBER",
        help="What a layer costs (--policy cost-aware); several are allowed, others cost 1.",
        show_default="its edges",
        rich_help_panel=_LAYERS,
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Another option of the policy; several are allowed.", rich_help_panel=_LAYERS
    ),
]
Epochs = Annotated[int | None, _setting(default=100, help="Epochs at most.")]
Warmup = Annotated[int | None, _setting(default=3, help="First epochs, at most a quarter: even draws.")]
Patience = Annotated[int | None, _setting(default=20, help="Epochs without a better validation loss.")]
BatchSize = Annotated[int | None, _setting(default=64, help="Pairs per target and step.")]
LearningRate = Annotated[float | None, _setting(default=0.01, help="Step size at the start.")]
Validation = Annotated[float | None, _setting(default=0.1, help="Share of edges kept for validation.")]
Conv = Annotated[str | None, _setting(default="sage", help="Convolution: sage, gcn.")]
Width = Annotated[int | None, _setting(default=16, help="Of node embeddings; 0 = structural features only.")]
Depth = Annotated[int | None, _setting(default=2, help="Number of convolutions.")]
Seed = Annotated[int | None, _setting(default=0, help="Seed of every random stream.")]
Device = Annotated[str | None, _setting(default="auto", help="auto, cpu, cuda, ...")]
