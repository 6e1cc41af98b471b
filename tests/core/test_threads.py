"""Threads of PyTorch: one for small products, those that the user allowed for large ones, and restored afterward."""

import pytest
import torch
from torch import nn

import relulab as rl
from relulab.core.threads import LARGE, one_thread, threads, threads_for
from relulab.data.tensor_task import TensorTask
from relulab.train.losses import MSE
from relulab.train.supply import Supply, largest_product


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("product", "expected"), [(1, 1), (LARGE / 2, 1), (LARGE, 3), (50 * LARGE, 3)])
def test_large_products_use_what_the_user_allowed(product, expected):
    with threads_for(product) as allowed:
        assert (torch.get_num_threads(), allowed) == (expected, 3)
    assert torch.get_num_threads() == 3


def test_the_setting_is_restored_after_an_error():
    with pytest.raises(KeyError), threads(2):
        raise KeyError
    assert torch.get_num_threads() == 3

    @one_thread()
    def fails():
        assert torch.get_num_threads() == 1
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fails()
        assert torch.get_num_threads() == 3


def test_training_steps_run_on_one_thread_and_probes_on_all():
    seen = []

    def loss(f, y):
        seen.append(torch.get_num_threads())
        return (f - y).square().mean()

    def measure(net):
        seen.append(torch.get_num_threads())
        return {}

    net, X = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), torch.randn(16, 3)
    rl.fit(net, (X, X[:, :1]), epochs=1, batch=8, loss=loss, probes=[rl.Probe([0, 1], measure)])
    assert seen == [3, 1, 1, 3] and torch.get_num_threads() == 3


def test_gradient_flow_and_observers_of_small_networks_run_on_one_thread(monkeypatch):
    seen = []
    net = rl.balanced((2, 6, 1), seeds=[0], size=1e-3)
    X, y = torch.tensor([[1.0, 2.0], [-1.0, -1.0]], dtype=torch.float64), torch.tensor([1.0, -1.0])
    rl.gradient_flow(net, X, y, until=3, each=lambda clock: seen.append(torch.get_num_threads()))
    star = rl.specialization.teacher((4, 3, 2), seeds=[0])
    layers = rl.MLP.layers
    monkeypatch.setattr(rl.MLP, "layers", lambda *a: (seen.append(torch.get_num_threads()), layers(*a))[1])
    task = rl.Task(star, rl.Gaussian(4), seeds=[0], n_train=20, n_held_out=20)
    rl.specialization.Observer(star, task.held_out())(rl.small_normal((4, 5, 2), [0]))
    assert len(seen) > 5 and set(seen) == {1} and torch.get_num_threads() == 3


def product_of(net, X, batch=10, laned=False):
    task = TensorTask(X, torch.zeros(len(X), 1))
    cpu = torch.device("cpu")
    return largest_product(net, Supply(task, MSE(), steps=1, batch=batch, laned=laned, device=cpu))


def test_the_largest_product_of_a_step_counts_lanes_and_positions():
    assert product_of(rl.MLP((5, 7, 1), lanes=3), torch.zeros(20, 5), laned=True) == 3 * 10 * 5 * 7
    convolution = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Flatten(), nn.Linear(4 * 36, 1))
    assert product_of(convolution, torch.zeros(20, 2, 6, 6)) == 10 * (4 * 2 * 9) * 36


def test_a_wide_network_is_trained_with_the_threads_that_the_user_allowed():
    seen, X = [], torch.zeros(64, 1300)
    net = nn.Sequential(nn.Linear(1300, 1300), nn.ReLU(), nn.Linear(1300, 1))

    def loss(f, y):
        seen.append(torch.get_num_threads())
        return f.square().mean()

    rl.fit(net, (X, X[:, :1]), epochs=1, batch=64, loss=loss)
    assert seen == [3]
