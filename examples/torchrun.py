"""Several processes train one model.

    torchrun --nproc-per-node 2 examples/torchrun.py

Target layers are divided over the processes. The result is that of one process: python examples/torchrun.py
"""

import banditplex as bx
from banditplex.training.distributed import joined

mx = bx.load_dataset("twins")  # eight layers, all of them targets
with joined() as group:
    model = bx.LinkPredictor(epochs=6, seed=0).fit(mx)
    if group.is_writer:  # the first process prints and writes
        last = model.history_.groupby("epoch")[["train_loss", "validation_loss"]].mean().iloc[-1]
        helps = model.layer_gains_.query("helps")
        print(f"{group.size} processes" if group.size > 1 else "one process")
        print(last.round(3).to_string())
        print(
            *(f"{layer} helps {target}" for target, layer in zip(helps["target"], helps["layer"], strict=True)),
            sep="\n",
        )
        model.save("run")
        assert len(helps) == 6
