"""The convolutional network of IB table 1, and the features of its layers."""

from collections import OrderedDict
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream

CONVOLUTIONS = ((32, 3, 1, 1), (32, 3, 1, 1), (32, 5, 2, 2), (64, 3, 1, 1), (64, 3, 1, 1), (64, 5, 2, 2))
"""Layers 1 to 6, conv(n, k, s, p): n kernels of size k × k, stride s, padding p."""
CONNECTED = (3136, 128, 1)
"""Layers 7 and 8, fc(3136, 128) and fc(128, 1)."""
LAYERS = len(CONVOLUTIONS) + 1
"""Number of layers with a ReLU."""
MACS = 28_725_888
"""Number of multiplications in the forward pass of one image."""


def digit_net(seed: int, *, scale: float = 0.05, root: int = 0) -> nn.Sequential:
    """Create the network of IB table 1: six convolutions and two fully connected layers for images of 28 × 28 pixels.

    The output is one logit. Weights and biases are drawn from U[−1/√n, 1/√n] with the fan-in n, PyTorch's default; then
    the weights, but not the biases, of the two fully connected layers are multiplied by ``scale``. ReLUs are modules,
    so that hooks can be attached to them.

    Args:
        seed: Seed of the initial weights.
        scale: Factor of the weights of the fully connected layers.
        root: Root of all random streams.

    >>> [name for name, _ in digit_net(0).named_children()][-4:]
    ['flatten', 'fc7', 'relu7', 'fc8']
    """
    parts: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 1
    for l, (n, k, s, p) in enumerate(CONVOLUTIONS, 1):
        parts[f"conv{l}"], parts[f"relu{l}"] = nn.utils.skip_init(nn.Conv2d, channels, n, k, s, p), nn.ReLU()
        channels = n
    parts["flatten"] = nn.Flatten()
    parts["fc7"], parts["relu7"] = nn.utils.skip_init(nn.Linear, *CONNECTED[:2]), nn.ReLU()
    parts["fc8"] = nn.utils.skip_init(nn.Linear, *CONNECTED[1:])
    rng = stream(root, Role.STUDENT, seed)
    with torch.no_grad():
        for part in parts.values():
            if isinstance(part, nn.Conv2d | nn.Linear):
                bound = part.weight[0].numel() ** -0.5
                for parameter in part.parameters():
                    parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(parameter.shape))))
                if isinstance(part, nn.Linear):
                    part.weight *= scale
    return nn.Sequential(parts)


def layer_features(
    net: nn.Sequential, x: Float[Tensor, "N 1 28 28"]
) -> Iterator[tuple[int, Float[Tensor, "N n"], Float[Tensor, "N n"]]]:
    """Yield, for layers 1 to 7, the layer number and its features before and after the ReLU, one row per image.

    Only one layer is in memory at a time: the lower layers have 25,088 features per image.

    Args:
        net: A ``digit_net``.
        x: Images, (N, 1, 28, 28).

    >>> features = layer_features(digit_net(0), torch.zeros(1, 1, 28, 28))
    >>> [(layer, tuple(after.shape)) for layer, _, after in features][-2:]
    [(6, (1, 3136)), (7, (1, 128))]
    """
    if not isinstance(x, Tensor):
        raise UserError(f"expected images as a tensor of shape (N, 1, 28, 28), got {type(x).__name__}: convert them")
    return _layer_features(net, x)


def _layer_features(net: nn.Sequential, x: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    layer = 0
    for part in net:
        with torch.no_grad():  # not around the yield, where it would affect the code of the caller
            before, x = x, part(x)
        if isinstance(part, nn.ReLU):
            layer += 1
            yield layer, before.flatten(1), x.flatten(1)
