"""Operations of exported programs get only arguments that fit their schema and each other, within a budget."""

import json
import signal
import zipfile

import pytest
import torch
from torch import Tensor, nn

from relulab import UserError, load
from relulab.io import program_checks, program_trial
from relulab.io.program import Program


def tensor(name: str) -> dict:
    return {"as_tensor": {"name": name}}


def of(*nodes: tuple[str, list[dict]], sizes=(None, 4), **weights: Tensor) -> Program:
    """A program that applies operations one after the other: n0 = first(...), n1 = second(...)."""
    rows = [
        {
            "target": f"torch.ops.aten.{target}",
            "inputs": [{"name": f"a{i}", "arg": arg, "kind": 1} for i, arg in enumerate(args)],
            "outputs": [tensor(f"n{k}")],
        }
        for k, (target, args) in enumerate(nodes)
    ]
    graph = {"nodes": rows, "tensor_values": {"x": {"sizes": [{"as_int": n} if n else {} for n in sizes]}}}
    inputs = [{"user_input": {"arg": tensor("x")}}]
    inputs += [{"parameter": {"parameter_name": name, "arg": {"name": name}}} for name in weights]
    outputs = [{"user_output": {"arg": tensor(f"n{len(nodes) - 1}")}}]
    return Program(graph, {"input_specs": inputs, "output_specs": outputs}, weights)


NONE, FALSE = {"as_none": True}, {"as_bool": False}


def batch_norm(**shapes: int) -> Program:
    weights = {name: torch.ones(shapes.get(name, 4)) for name in ("weight", "bias", "mean", "var")}
    return of(
        ("batch_norm.default", [tensor("x"), *(tensor(name) for name in weights), FALSE, {"as_float": 0.1},
                                {"as_float": 1e-5}, FALSE]), **weights
    )  # fmt: skip


def test_batch_norm_with_one_entry_per_channel_runs():
    x = torch.randn(3, 4)
    expected = nn.functional.batch_norm(x, torch.ones(4), torch.ones(4), torch.ones(4), torch.ones(4))
    torch.testing.assert_close(batch_norm()(x), expected)


@pytest.mark.parametrize("name", ["weight", "bias", "mean", "var"])
@pytest.mark.parametrize("length", [1, 3, 5])
def test_batch_norm_does_not_read_behind_its_weights(name, length):
    with pytest.raises(UserError, match=f"shape .{length},., but there are 4 channels"):
        batch_norm(**{name: length})(torch.zeros(2, 4))


def test_batch_norm_without_running_statistics_is_refused():
    args = [tensor("x"), tensor("w"), tensor("w"), NONE, NONE, FALSE, {"as_float": 0.1}, {"as_float": 1e-5}, FALSE]
    with pytest.raises(UserError, match="needs running_mean"):
        of(("batch_norm.default", args), w=torch.ones(4))(torch.zeros(2, 4))


@pytest.mark.parametrize("dtype", [0, 5, 44, 127, 10**6, -1])
@pytest.mark.parametrize("target", ["softmax.int", "log_softmax.int", "sum.default", "view.dtype"])
def test_a_type_of_numbers_cannot_be_chosen(target, dtype):
    args = [tensor("x"), {"as_int": 1}, {"as_int": dtype}] if "max" in target else [tensor("x"), {"as_int": dtype}]
    with pytest.raises(UserError):
        of((target, args))(torch.zeros(2, 4))


WRONG = [
    ("relu.default", [{"as_int": 3}]), ("relu.default", [tensor("x"), tensor("x")]),
    ("add.Tensor", [tensor("x"), NONE]), ("transpose.int", [tensor("x"), {"as_float": 0.5}, {"as_int": 1}]),
    ("view.default", [tensor("x"), {"as_ints": [1] * 99}]), ("view.default", [tensor("x"), {"as_ints": ["2", "4"]}]),
    ("view.default", [tensor("x"), {"as_ints": {}}]), ("mul.Tensor", [tensor("x"), {"as_bools": [True]}]),
    ("cat.default", [{"as_tensors": []}]), ("add.str", [{"as_int": 1}, {"as_int": 2}]),
    ("mul.int", [{"as_int": 1}, {"as_int": 2}]), ("slice.Tensor", [tensor("x"), {"as_int": 2**70}]),
    ("_adaptive_avg_pool2d.default", [tensor("x"), {"as_ints": [2**40, 2**40]}]),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args"), WRONG)
def test_arguments_that_do_not_fit_are_refused_in_one_sentence(target, args):
    with pytest.raises(UserError) as refusal:
        of((target, args))(torch.zeros(2, 4))
    assert "\n" not in str(refusal.value)


def test_memory_is_estimated_before_it_is_used():
    net = of(("adaptive_avg_pool2d.default", [tensor("x"), {"as_ints": [10**7, 10**7]}]), sizes=(None, 1, 2, 2))
    with pytest.raises(UserError, match=r"needs more than .* of memory for 2 points"):
        net(torch.zeros(2, 1, 2, 2))


def test_endless_work_is_refused(monkeypatch):
    monkeypatch.setattr(program_checks, "WORK", 1000.0)
    steps = [("mm.default", [tensor("x" if k == 0 else f"n{k - 1}"), tensor("w")]) for k in range(70)]
    net = of(*steps, w=torch.eye(4))
    with pytest.raises(UserError, match="multiplications per point"):
        net(torch.zeros(2, 4))
    torch.testing.assert_close(of(*steps[:5], w=torch.eye(4))(torch.ones(2, 4)), torch.ones(2, 4))


def test_too_many_operations_are_refused():
    with pytest.raises(UserError, match="20,000 operations"):
        of(*[("relu.default", [tensor("x")])] * 20_001)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "net.pt2"
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    torch.export.save(torch.export.export(net, (torch.zeros(4, 4),)), path)
    return path


def test_many_weights_on_one_large_member_are_refused(file, tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.io.guard.SMALL", 2_000_000)
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(tmp_path / "bomb.pt2", "w", zipfile.ZIP_DEFLATED) as copy:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("weights_config.json"):
                document = json.loads(content)
                for row in document["config"].values():
                    row["path_name"] = "weight_0"
                content = json.dumps(document).encode()
            copy.writestr(name, b"\0" * 1_800_000 if name.endswith("weight_0") else content)
    with pytest.raises(UserError, match="are too large"):
        load(tmp_path / "bomb.pt2")


def test_a_program_that_ends_its_process_is_refused_and_the_next_one_is_tried(file, monkeypatch):
    load(file)
    child = program_trial._child
    assert child is not None and child.poll() is None
    child.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(program_trial, "SECONDS", 0.5)
    with pytest.raises(UserError, match=r"more than 0\.5 s"):
        load(file)
    monkeypatch.undo()
    load(file)
    child = program_trial._child
    assert child is not None
    monkeypatch.setattr(child, "poll", lambda: None)  # it dies after this process has looked
    child.kill()
    child.wait()
    monkeypatch.setattr(child, "poll", lambda: child.returncode)
    monkeypatch.setattr(program_trial, "_started", lambda: child)
    with pytest.raises(UserError, match="exit code -9"):
        load(file)
    monkeypatch.undo()
    assert load(file)(torch.zeros(4, 4)).shape == (4, 2)
