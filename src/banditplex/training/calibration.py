"""From logits to probabilities: one temperature, fitted on validation pairs."""

import torch
import torch.nn.functional as F
from torch import Tensor


def best_temperature(logit: Tensor, label: Tensor) -> float:
    """Return the temperature T > 0 for which the link loss of sigmoid(logit / T) is least.

    Temperatures from 1/8 to 8 in steps of a sixteenth of an octave are tried at once.
    """
    temperature = 2 ** torch.linspace(-3, 3, 97, dtype=torch.float64)
    scaled = logit.cpu().double() / temperature.unsqueeze(1)
    loss = F.binary_cross_entropy_with_logits(
        scaled, label.cpu().double().expand_as(scaled), reduction="none"
    ).mean(1)  # fmt: skip
    return float(temperature[loss.argmin()])
