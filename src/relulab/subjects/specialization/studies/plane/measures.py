"""What is measured of nodes in the plane."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.tools.nodes import Nodes


def hidden(net: MLP) -> Nodes:
    """The hidden nodes of every lane of a two-layer network, in float64.

    Args:
        net: the networks.
    """
    return Nodes(net.W[0].data.mT.double(), net.b[0].data[:, 0].double())


@torch.no_grad()
def share(net: MLP, x: Float[Tensor, "lane N d"], chosen: Bool[Tensor, "lane n"]) -> Float[Tensor, " lane"]:
    """Σ_c Var_x[Σ_{k chosen} v_kc f_k(x)] / Σ_c Var_x[f_c(x)]: the chosen nodes' share of the output's variance.

    Args:
        net: two-layer networks.
        x: points of every lane.
        chosen: which hidden nodes count.
    """
    f_1 = net.layers(x)[0]
    f_1, V = (f_1 - f_1.mean(1, keepdim=True)).double(), net.W[1].double()
    # Σ_c Var[Σ_k v_kc f_k] = Σ_kl Cov[f_k, f_l] v_kᵀv_l, which never forms the outputs
    terms = (f_1.mT @ f_1) * (V @ V.mT)
    both = chosen.unsqueeze(1) & chosen.unsqueeze(2)
    return (terms * both).sum((1, 2)) / terms.sum((1, 2))
