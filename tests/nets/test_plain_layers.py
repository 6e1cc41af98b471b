"""BatchNorm folded into linear layers, against the module itself."""

import pytest
import torch
from torch import nn

from relulab import MLP, UserError


def trained(module: nn.Sequential) -> nn.Sequential:
    """The module in eval mode, with running statistics and weights of BatchNorm that are not the initial ones."""
    g = torch.Generator().manual_seed(0)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.running_mean.copy_(torch.randn(part.num_features, generator=g))
            part.running_var.copy_(torch.rand(part.num_features, generator=g) + 0.5)
            if part.affine:
                part.weight.data.copy_(torch.randn(part.num_features, generator=g))
                part.bias.data.copy_(torch.randn(part.num_features, generator=g))
    return module.eval()


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4, eps=0.1), nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Linear(4, 2, bias=False)),
        nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 2), nn.BatchNorm1d(2)),
        nn.Sequential(nn.Flatten(), nn.Linear(3, 4), nn.Dropout(), nn.BatchNorm1d(4, affine=False), nn.ReLU(),
                      nn.Identity(), nn.Linear(4, 2)),
    ],
)  # fmt: skip
def test_the_folded_network_is_the_same_function(module):
    module, x = trained(module), torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(MLP.of(module)(x)[0], module(x), rtol=1e-4, atol=1e-5)


def test_batch_norm_without_statistics_or_without_a_linear_neighbor_is_refused():
    floating = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.ReLU(), nn.Linear(4, 2))
    with pytest.raises(UserError, match="track_running_stats"):
        MLP.of(floating)
    lonely = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    with pytest.raises(UserError, match="next to every BatchNorm1d"):
        MLP.of(lonely)
