"""Lottery tickets have the earlier weights of some nodes, and fine-tuning is training with the one loop."""

import pytest
import torch
from deep_networks import made
from torch import nn

from relulab import Adam, TensorTask, UserError, fit, torch_default
from relulab.nets.batch_norm_mlp import BatchNormMLP
from relulab.subjects.specialization import fine_tuned, prune, rewind
from relulab.train.schedules import Cosine, by_step

KEPT = [[[3, 0], [1, 5]], [[2, 4, 1], [0, 1, 2]]]


def test_every_lane_keeps_its_own_nodes():
    trained, start = (torch_default((4, 6, 5, 2), seeds=s, slope=0.1, dtype=torch.float64) for s in ([0, 1], [2, 3]))
    ticket, x = rewind(trained, start, [torch.tensor(k) for k in KEPT]), torch.randn(7, 4).double()
    assert ticket.widths == (4, 2, 3, 2) and ticket.slope == 0.1
    for i in range(2):
        a, b = (torch.tensor(k[i]) for k in KEPT)
        W, c = [p.data[i] for p in start.W], [p.data[i, 0] for p in start.b]
        f = nn.functional.leaky_relu(x @ W[0][:, a] + c[0][a], 0.1)
        f = nn.functional.leaky_relu(f @ W[1][a][:, b] + c[1][b], 0.1)
        torch.testing.assert_close(ticket(x)[i], f @ W[2][b] + c[2])
        alone = rewind(trained.lane(i).module(), start.lane(i).module(), [a, b])
        torch.testing.assert_close(alone(x), ticket(x)[i])


@pytest.mark.parametrize("name", ["connected", "convolutional", "residual"])
def test_the_result_of_prune_tells_which_nodes(name):
    """The nodes of a network at its own start, without a refit, are those of the pruned network."""
    net, x = made(name)
    pruned = prune(net, x, by="norm", refit=False, keep_macs=0.5)
    again = rewind(net, net.state_dict(), pruned, x=x).eval()
    with torch.no_grad():
        torch.testing.assert_close(again(x), pruned.net(x))
        other = rewind(net, made(name, seed=5)[0], pruned.kept, x=x).eval()
        assert other(x).shape == again(x).shape and not torch.allclose(other(x), again(x))


def test_the_control_draws_the_weights_again():
    trained = torch_default((40, 50, 2), seeds=[0])
    keep = [list(range(30))]
    drawn = [rewind(trained, trained, keep, redraw=seed).W[0].data for seed in (1, 1, 2)]
    kept = rewind(trained, trained, keep).W[0].data
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert float((drawn[0] == kept).float().mean()) < 0.01
    assert float(drawn[0].std() / kept.std()) == pytest.approx(1, abs=0.1)
    whole = rewind(trained, trained, [range(50)], redraw=1).W[0].data
    assert torch.equal(whole.flatten().sort().values, trained.W[0].data.flatten().sort().values)


def test_networks_with_batch_norm_are_rewound():
    net = BatchNormMLP((3, 4, 2)).eval()
    assert rewind(net, net, [[0, 2]])[0].out_features == 2


@pytest.mark.parametrize("call, message", [
    (lambda net: rewind(net, torch_default((3, 5, 2), seeds=[0]), [[0]]), "3-5-2.* there and 3-4-2"),
    (lambda net: rewind(net, {"W.0": torch.zeros(2)}, [[0]]), "W.0 is .2,. there and .1, 3, 4."),
    (lambda net: rewind(net, net, [[0], [1]]), "1 hidden layers, got 2"),
    (lambda net: rewind(net, net, [[4]]), "from 0 to 3, at least one, got .4."),
    (lambda net: rewind(net, net, [[]]), "at least one"),
    (lambda net: rewind(net, net, [torch.zeros(2, 1, dtype=torch.long)]), "got .2, 1."),
    (lambda net: rewind(net.module(), net, {"1": [0]}), "for the 1 layers 0, got 1: 1"),
    (lambda net: rewind(nn.Conv2d(1, 2, 3), nn.Conv2d(1, 2, 3), [[0]]), "first layer is not linear"),
])  # fmt: skip
def test_mistakes_are_one_sentence(call, message):
    with pytest.raises(UserError, match=message):
        call(torch_default((3, 4, 2), seeds=[0]))


def test_fine_tuning_over_several_passes_is_training_with_a_cosine():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(90, 3)
    y, before = torch.randn(90, 2), {key: value.clone() for key, value in net.state_dict().items()}
    tuned = fine_tuned(net, x, y, steps=25, batch=30)
    assert all(torch.equal(net.state_dict()[key], value) for key, value in before.items()) and not tuned.training
    task, cosine, hand = TensorTask(x, y), Cosine(25), rewind(net, net, [range(8)])
    fit(hand, task, epochs=8, batch=30, optimizer=Adam(1e-3), schedule=by_step(cosine))
    fit(
        hand,
        task,
        epochs=1,
        steps=1,
        batch=30,
        resume=True,
        optimizer=Adam(1e-3),
        schedule=by_step(lambda _: cosine(24)),
    )
    for key, value in hand.state_dict().items():
        torch.testing.assert_close(tuned.state_dict()[key], value)
    classes = fine_tuned(net, x, torch.arange(90) % 2, steps=40, lr=0.02)
    with torch.no_grad():
        loss = [float(nn.functional.cross_entropy(n(x), torch.arange(90) % 2)) for n in (net, classes)]
    assert loss[1] < loss[0] and fine_tuned(net, x, y, steps=0) is not net


def test_batch_norm_is_trained_although_one_point_is_left_over():
    net, x = made("connected")
    assert fine_tuned(net, x[:31], torch.arange(31) % 3, steps=4, batch=10)(x).isfinite().all()
