"""Pruning of several layers: moments and orders against loops, exact where possible, and mistakes in one sentence."""

import pytest
import torch
from deep_networks import NETWORKS, made
from torch import nn

from relulab import MLP, UserError, multiply_adds, torch_default
from relulab.nets.stages import structure
from relulab.nets.tracing import values
from relulab.subjects.specialization import prune, top_down
from relulab.subjects.specialization.tools import node_moments
from relulab.subjects.specialization.tools.layer_pruning import PrunedLayers, prune_layers
from relulab.subjects.specialization.tools.node_moments import moments
from relulab.subjects.specialization.tools.output_costs import costs
from relulab.subjects.specialization.tools.removal import CRITERIA, removals


def naive_moments(of, x):
    """E[f], E[f fᵀ] and E[β], one point, one position and one output at a time."""
    found = {}
    for stage in of.stages:
        for reader in stage.readers:
            n, name = stage.nodes, reader.value
            f = values(of.graph, x, [name])[1][name].detach().reshape(len(x), n, -1)
            beta = torch.zeros(n, n).double()
            for point in x:
                y, kept = values(of.graph, point[None].requires_grad_(), [name])
                for c in range(y.shape[1]):
                    (g,) = torch.autograd.grad(y[0, c], kept[name], retain_graph=True)
                    for column in g.reshape(n, -1).T:
                        beta += torch.outer(column, column)
            rows = f.movedim(1, -1).reshape(-1, n)
            found[name] = rows.mean(0), rows.T @ rows / len(rows), beta / len(x)
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_moments_against_loops(name):
    net, x = made(name)
    of, x = structure(net, x), x[:6]
    found = moments(of, x)
    for value, expected in naive_moments(of, x).items():
        for ours, theirs in zip((found[value].mean, found[value].second, found[value].beta), expected, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_beta_is_that_of_the_instrument_and_does_not_depend_on_blocks(monkeypatch):
    net, x = torch_default((5, 8, 6, 3), seeds=[0], dtype=torch.float64), torch.randn(50, 5).double()
    of = structure(net, x)
    found = moments(of, x)
    for stage, V in zip(of.stages, top_down(net, x).values(), strict=True):
        B = torch.einsum("nca,ncb->ab", V[0], V[0]) / 50
        torch.testing.assert_close(found[stage.readers[0].value].beta, B)
    monkeypatch.setattr(node_moments, "ENTRIES", 100)
    for value, m in moments(of, x).items():
        torch.testing.assert_close(m.beta, found[value].beta)


def test_with_many_outputs_and_positions_the_estimates_have_no_bias(monkeypatch):
    """40 outputs are combined at random and 3 of 16 positions chosen: the mean over seeds within 4 standard errors."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 40))
    net, x = net.double(), torch.randn(20, 1, 6, 6).double()
    of = structure(net, x)
    monkeypatch.setattr(node_moments, "EXACT", 100)
    exact = moments(of, x)["_1"]
    monkeypatch.undo()
    monkeypatch.setattr(node_moments, "ROWS", 50)
    drawn = [moments(of, x, root=seed)["_1"] for seed in range(40)]
    for ours, theirs in (([m.beta for m in drawn], exact.beta), ([m.second for m in drawn], exact.second)):
        stack = torch.stack(ours)
        error = stack.std(0) / len(stack) ** 0.5
        assert float(error.min()) > 0 and float(((stack.mean(0) - theirs) / error).abs().max()) < 4


def naive_orders(net: MLP, x: torch.Tensor) -> dict[str, list[list[int]]]:
    """The order of removal in both hidden layers by each criterion, from the definitions."""
    f = [layer[0].detach() for layer in net.layers(x)[:-1]]
    V = [layer[0] for layer in top_down(net, x).values()]
    orders = {}
    beta = [torch.stack([v.T @ v for v in V_l]).mean(0) for V_l in V]
    size = [f_l.square().mean(0) for f_l in f]
    orders["modulation"] = [
        sorted(range(len(b)), key=lambda k: float(b[k, k] * s[k])) for b, s in zip(beta, size, strict=True)
    ]
    orders["norm"] = [net.W[l].data[0].norm(dim=0).argsort().tolist() for l in (0, 1)]
    orders["fan-out"] = [net.W[l + 1].data[0].norm(dim=1).argsort().tolist() for l in (0, 1)]
    orders["merge"] = [naive_merge(f_l, b.clone()) for f_l, b in zip(f, beta, strict=True)]
    orders["missed"] = [naive_missed(f_l, b) for f_l, b in zip(f, beta, strict=True)]
    return orders


def naive_merge(f, B):
    left, order = list(range(f.shape[1])), []
    while len(left) > 1:
        best = None
        for k in left:
            for j in left:
                if j != k:
                    c = float(f[:, k] @ f[:, j] / (f[:, j] @ f[:, j]))
                    cost = float(B[k, k] * (f[:, k] - c * f[:, j]).square().mean())
                    best = min(best, (cost, k, j, c)) if best else (cost, k, j, c)
        _, k, j, c = best
        T = torch.eye(len(B)).double()
        T[k, j] = c
        B = T.T @ B @ T
        left.remove(k)
        order.append(k)
    return order + left


def naive_missed(f, B):
    """Drop the node without which the least-squares fit of L f is best, for L Lᵀ = B, with a constant."""
    values, vectors = torch.linalg.eigh(B)
    y = f @ (vectors * values.clamp(min=0).sqrt())
    left, order = list(range(f.shape[1])), []

    def error(nodes):
        A = torch.cat([f[:, nodes], torch.ones(len(f), 1).double()], 1)
        return float((A @ torch.linalg.lstsq(A, y).solution - y).square().sum())

    while len(left) > 1:
        k = min(left, key=lambda k: error([j for j in left if j != k]))
        left.remove(k)
        order.append(k)
    return order + left


def test_orders_against_their_definitions():
    net, x = torch_default((5, 8, 6, 3), seeds=[1], dtype=torch.float64), torch.randn(80, 5).double()
    of = structure(net, x)
    found = moments(of, x)
    for by, expected in naive_orders(net, x).items():
        assert [r.order.tolist() for r in removals(of, by, found).values()] == expected, by
    for removal in removals(of, "random", {}, 3).values():
        assert sorted(removal.order.tolist()) == list(range(len(removal.order)))
    assert removals(of, "random", {}, 3)["0"].order.tolist() != removals(of, "random", {}, 4)["0"].order.tolist()
    assert all(bool((r.costs.diff() >= 0).all()) for by in CRITERIA for r in removals(of, by, found).values())


def redundant() -> tuple[nn.Sequential, torch.Tensor]:
    """A convolution with two dead and two doubled channels, and a linear layer with two doubled nodes."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 6),
        nn.ReLU(), nn.Linear(6, 3),
    ).double().eval()  # fmt: skip
    with torch.no_grad():
        net[1].weight[2:4], net[1].bias[2:4] = 0, -1.0
        net[5].bias[:] = 0.5
        for layer in (net[0], net[5]):
            layer.weight[4:6], layer.bias[4:6] = 2 * layer.weight[:2], 2 * layer.bias[:2]
    net[1].running_mean.zero_()
    return net, torch.randn(200, 1, 4, 4).double()


