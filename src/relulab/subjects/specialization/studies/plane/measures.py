"""Measurements of nodes in the plane."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.nodes import Nodes


def hidden(net: MLP) -> Nodes:
    """Return the hidden nodes of every lane of a two-layer network, in float64.

    Args:
        net: The two-layer networks.
    """
    return Nodes(net.W[0].data.mT.double(), net.b[0].data[:, 0].double())


@torch.no_grad()
def share(net: MLP, x: Float[Tensor, "lane N d"], chosen: Bool[Tensor, "lane n"]) -> Float[Tensor, " lane"]:
    """Return the share of the output's variance due to some nodes, Σ_c Var[Σ_{k chosen} v_kc f_k] / Σ_c Var[f_c].

    Args:
        net: The two-layer networks.
        x: Points of every lane, (lane, N, d).
        chosen: Which hidden nodes to include, (lane, n).
    """
    f_1 = net.layers(x)[0]
    f_1, V = (f_1 - f_1.mean(1, keepdim=True)).double(), net.W[1].double()
    # Σ_c Var[Σ_k v_kc f_k] = Σ_kl Cov[f_k, f_l] v_kᵀv_l, so the outputs need not be computed.
    terms = (f_1.mT @ f_1) * (V @ V.mT)
    both = chosen.unsqueeze(1) & chosen.unsqueeze(2)
    return (terms * both).sum((1, 2)) / terms.sum((1, 2))
