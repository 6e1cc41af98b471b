"""The convolutional network of IB table 1, and what each of its layers makes of a picture."""

from collections import OrderedDict
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.seeds import Role, stream

CONVOLUTIONS = ((32, 3, 1, 1), (32, 3, 1, 1), (32, 5, 2, 2), (64, 3, 1, 1), (64, 3, 1, 1), (64, 5, 2, 2))
"""conv(n, k, s, p) of layers 1 to 6: n kernels of k × k, stride s, padding p."""
CONNECTED = (3136, 128, 1)
"""fc(3136, 128) and fc(128, 1), layers 7 and 8."""
LAYERS = len(CONVOLUTIONS) + 1
"""Layers with a ReLU."""
MACS = 28_725_888
"""Multiplications for one picture, forward."""


def digit_net(seed: int, *, scale: float = 0.05, root: int = 0) -> nn.Sequential:
    """Six convolutions and two fully connected layers for pictures of 28 × 28, the logit of one class put out.

    Weights and biases are U[−1/√n, 1/√n] with n the fan-in, as PyTorch draws them; then the weights of the two fully
    connected layers, not their biases, are multiplied by ``scale``. ReLUs are modules, so that hooks see them.

    Args:
        seed: Seed of the start.
        scale: Factor of the fully connected layers' weights.
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
    """Layer by layer, from 1 to 7: its number, its values before the ReLU and after it, flattened for each picture.

    One layer at a time, since those below hold 25,088 numbers a picture.

    Args:
        net: A ``digit_net``.
        x: Pictures, (N, 1, 28, 28).

    >>> features = layer_features(digit_net(0), torch.zeros(1, 1, 28, 28))
    >>> [(layer, tuple(after.shape)) for layer, _, after in features][-2:]
    [(6, (1, 3136)), (7, (1, 128))]
    """
    layer = 0
    for part in net:
        with torch.no_grad():  # not around the yield, which would leave it to whoever asks
            before, x = x, part(x)
        if isinstance(part, nn.ReLU):
            layer += 1
            yield layer, before.flatten(1), x.flatten(1)