@pytest.mark.parametrize("by, refit", [("missed", True), ("merge", True), ("merge", False)])
def test_dead_and_doubled_nodes_are_removed_without_any_change(by, refit):
    net, x = redundant()
    pruned = prune(net, x, by=by, refit=refit, tolerance=1e-9)
    assert isinstance(pruned, PrunedLayers) and pruned.size.widths == (4, 4) and pruned.lost < 1e-12
    assert {2, 3} & set(pruned.kept["0"]) == set() and {k % 4 for k in pruned.kept["0"]} == {0, 1, 2, 3}
    assert pruned.net[0].out_channels == pruned.net[1].num_features == 4 and pruned.net[5].in_features == 16
    new = torch.randn(30, 1, 4, 4).double()
    with torch.no_grad():
        torch.testing.assert_close(pruned.net(new), net(new), rtol=1e-6, atol=1e-6)


def test_modulation_without_a_refit_removes_dead_nodes_exactly():
    net, x = redundant()
    pruned = prune(net, x, by="modulation", refit=False, keep=[6, 6])
    assert set(pruned.kept["0"]) == {0, 1, 4, 5, 6, 7} and pruned.lost < 1e-28 and pruned.agree == 1


def test_a_constant_node_goes_into_the_bias_or_the_batch_norm_after_it():
    torch.manual_seed(0)
    for norm in (False, True):
        second = [nn.Linear(6, 5, bias=not norm), *([nn.BatchNorm1d(5)] if norm else [])]
        net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), *second, nn.ReLU(), nn.Linear(5, 2)).double().eval()
        with torch.no_grad():
            net[0].weight[1:3], net[0].bias[1:3] = 0, 2.0
        x = torch.randn(50, 4).double()
        pruned = prune(net, x, by="missed", keep=[4, 5])
        assert {1, 2} & set(pruned.kept["0"]) == set() and pruned.lost < 1e-14


