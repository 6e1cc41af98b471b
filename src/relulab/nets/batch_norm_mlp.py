"""Fully connected ReLU networks with BatchNorm before or after the ReLU, many of one shape at once (lanes)."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.lane_batch_norm import LaneBatchNorm
from relulab.nets.mlp import MLP, check_points
from relulab.nets.plain_layers import IDLE, batch_norm_map, flat_parts, linear_module, scaled_inputs, scaled_outputs

Order = Literal["after", "before"]


class BatchNormMLP(MLP):
    r"""Fully connected networks with BatchNorm in every hidden layer, one network per lane.

    BatchNorm is f ↦ c_0 (f − μ)/√(σ² + ε) + c_1 for every node, with trained c_0 and c_1. In train mode, μ and σ² are
    the mean and variance over the batch of the lane; in eval mode, running averages of them are used, as in PyTorch.
    Weights are stored as in ``MLP``, and BatchNorm in ``norms``, one ``LaneBatchNorm`` per hidden layer. ``layers``
    returns the activations after the ReLU.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        order: "after" for Linear → ReLU → BatchNorm, as in the experiments of LM, or "before" for Linear → BatchNorm →
            ReLU (LM figure 15).
        lanes: Number of networks.
        bias: Whether the linear layers have biases.
        slope: Slope of the leaky ReLU for negative inputs, from 0 (plain ReLU) to below 1.
        dtype: Data type of the parameters.

    >>> net = BatchNormMLP((3, 5, 2), lanes=4)
    >>> net(torch.randn(7, 3)).shape
    torch.Size([4, 7, 2])
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        order: Order = "after",
        lanes: int = 1,
        bias: bool = True,
        slope: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__(widths, lanes=lanes, bias=bias, slope=slope, dtype=dtype)
        self.order = order
        self.norms = nn.ModuleList(LaneBatchNorm(lanes, n, dtype=dtype) for n in self.widths[1:-1])

    def layers(self, x: Float[Tensor, "*lane N d"]) -> list[Float[Tensor, "lane N n"]]:
        """Return the activations [f_1, …, f_{L−1}] after the ReLU, and the output f_L.

        Args:
            x: Points, (N, d) for all lanes, or (lane, N, d). In train mode there must be at least two.
        """
        check_points(self, x)
        if self.training and x.shape[-2] < 2 and self.depth > 1:
            raise UserError(
                "expected at least two points per batch for BatchNorm in train mode, got 1: use a larger batch, or "
                "net.eval()"
            )
        below, f = x.expand(self.lanes, *x.shape[-2:]), []
        for W, b, norm in zip(self.W, self.b, self.norms, strict=False):
            z = torch.baddbmm(b, below, W)
            f.append(nn.functional.leaky_relu(norm(z) if self.order == "before" else z, self.slope))
            below = norm(f[-1]) if self.order == "after" else f[-1]
        return [*f, torch.baddbmm(self.b[-1], below, self.W[-1])]

    def lane(self, i: int) -> "BatchNormMLP":
        """Return lane ``i`` as a network with one lane that shares its memory.

        Args:
            i: Index of the lane.
        """
        net = super().lane(i)
        assert isinstance(net, BatchNormMLP)
        net.norms = nn.ModuleList(norm.lane(self._index(i)) for norm in self._norms())
        return net

    def module(self, i: int = 0) -> nn.Sequential:
        """Return lane ``i`` as a plain ``nn.Sequential`` with ``nn.BatchNorm1d`` and a copy of the weights.

        Args:
            i: Index of the lane.
        """
        i, parts = self._index(i), list[nn.Module]()
        for l, (W, b) in enumerate(zip(self.W, self.b, strict=True)):
            parts.append(linear_module((W.data[i].T, b.data[i, 0] if self.bias else None)))
            if l < len(self.norms):
                relu = nn.LeakyReLU(self.slope) if self.slope else nn.ReLU()
                norm = self._norms()[l].module(i)
                parts += [relu, norm] if self.order == "after" else [norm, relu]
        return nn.Sequential(*parts).train(self.training)

    def folded(self) -> MLP:
        """Return the networks without BatchNorm that compute the same in eval mode.

        BatchNorm with its running averages is an affine map of every node. It becomes part of the weights of the layer
        before it ("before") or after it ("after").
        """
        if type(self).forward is not MLP.forward or type(self).layers is not BatchNormMLP.layers:
            raise UserError(
                f"expected a BatchNormMLP, got a {type(self).__name__} with its own forward or layers: use a "
                "BatchNormMLP, or a module that computes the same"
            )
        net = MLP(self.widths, lanes=self.lanes, slope=self.slope, dtype=self.dtype)
        for i in range(self.lanes):
            layers = [(W.data[i].T, b.data[i, 0]) for W, b in zip(self.W, self.b, strict=True)]
            for l, norm in enumerate(self._norms()):
                gain, shift, mean, variance = (p.data[i, 0] for p in (norm.gain, norm.shift, norm.mean, norm.variance))
                s, t = batch_norm_map(gain, shift, mean, variance, norm.epsilon)
                if self.order == "before":
                    layers[l] = scaled_outputs(layers[l], s, t)
                else:
                    layers[l + 1] = scaled_inputs(layers[l + 1], s, t)
            for l, (W, b) in enumerate(layers):
                net.W[l].data[i], net.b[l].data[i, 0] = W.T, b if b is not None else 0.0
        return net

    @classmethod
    def of(cls, *modules: nn.Module) -> "BatchNormMLP":
        """Combine plain networks with ``nn.BatchNorm1d`` in every hidden layer into one network, one per lane.

        Args:
            modules: ``nn.Sequential`` modules of Linear, ReLU and BatchNorm1d, all of one shape.
        """
        found = [_parts(module) for module in modules]
        shapes = {
            (order, slope, *(linear.weight.shape for linear in linears), *(norm.eps for norm in norms))
            for linears, norms, order, slope in found
        }
        if len(shapes) != 1:
            raise _unlike(f"{len(shapes)} different shapes, orders or slopes in {len(modules)} modules")
        linears, _, order, slope = found[0]
        widths = (linears[0].in_features, *(linear.out_features for linear in linears))
        bias = any(linear.bias is not None for linears, *_ in found for linear in linears)
        net = cls(widths, order=order, lanes=len(modules), bias=bias, slope=slope, dtype=linears[0].weight.dtype)
        for i, (linears, norms, _, _) in enumerate(found):
            for l, linear in enumerate(linears):
                net.W[l].data[i] = linear.weight.data.T
                if linear.bias is not None:
                    net.b[l].data[i, 0] = linear.bias.data
            for ours, theirs in zip(net._norms(), norms, strict=True):
                ours.epsilon, ours.momentum = theirs.eps, 0.1 if theirs.momentum is None else theirs.momentum
                ours.set_lane(i, theirs)
        return net

    def _norms(self) -> list[LaneBatchNorm]:
        return [norm for norm in self.norms if isinstance(norm, LaneBatchNorm)]


