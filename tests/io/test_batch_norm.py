"""State dicts and programs with BatchNorm, from files to plain networks."""

import pytest
import torch
from torch import nn

from relulab import MLP, UserError, load
from relulab.io.batch_norm import fold_batch_norms
from relulab.io.network import loaded
from relulab.nets.mlp import as_mlp


class Named(nn.Module):
    """Layers with names, as most people write them."""

    def __init__(self):
        super().__init__()
        self.fc1, self.bn1, self.fc2 = nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)

    def forward(self, x):
        return self.fc2(self.bn1(self.fc1(x)).relu())


MODULES = {
    "named": Named,
    "before": lambda: nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2)),
    "after": lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.BatchNorm1d(5), nn.Linear(5, 2)),
}


def trained(name: str) -> nn.Module:
    module = MODULES[name]()
    module.train()
    for _ in range(3):
        module(torch.randn(20, 3) * 2 + 1)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    return module.eval()


@pytest.mark.parametrize("name", MODULES)
def test_a_state_dict_is_the_same_function_and_says_what_was_assumed(tmp_path, name):
    module, x = trained(name), torch.randn(40, 3)
    torch.save(module.state_dict(), tmp_path / "net.pt")
    net, notes, assumed = loaded(tmp_path / "net.pt")
    assert isinstance(net, MLP) and assumed
    torch.testing.assert_close(net(x)[0], module(x), rtol=1e-4, atol=1e-5)
    assert "eps = 1e-5 is assumed" in notes[0] and ("bn1 before the activation" in notes[0]) == (name == "named")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch's own decompositions
@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_a_program_is_read_as_layers_too(tmp_path, name, decomposed):
    """So neither file format sends its user to the other one."""
    module, x = trained(name), torch.randn(40, 3)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program.run_decompositions() if decomposed else program, tmp_path / "net.pt2")
    torch.testing.assert_close(as_mlp(load(tmp_path / "net.pt2"))(x)[0], module(x), rtol=1e-4, atol=1e-5)


def test_programs_that_are_no_chain_are_refused(tmp_path):
    class Skip(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 2)

        def forward(self, x):
            return self.b(x + self.a(x).relu())

    torch.export.save(torch.export.export(Skip().eval(), (torch.randn(4, 3),)), tmp_path / "net.pt2")
    with pytest.raises(UserError, match=r"chain of linear layers.*got add"):
        as_mlp(load(tmp_path / "net.pt2"))


def test_an_unclear_position_is_refused():
    linear = {"fc1.weight": torch.ones(4, 3), "fc2.weight": torch.ones(2, 4)}
    norm = {"running_mean": torch.zeros(4), "running_var": torch.ones(4)}
    with pytest.raises(UserError, match="which linear layer the BatchNorm bn"):
        fold_batch_norms(linear | {f"bn.{k}": v for k, v in norm.items()}, "net.pt")
    with pytest.raises(UserError, match="not both"):
        fold_batch_norms(linear | {"bn1.running_mean": norm["running_mean"]}, "net.pt")
    with pytest.raises(UserError, match="4 features"):
        fold_batch_norms(linear | {f"bn2.{k}": v for k, v in norm.items()}, "net.pt")