def test_both_ways_to_prune_two_layers_drop_the_same_nodes():
    net, x = torch_default((4, 12, 3), seeds=[3], dtype=torch.float64), torch.randn(300, 4).double()
    for keep in (9, 5, 2):
        groups = prune(net, x, epsilon=0.0, keep=keep)
        nodes = sorted(int((groups.groups.of == s).nonzero()) for s in groups.kept)
        layers = prune(net, x, by="missed", keep=keep)
        assert layers.kept["0"] == nodes and layers.lost == pytest.approx(groups.lost, rel=1e-4)


@pytest.mark.parametrize("name", NETWORKS)
def test_budgets_are_kept_and_the_curve_is_what_each_size_costs(name):
    net, x = made(name)
    labels = torch.arange(len(x)) % 3
    pruned = prune(net, x, keep_macs=0.5, labels=labels)
    total = sum(multiply_adds(net, x.shape[1:]).values())
    assert pruned.size.multiply_adds == sum(multiply_adds(pruned.net, x.shape[1:]).values()) <= total / 2
    assert pruned.sizes[-1].multiply_adds == total and pruned.sizes[-1].costs.lost.value == 0
    assert [size.multiply_adds for size in pruned.sizes] == sorted(size.multiply_adds for size in pruned.sizes)
    again = prune(net, x, keep=pruned.sizes[3].widths, by="missed", labels=labels)
    assert again.size == pruned.sizes[3] and sum(again.size.widths) == again.size.kept
    assert {layer: after for layer, (_, after) in pruned.layers.items()} == multiply_adds(pruned.net, x.shape[1:])
    with torch.no_grad():
        right = (pruned.net(x).argmax(1) == labels).double().mean()
    assert pruned.size.costs.accuracy.value == pytest.approx(float(right))