def _parts(module: nn.Module) -> tuple[list[nn.Linear], list[nn.BatchNorm1d], Order, float]:
    """Return the linear layers and BatchNorms of a plain network, their order, and the slope of its ReLUs."""
    parts = [part for part in flat_parts(module) if not isinstance(part, IDLE)]
    linears = [part for part in parts if isinstance(part, nn.Linear)]
    norms = [part for part in parts if isinstance(part, nn.BatchNorm1d)]
    relus = [part for part in parts if isinstance(part, nn.ReLU | nn.LeakyReLU)]
    slopes = {relu.negative_slope if isinstance(relu, nn.LeakyReLU) else 0.0 for relu in relus}
    order: Order = "after" if len(parts) > 1 and parts[1] in relus else "before"
    middle = zip(relus, norms, strict=False) if order == "after" else zip(norms, relus, strict=False)
    expected = [p for linear, pair in zip(linears, middle, strict=False) for p in (linear, *pair)] + linears[-1:]
    if len(expected) != len(parts) or any(a is not b for a, b in zip(parts, expected, strict=True)) or len(slopes) != 1:
        raise _unlike("-".join(type(part).__name__ for part in parts) or "nothing")
    if any(norm.running_mean is None for norm in norms):
        raise _unlike("a BatchNorm1d without running statistics")
    return linears, norms, order, slopes.pop()


def _unlike(given: str) -> UserError:
    return UserError(
        f"expected networks of one shape with a ReLU and a BatchNorm1d in every hidden layer, got {given}: use "
        "rl.MLP.of, which includes BatchNorm in the weights"
    )
