"""NeuralSort: sorting as a differentiable function."""

import torch
from torch import Tensor


def neural_sort(scores: Tensor, temperature: float) -> Tensor:
    """Return relaxed permutation matrices (..., n, n) that sort scores (..., n) in descending order.

    Row i is softmax(((n + 1 - 2 i) s - A 1) / temperature), i = 1, ..., n, with A_jk = |s_j - s_k| (Grover et al., ICLR
    2019). Rows sum to 1; as the temperature goes to 0, row i becomes the indicator of the i-th largest score.

    >>> neural_sort(torch.tensor([1.0, 3.0, 2.0]), 0.01).round().int().tolist()
    [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    """
    size = scores.shape[-1]
    spread = (scores.unsqueeze(-1) - scores.unsqueeze(-2)).abs().sum(-1)
    factor = size + 1 - 2 * torch.arange(1, size + 1, device=scores.device, dtype=scores.dtype)
    return torch.softmax((factor.unsqueeze(-1) * scores.unsqueeze(-2) - spread.unsqueeze(-2)) / temperature, -1)