def test_costs_against_their_definitions():
    y, small = (torch.randn(40, 3, generator=torch.Generator().manual_seed(s)).double() for s in (0, 1))
    labels = torch.arange(40) % 3
    found = costs(y, small, labels)
    assert found.lost.value == pytest.approx(float(((small - y) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()))
    assert found.loss.value == pytest.approx(float(nn.functional.cross_entropy(small, labels)))
    assert found.agree.value == pytest.approx(float((y.argmax(1) == small.argmax(1)).double().mean()))
    drawn = torch.randint(40, (2000, 40), generator=torch.Generator().manual_seed(2))
    ratio = torch.stack([((small - y)[i] ** 2).sum() / ((y[i] - y[i].mean(0)) ** 2).sum() for i in drawn])
    half = (found.lost.high - found.lost.low) / 2
    assert half == pytest.approx(2 * float(ratio.std()), rel=0.25)  # the delta method against the bootstrap
    assert costs(y[:, :1], small[:, :1], 2 * (labels == 0).long() - 1).agree is None


def test_as_few_nodes_as_possible_within_the_tolerance():
    net, x = torch_default((4, 30, 20, 3), seeds=[3], dtype=torch.float64), torch.randn(400, 4).double()
    pruned = prune(net, x[:200], tolerance=0.02, choose=x[200:300], test=x[300:])
    again = prune(net, x[:200], tolerance=0.02, test=x[200:300])
    assert pruned.kept == again.kept and again.lost <= 0.02 and 0 < pruned.lost != again.lost
    nothing = prune(net, x, tolerance=0.0)
    assert nothing.lost < 1e-20


def test_the_order_between_layers_is_the_loss_for_each_multiply_add():
    net, x = torch_default((4, 6, 50, 3), seeds=[0], dtype=torch.float64), torch.randn(200, 4).double()
    of = structure(net, x)
    removal = removals(of, "modulation", moments(of, x))
    price = {"0": (4 + 50), "2": (6 + 3)}
    pairs = [(float(c) ** 2 / price[name], name) for name, r in removal.items() for c in r.costs[:-1]]
    names = [name for _, name in sorted(pairs)[:20]]
    pruned = prune_layers(net, x, by="modulation", keep=[6 - names.count("0"), 50 - names.count("2")])
    assert (
        prune_layers(net, x, by="modulation", keep_macs=pruned.size.multiply_adds / (24 + 300 + 150)).kept
        == pruned.kept
    )


def test_what_a_result_says():
    net, x = made("connected")
    text = repr(prune(net, x, keep=[4, 3]))
    assert text.startswith("PrunedLayers(8-6 nodes to 4-3, 41 of 106 multiply-adds, lost 0.")


@pytest.mark.parametrize("call, message", [
    (lambda net, x: prune(net, x, keep=[4]), "each of the 2 layers .0 with 8, 3 with 6., got 1: 4"),
    (lambda net, x: prune(net, x, keep=5), "each of the 2 layers"),
    (lambda net, x: prune(net, x, keep=[9, 3]), "from 1 to 8 nodes to keep in layer 0, got 9"),
    (lambda net, x: prune(net, x, keep=[4, 3], keep_macs=0.5), "got both"),
    (lambda net, x: prune(net, x, keep_macs=0.001), "one node in each layer"),
    (lambda net, x: prune(net, x, keep_macs=1.5), "at most 1, got 1.5"),
    (lambda net, x: prune(net, x, tolerance=1.0), "tolerance from 0 to below 1"),
    (lambda net, x: prune(net, x, epsilon=0.1), "two-layer networks"),
    (lambda net, x: prune(net, x, teacher=net), "two-layer networks"),
    (lambda net, x: prune(net, x[:, :3]), "failed on points of shape"),
    (lambda net, x: prune(net, x[:1]), "at least 2 points"),
    (lambda net, x: prune(net, x[:1].repeat(9, 1)), "the same on all points"),
    (lambda net, x: prune(net, x, labels=torch.arange(len(x))), "labels from 0 to 2"),
    (lambda net, x: prune(net, x, labels=torch.arange(3)), "one label per point"),
    (lambda net, x: prune(net, x, by="magnitude"), "magnitude"),
    (lambda net, x: prune(with_nan(net), x), "finite weights"),
])  # fmt: skip
def test_mistakes_are_one_sentence(call, message):
    with pytest.raises(UserError, match=message):
        call(*made("connected"))


def with_nan(net):
    net[0].weight.data[0, 0] = torch.nan
    return net
