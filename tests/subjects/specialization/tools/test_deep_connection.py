"""Paths between deep networks: exact students, what each move may change, and networks that do not fit."""

from copy import deepcopy
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from relulab import UserError, conv_net
from relulab.subjects.specialization import connect
from relulab.subjects.specialization.tools.deep_connection import deep_path
from relulab.subjects.specialization.tools.slots import state_of


def fully(widths=(4, 6, 8, 3), seed=0, slope=0.0) -> nn.Sequential:
    torch.manual_seed(seed)
    parts: list[nn.Module] = []
    for l, (n, k) in enumerate(pairwise(widths)):
        parts += [nn.Linear(n, k), nn.LeakyReLU(slope) if slope else nn.ReLU()][: 2 if l < len(widths) - 2 else 1]
    return nn.Sequential(*parts).double()


class Skipping(nn.Module):
    """A residual network."""

    def __init__(self, seed: int):
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.top = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(4 * 36, 3)
        self.block = nn.Sequential(nn.Conv2d(4, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 1))

    def forward(self, x):
        f = self.first(x).relu()
        return self.top((f + self.block(f)).flatten(1))


def with_statistics(net: nn.Module, x: Tensor) -> nn.Module:
    """The network with running statistics of BatchNorm that are not those of the start."""
    for _ in range(3):
        net.train()(x)
    return net.eval()


def images(N=40, seed=0):
    return torch.randn(N, 1, 6, 6, generator=torch.Generator().manual_seed(seed))


def vectors(N=60):
    return torch.randn(N, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def wide_copy(star: nn.Sequential, widths: tuple[int, ...], seed: int) -> nn.Sequential:
    """A wider network with the nodes of another one in random places, and random nodes that nothing reads."""
    net, rng = fully(widths, seed), torch.Generator().manual_seed(seed)
    places = [torch.arange(widths[0])]
    places += [
        torch.randperm(n, generator=rng)[: layer.out_features]
        for n, layer in zip(widths[1:-1], star[:-1:2], strict=True)
    ]
    places.append(torch.arange(widths[-1]))
    with torch.no_grad():
        for l, layer in enumerate(star[::2]):
            own = net[2 * l]
            used = torch.zeros(own.in_features, dtype=torch.bool)
            used[places[l]] = True
            own.weight[:, ~used] = own.weight[:, ~used] * (l == 0)
            own.weight[places[l + 1]] = 0.0
            own.weight[places[l + 1][:, None], places[l]] = layer.weight
            own.bias[places[l + 1]] = layer.bias
    return net


def test_between_exact_students_the_loss_stays_zero_on_the_path_and_not_on_the_line():
    star, x = fully((4, 3, 4, 3)), vectors()
    a, b = (wide_copy(star, (4, 6, 8, 3), seed) for seed in (1, 2))
    y = star(x).detach()
    found = connect(a, b, x, y, steps=4)
    assert float(found.path.max()) < 1e-20 * found.constant
    assert float(found.line.max()) > 0.01 * found.constant
    assert found.keep == (3, 4) and found.nodes == (6, 8)


def loss_by_hand(p: nn.Module, q: nn.Module, share: float, x: Tensor, y: Tensor) -> float:
    net = deepcopy(p)
    for own, one, two in zip(net.parameters(), p.parameters(), q.parameters(), strict=True):
        own.data = (1 - share) * one.data + share * two.data
    for own, one, two in zip(net.buffers(), p.buffers(), q.buffers(), strict=True):
        if own.is_floating_point():
            own.data = (1 - share) * one.data + share * two.data
    with torch.no_grad():
        return float(((net.eval()(x) - y) ** 2).mean())


PAIRS = {
    "fully connected": lambda: (fully(seed=1), fully(seed=2), vectors()),
    "leaky": lambda: (fully(seed=1, slope=0.2), fully(seed=2, slope=0.2), vectors()),
    "one hidden layer, leaky": lambda: (*(fully((4, 7, 3), s, 0.2) for s in (1, 2)), vectors()),
    "convolutional": lambda: (
        *(with_statistics(conv_net((1, 4, 5), 6, 3, seed=s, batch_norm="after"), images()) for s in (1, 2)), images()
    ),
    "residual": lambda: (*(with_statistics(Skipping(s), images()) for s in (1, 2)), images()),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_moves_that_must_not_change_outputs_do_not(name):
    """Only "merge" and "split" may change outputs. On "hand over" from A to B, outputs are linear in the position."""
    a, b, x = PAIRS[name]()
    y = torch.zeros(len(x), 3, dtype=x.dtype)
    found = connect(a, b, x, y, steps=2)
    for net, end in ((a, found.nets[0]), (b, found.nets[-1])):
        states = (state_of(net), state_of(end))
        assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    tiny = 1e-9 if x.dtype == torch.float64 else 2e-4
    first_hand_over = found.moves.index("hand over")
    with torch.no_grad():
        f = [net.eval()(x) for net in found.nets]
        scale = max(float(g.abs().max()) for g in f)
        for i, move in enumerate(found.moves):
            middle = deepcopy(found.nets[i])
            p, q = state_of(found.nets[i]), state_of(found.nets[i + 1])
            middle.load_state_dict({**middle.state_dict(), **{key: (p[key] + q[key]) / 2 for key in p}})
            between = middle.eval()(x)
            if move == "copy" or (move == "hand over" and i != first_hand_over):
                assert float((f[i] - f[i + 1]).abs().max()) <= tiny * scale
                assert float((between - f[i]).abs().max()) <= tiny * scale
            elif move == "hand over":
                assert float((between - (f[i] + f[i + 1]) / 2).abs().max()) <= tiny * scale
    for i in range(len(found.moves)):
        for half in (0, 1):
            by_hand = loss_by_hand(found.nets[i], found.nets[i + 1], half / 2, x, y)
            assert float(found.path[2 * i + half]) == pytest.approx(by_hand, rel=1e-4 if tiny > 1e-6 else 1e-9)
    share = 1 / (len(found.line) - 1)
    assert float(found.line[1]) == pytest.approx(loss_by_hand(a, b, share, x, y), rel=1e-4)


def test_classes_are_judged_by_cross_entropy():
    a, b, x = PAIRS["fully connected"]()
    y = a(x).argmax(1)
    found = connect(a, b, x, y, steps=1, test=(x[:30], y[:30]))
    assert found.ends[0] == pytest.approx(float(nn.functional.cross_entropy(a(x[:30]).detach(), y[:30])), rel=1e-9)


@pytest.mark.parametrize(
    ("other", "keep", "words"),
    [
        (lambda: fully((4, 6, 9, 3)), None, "2.weight is"),
        (lambda: fully(seed=2, slope=0.1), None, "other outputs"),
        (lambda: fully(seed=2), 4, "to be kept, at most 3, 4, got keep=4"),
        (lambda: fully(seed=2), (3, 3, 3), "each of the 2 hidden layers"),
        (lambda: fully((4, 1, 8, 3)), None, "same architecture"),
    ],
)
def test_networks_that_do_not_fit(other, keep, words):
    x = vectors()
    with pytest.raises(UserError, match=words):
        connect(fully(seed=1), other(), x, torch.zeros(60, 3), keep=keep)


def test_a_layer_with_a_single_node_has_none_to_spare():
    with pytest.raises(UserError, match="at least 2 nodes"):
        deep_path(fully((4, 1, 8, 3)), fully((4, 1, 8, 3), 1), vectors(), None)
