"""The gradient of a step, whichever way a trainer computes it."""

import torch
import torch.nn.functional as F


def gradients(trainer, batch, logits):
    """Return the gradients of the weights, of a batch that has been scored."""
    if logits.found is not None:  # as `Learning` does
        trainer.optimizer.clear()
        gradient = trainer.optimizer.gradient_of(trainer.model)
        logits.found.add_loss_gradient(batch.label, batch.count, gradient.weights())
        return [each.detach().clone() for each in gradient.parameters()]
    loss = batch.mean(F.binary_cross_entropy_with_logits(logits.total, batch.label, reduction="none"))
    weights = [*trainer.model.parameters()]
    return [*torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)]
