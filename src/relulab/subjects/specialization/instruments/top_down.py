"""Top-down matrices V_l, A_l, B_l: how the output depends on layer l at a point (SS definition 2)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import activations, applied, fitted, points
from relulab.nets.mlp import MLP, as_mlp, check_points


class Layer(NamedTuple):
    """A layer at N points: activations with the 1 of the bias unit, gates, and V with f_L = V_l f_l."""

    f: Float[Tensor, "lane N n1"]
    D: Float[Tensor, "lane N n1"]
    V: Float[Tensor, "lane N C n1"]


def augmented(net: MLP, l: int) -> Float[Tensor, "lane n1 k1"]:
    """Return W_l with the biases as last row and, below the top layer, a last column that passes on the 1.

    Args:
        net: The networks.
        l: Number of the layer of weights, from 0.
    """
    W = torch.cat([net.W[l].data, net.b[l].data], 1)
    if l + 1 == net.depth:
        return W
    one = W.new_zeros(net.lanes, W.shape[1], 1)
    one[:, -1] = 1
    return torch.cat([W, one], 2)


def top_down_layers(net: MLP, x: Float[Tensor, "*lane N d"]) -> list[Layer]:
    r"""Compute layers 1 … L at the points x by the recursion V_L = I, V_{l−1} = V_l D_l W_lᵀ (SS eq. 3).

    D_l is 1 where the input of a unit is > 0 and the leaky slope elsewhere, like the derivative in PyTorch. In the
    paper it is 1 at 0 too, which differs only at the kink. Memory grows as N · C · n_l.

    Args:
        net: The networks.
        x: Points, (N, d) or (lane, N, d).
    """
    check_points(net, x)
    below = x.expand(net.lanes, *x.shape[-2:])
    one = below.new_ones(*below.shape[:2], 1)
    f, D = [], []
    for W, b in zip(net.W[:-1], net.b[:-1], strict=True):
        z = torch.baddbmm(b.data, below, W.data)
        gate = torch.where(z > 0, z.new_ones(()), z.new_tensor(net.slope))
        below = gate * z
        f.append(torch.cat([below, one], -1))
        D.append(torch.cat([gate, one], -1))
    f.append(torch.baddbmm(net.b[-1].data, below, net.W[-1].data))
    D.append(torch.ones_like(f[-1]))
    V = [torch.eye(net.widths[-1], dtype=net.dtype, device=below.device).expand(*f[-1].shape[:2], -1, -1)]
    for l in range(net.depth - 1, 0, -1):
        V.append((V[-1] * D[l].unsqueeze(-2)) @ augmented(net, l).mT.unsqueeze(1))
    return [Layer(*layer) for layer in zip(f, D, reversed(V), strict=True)]


@instrument(source="SS definition 2", ids=("SS.L1", "LM.T1"))
def top_down(net: nn.Module, x: Tensor) -> dict[str, Float[Tensor, "*lane N C n"]]:
    r"""Compute V_l(x) = ∂f_L/∂f_l for every hidden layer, without the column of the bias unit.

    An ``MLP`` uses the recursion of SS eq. 3. Other modules use automatic differentiation with respect to the output of
    each ReLU.

    Args:
        net: An ``MLP``, or any module with ReLU modules and outputs (N, C).
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d).

    Returns:
        For each hidden layer, by name, V_l at every point: (lane, N, C, n) for an ``MLP``, and (N, C, n) otherwise,
        where n counts all entries of the activation.

    >>> top_down(MLP((3, 4, 2)), torch.zeros(5, 3))["1"].shape
    torch.Size([1, 5, 2, 4])
    """
    x = points(x)
    if isinstance(net, MLP):
        with torch.no_grad():
            layers = top_down_layers(as_mlp(net), x.to(net.dtype))
            return {str(l): layer.V[..., :-1] for l, layer in enumerate(layers[:-1], 1)}
    with torch.enable_grad(), activations(net) as outputs:
        # The input requires a gradient too, so that modules with frozen weights can be differentiated.
        given = fitted(net, x).detach()
        y = applied(net, given.requires_grad_(given.is_floating_point()))
        if y.dim() != 2:
            raise UserError(
                f"expected module outputs of shape (samples, outputs), got {tuple(y.shape)}: flatten them in the module"
            )
        f = list(outputs.values())
        rows = [torch.autograd.grad(y[:, c].sum(), f, retain_graph=True, allow_unused=True) for c in range(y.shape[1])]
    V = {}
    for name, *columns in zip(outputs, f, *rows, strict=True):
        f_l, grads = columns[0], columns[1:]
        V[name] = torch.stack([(torch.zeros_like(f_l) if g is None else g).flatten(1) for g in grads], 1).detach()
    return V


@instrument(source="SS definition 2", ids=("SS.L1", "LM.T1"))
def modulation(
    V: Float[Tensor, "*lane N C n"], V_star: Float[Tensor, "*lane N C m"]
) -> tuple[Float[Tensor, "*lane N n m"], Float[Tensor, "*lane N n n"]]:
    """Compute A_l(x) = V_lᵀ V*_l and B_l(x) = V_lᵀ V_l, the weights of teacher and student nodes in the gradient.

    Args:
        V: V_l of the student at N points, (…, N, C, n), as returned by ``top_down``.
        V_star: V*_l of the teacher at the same points, (…, N, C, m).

    Returns:
        A_l, (…, N, n, m), and B_l, (…, N, n, n).

    >>> V = torch.tensor([[[1.0, 2.0]]])
    >>> [t.tolist() for t in modulation(V, torch.tensor([[[3.0]]]))]
    [[[[3.0], [6.0]]], [[[1.0, 2.0], [2.0, 4.0]]]]
    """
    return V.mT @ V_star, V.mT @ V
