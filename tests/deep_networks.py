"""Small networks for the tests of pruning: fully connected, convolutional and residual ones."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two convolutions and a connection around them."""

    def __init__(self, n: int, m: int, stride: int = 1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m)
        self.conv2, self.bn2 = nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m)
        self.down = nn.Conv2d(n, m, 1, stride) if n != m else nn.Identity()

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        y += self.down(x)
        return F.relu(y)


class Residual(nn.Module):
    """A stem, two blocks, a mean over positions and a linear layer."""

    def __init__(self):
        super().__init__()
        self.stem, self.a, self.b, self.fc = nn.Conv2d(2, 4, 3, padding=1), Block(4, 4), Block(4, 6, 2), nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(self.b(self.a(torch.relu(self.stem(x)))).mean((2, 3)))


class Odd(nn.Module):
    """Layers that cannot be pruned, each for another reason, and one that can."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(12, 5)
        self.twice, self.norm, self.last = nn.Linear(5, 5), nn.LayerNorm(5), nn.Linear(5, 7)
        self.free, self.top = nn.Linear(7, 6), nn.Linear(6, 2)

    def forward(self, x):
        x = self.first(x)
        x = self.second(torch.cat([x.relu(), (-x).relu()], 1))
        x = self.last(self.norm(self.twice(self.twice(x).relu())))
        return self.top(self.free(x.relu().view(-1, 7)).relu())


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1, bias=False), nn.BatchNorm2d(5), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(5, 5, 3, padding=1, groups=5), nn.Conv2d(5, 4, 2), nn.LeakyReLU(0.1), nn.BatchNorm2d(4),
        nn.Flatten(), nn.Dropout(), nn.Linear(36, 7), nn.Tanh(), nn.BatchNorm1d(7), nn.Linear(7, 3),
    )  # fmt: skip


def connected() -> nn.Module:
    return nn.Sequential(
        nn.Linear(5, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 6, bias=False), nn.BatchNorm1d(6), nn.ReLU(),
        nn.Linear(6, 3),
    )  # fmt: skip


NETWORKS = {
    "connected": (connected, (5,)),
    "convolutional": (convolutional, (2, 8, 8)),
    "residual": (Residual, (2, 8, 8)),
}


def made(name: str, seed: int = 0) -> tuple[nn.Module, torch.Tensor]:
    """A network in float64 with the running averages of some points, and other points."""
    torch.manual_seed(seed)
    make, shape = NETWORKS[name]
    net = make().double().train()
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.uniform_(-0.5, 0.5)
        for _ in range(3):
            net(torch.randn(40, *shape).double())
    return net.eval(), torch.randn(60, *shape).double()
