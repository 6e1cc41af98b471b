"""Exported programs as modules with the names and weights of the exported ones, and modules as programs."""

import json
import zipfile

import pytest
import torch
from deep_networks import NETWORKS, made
from torch import nn

from relulab import UserError, load
from relulab.io.module_files import module_state_bytes, module_tensor_bytes, program_bytes
from relulab.io.program import load_program
from relulab.nets.narrowing import narrowed
from relulab.nets.stages import structure


def exported(net: nn.Module, x: torch.Tensor, path, decomposed: bool = False):
    program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program.run_decompositions() if decomposed else program, path)
    return path


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch's own decompositions
@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_program_becomes_the_module_that_was_exported(name, decomposed, tmp_path):
    net, x = made(name)
    module = load_program(exported(net, x, tmp_path / "net.pt2", decomposed), tried=True).as_module()
    assert set(module.state_dict()) == set(net.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(module(x), net(x), rtol=1e-12, atol=1e-12)
    ours, theirs = structure(module, x), structure(net, x)
    assert [(s.name, s.nodes, s.makers) for s in ours.stages] == [(s.name, s.nodes, s.makers) for s in theirs.stages]
    assert ours.multiply_adds() == theirs.multiply_adds()


def test_a_smaller_module_is_written_in_three_formats(tmp_path):
    net, x = made("residual")
    of = structure(net, x)
    small = narrowed(of, {stage.name: torch.arange(2) for stage in of.stages}).eval()
    for ending, content in ((".pt", module_state_bytes(small)), (".safetensors", module_tensor_bytes(small))):
        (tmp_path / f"small{ending}").write_bytes(content)
    (tmp_path / "small.pt2").write_bytes(program_bytes(small, x))
    again = load(tmp_path / "small.pt2")
    with torch.no_grad():
        torch.testing.assert_close(again(x), small(x), rtol=1e-12, atol=1e-12)
    from safetensors.torch import load_file

    for state in (torch.load(tmp_path / "small.pt", weights_only=True), load_file(tmp_path / "small.safetensors")):
        assert set(state) == set(small.state_dict())
        assert all(torch.equal(state[key], value) for key, value in small.state_dict().items())


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.b(self.a(self.a(x).relu()).relu())


def test_shared_weights_are_refused(tmp_path):
    path = exported(Shared().eval(), torch.randn(4, 3), tmp_path / "net.pt2")
    with pytest.raises(UserError, match="uses the weights of a twice"):
        load_program(path, tried=True).as_module()


def test_names_that_are_no_names_of_modules_are_replaced(tmp_path):
    """A file may call a weight anything: such as forward, or a layer inside a layer."""
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    x = torch.randn(5, 3)
    source, target = exported(net, x, tmp_path / "net.pt2"), tmp_path / "odd.pt2"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            for wrong in (("0.weight", "forward.weight"), ("2.weight", "__class__.a.weight")):
                if member.endswith(".json"):
                    data = data.replace(*(json.dumps(name).encode() for name in wrong))
            new.writestr(member, data)
    module = load_program(target, tried=True).as_module()
    assert all(key.split(".")[0].startswith("layer") for key in module.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(module(x), net(x))


def test_a_module_that_cannot_be_exported_is_refused():
    class Depends(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 2)

        def forward(self, x):
            return self.a(x) if float(x.sum()) > 0 else self.a(-x)

    with pytest.raises(UserError, match="cannot be exported"):
        program_bytes(Depends(), torch.randn(4, 3))
