"""BatchNorm of many networks at once: every lane is normalized over its own batch."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LaneBatchNorm(nn.Module):
    r"""BatchNorm f ↦ c_0 (f − μ)/√(σ² + ε) + c_1 for every node of every lane.

    In train mode, μ and σ² are the mean and the variance over the batch, and the running averages ``mean`` and
    ``variance`` move toward them by the factor ``momentum``; in eval mode, the running averages are used. All of this
    is as in ``nn.BatchNorm1d``, for each lane.

    Args:
        lanes: Number of networks.
        n: Number of nodes.
        dtype: Data type of the parameters.
        epsilon: ε, which is added to the variance.
        momentum: Weight of the new batch in the running averages.

    >>> LaneBatchNorm(2, 3)(torch.randn(2, 50, 3)).mean(1).abs().max() < 1e-6
    tensor(True)
    """

    mean: Tensor
    variance: Tensor

    def __init__(
        self,
        lanes: int,
        n: int,
        *,
        dtype: torch.dtype = torch.float32,
        epsilon: float = 1e-5,
        momentum: float = 0.1,
    ):
        super().__init__()
        self.epsilon, self.momentum = epsilon, momentum
        self.gain = nn.Parameter(torch.ones(lanes, 1, n, dtype=dtype))
        self.shift = nn.Parameter(torch.zeros(lanes, 1, n, dtype=dtype))
        self.register_buffer("mean", torch.zeros(lanes, 1, n, dtype=dtype))
        self.register_buffer("variance", torch.ones(lanes, 1, n, dtype=dtype))

    def forward(self, f: Float[Tensor, "lane N n"]) -> Float[Tensor, "lane N n"]:
        lanes, N, n = f.shape
        # All lanes side by side are one layer with lanes · n nodes, which PyTorch normalizes in one pass.
        rows = f[0] if lanes == 1 else f.transpose(0, 1).reshape(N, lanes * n)
        mean, variance, gain, shift = (s.view(-1) for s in (self.mean, self.variance, self.gain, self.shift))
        rows = nn.functional.batch_norm(rows, mean, variance, gain, shift, self.training, self.momentum, self.epsilon)
        return rows.view(N, lanes, n).transpose(0, 1)

    def lane(self, i: int) -> "LaneBatchNorm":
        """Return lane ``i`` as a module with one lane that shares its memory.

        Args:
            i: Index of the lane.
        """
        # On the meta device, since everything is replaced.
        with torch.device("meta"):
            norm = LaneBatchNorm(1, self.gain.shape[2], epsilon=self.epsilon, momentum=self.momentum)
        for name in ("gain", "shift"):
            p = getattr(self, name)
            setattr(norm, name, nn.Parameter(p.data[i : i + 1], requires_grad=p.requires_grad))
        norm.mean, norm.variance = self.mean[i : i + 1], self.variance[i : i + 1]
        return norm.train(self.training)

    def module(self, i: int = 0) -> nn.BatchNorm1d:
        """Return lane ``i`` as an ``nn.BatchNorm1d`` with a copy of its parameters and running averages.

        Args:
            i: Index of the lane.
        """
        norm = nn.BatchNorm1d(self.gain.shape[2], self.epsilon, self.momentum, dtype=self.gain.dtype)
        for theirs, ours in zip(self.pairs(norm), (self.gain, self.shift, self.mean, self.variance), strict=True):
            theirs.data.copy_(ours.data[i, 0])
        return norm

    def set_lane(self, i: int, norm: nn.BatchNorm1d) -> None:
        """Copy the parameters and running averages of an ``nn.BatchNorm1d`` into lane ``i``.

        Args:
            i: Index of the lane.
            norm: The module, with running averages.
        """
        for ours, theirs in zip((self.gain, self.shift, self.mean, self.variance), self.pairs(norm), strict=True):
            ours.data[i, 0] = theirs.data

    @staticmethod
    def pairs(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return c_0, c_1, μ and σ² of a module, ones and zeros where it has no parameters."""
        assert norm.running_mean is not None and norm.running_var is not None
        weight = torch.ones_like(norm.running_var) if norm.weight is None else norm.weight
        bias = torch.zeros_like(norm.running_mean) if norm.bias is None else norm.bias
        return weight, bias, norm.running_mean, norm.running_var
