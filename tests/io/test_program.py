"""Exported programs compute the same as the module, hooks record their ReLUs, and no code in the file is run."""

import io
import json
import os
import pickle
import zipfile

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from relulab import UserError, hidden, load
from relulab.io.program import Program


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 6), nn.Linear(6, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.c(F.relu(self.b(torch.relu(self.a(x)))))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        one, two = torch.chunk(torch.cat([x, x + self.b(self.a(x).clamp(min=0))], 1), 2, 1)
        return (one * two).mean(1, keepdim=True)


def pictures() -> nn.Module:
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3),
        nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(6, 3),
    )  # fmt: skip
    net.train()
    net(
        torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    )  # sets the running means of the batch norm
    return net.eval()


MODULES = {
    "functional relu": (Functional, (3,), 2),
    "residual, clamp, cat, chunk": (Residual, (3,), 1),
    "convolutions, batch norm, pools, dropout, relu6": (pictures, (1, 8, 8), 2),
    "leaky": (lambda: nn.Sequential(nn.Linear(3, 5), nn.LeakyReLU(0.2), nn.Linear(5, 2)), (3,), 1),
    "no bias": (lambda: nn.Sequential(nn.Linear(3, 5, bias=False), nn.ReLU(), nn.Linear(5, 2)), (3,), 1),
    "float64": (lambda: nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double(), (3,), 1),
}


def exported(module: nn.Module, shape: tuple[int, ...], path, dynamic: bool = True):
    dtype = next(module.parameters()).dtype
    shapes = ({0: torch.export.Dim.AUTO},) if dynamic else None
    torch.export.save(torch.export.export(module, (torch.randn(4, *shape, dtype=dtype),), dynamic_shapes=shapes), path)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The file of a small network."""
    return exported(Functional().eval(), (3,), tmp_path_factory.mktemp("program") / "net.pt2")


def edited(source, target, change=lambda name, data: data, extra: dict[str, bytes] | None = None):
    """A copy of an archive with its members changed."""
    with zipfile.ZipFile(source) as source_archive, zipfile.ZipFile(target, "w") as copy:
        for name in source_archive.namelist():
            copy.writestr(name, change(name, source_archive.read(name)))
        for name, data in (extra or {}).items():
            copy.writestr(name, data)
    return target


def in_json(ending: str, change):
    """For ``edited``: changes one of the archive's documents."""

    def one(name: str, data: bytes) -> bytes:
        if not name.endswith(ending):
            return data
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    return one


def refused(path, says: str) -> None:
    with pytest.raises(UserError, match=says) as refusal:
        load(path)
    assert path.name in str(refusal.value) and str(refusal.value).isprintable()


@pytest.mark.parametrize("make, shape, relus", MODULES.values(), ids=MODULES)
def test_a_program_computes_the_same_as_the_module(tmp_path, make, shape, relus):
    torch.manual_seed(3)
    module = make().eval()
    net = load(exported(module, shape, tmp_path / "net.pt2"))
    assert isinstance(net, Program)
    for count in (2, 4, 9):
        x = torch.randn(count, *shape, dtype=next(module.parameters()).dtype)
        torch.testing.assert_close(net(x), module(x), rtol=1e-6, atol=1e-6)
    assert len(hidden(net, x)) == relus
    net.double()
    torch.testing.assert_close(net(x.double()), module.double()(x.double()), rtol=1e-12, atol=1e-12)


def test_hooks_see_what_functional_relus_put_out(tmp_path):
    module = Functional().eval()
    net, x = load(exported(module, (3,), tmp_path / "net.pt2")), torch.randn(7, 3)
    first, second = hidden(net, x).values()
    torch.testing.assert_close(first, torch.relu(module.a(x)))
    torch.testing.assert_close(second, torch.relu(module.b(first)))


def test_points_are_taken_in_the_type_of_the_program(tmp_path, program):
    assert next(iter(hidden(load(program).double(), torch.randn(5, 3)).values())).dtype == torch.float64


def test_a_program_for_four_points_takes_four_points(tmp_path):
    module = Functional().eval()
    net = load(exported(module, (3,), tmp_path / "net.pt2", dynamic=False))
    x = torch.randn(4, 3)
    torch.testing.assert_close(net(x), module(x))
    with pytest.raises(
        UserError, match=r"shape \(4, 3\), .*, got \(5, 3\)\. To allow any number of points, .*dynamic_shapes"
    ):
        net(torch.randn(5, 3))


def test_data_of_another_width_is_refused(program):
    with pytest.raises(UserError, match=r"shape \(any, 3\), for which the program was exported, got \(5, 4\)$"):
        load(program)(torch.randn(5, 4))


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(5)])
def test_training_mode_is_refused(tmp_path, layer):
    module = nn.Sequential(nn.Linear(3, 5), layer, nn.ReLU(), nn.Linear(5, 2)).train()
    refused(exported(module, (3,), tmp_path / "net.pt2", dynamic=False), r"model\.eval\(\)")


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        return torch.fft.fft(self.a(x)).real


def test_operations_off_the_list_are_named(tmp_path):
    refused(
        exported(Odd().eval(), (3,), tmp_path / "net.pt2"),
        r"uses torch\.ops\.aten\.\w+\.\w+, which is not a supported operation",
    )


@pytest.mark.parametrize(
    "target",
    [
        "torch.ops.aten.from_file.default", "torch.ops.aten.relu.out", "torch.ops.aten.relu.__class__",
        "torch.ops.aten.relu.__init_subclass__", "torch.ops.prim.Print.default", "os.system",
        "torch.ops.aten.__class__.x", "torch.ops.aten.relu\n.default", "builtins.eval", "_operator.add",
        "torch.ops.aten.add_.Tensor.x",
    ],
)  # fmt: skip
def test_other_targets_are_never_called(tmp_path, program, target):
    change = in_json("model.json", lambda d: d["graph_module"]["graph"]["nodes"][1].update(target=target))
    refused(edited(program, tmp_path / "net.pt2", change), "not a supported")


class Payload:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (os.mkdir, (str(self.mark),))


def hostile(mark) -> bytes:
    buffer = io.BytesIO()
    torch.save(Payload(mark), buffer)
    return buffer.getvalue()


def test_the_payload_works(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()
    torch.load(io.BytesIO(hostile(tmp_path / "other")), weights_only=False)
    assert (tmp_path / "other").exists()


def test_a_pickled_weight_is_refused(tmp_path, program):
    mark = tmp_path / "mark"
    change = in_json("weights_config.json", lambda d: d["config"]["a.weight"].update(use_pickle=True))

    def both(name: str, data: bytes) -> bytes:
        return hostile(mark) if name.endswith("weight_0") else change(name, data)

    refused(edited(program, tmp_path / "net.pt2", both), "a.weight is pickled, which is not safe")
    assert not mark.exists()


def test_a_pickled_sample_input_is_not_looked_at(tmp_path, program):
    mark = tmp_path / "mark"
    path = edited(program, tmp_path / "net.pt2", lambda n, d: hostile(mark) if "sample_inputs" in n else d)
    x = torch.randn(5, 3)
    assert torch.equal(load(path)(x), load(program)(x)) and not mark.exists()


def test_expressions_are_not_evaluated(tmp_path, program):
    mark = tmp_path / "mark"
    code = f"__import__('os').mkdir({str(mark)!r})"
    eval(code)
    mark.rmdir()  # the expression works

    def poison(value):
        """The expression in the place of every symbol, guard and range."""
        if isinstance(value, dict):
            for key, inner in value.items():
                value[key] = code if key in ("expr_str", "guards_code") and isinstance(inner, str) else poison(inner)
            if "guards_code" in value:
                value["guards_code"] = [code]
        elif isinstance(value, list):
            value[:] = [poison(inner) for inner in value]
        return value

    def change(document):
        poison(document)
        document["guards_code"] = [code]

    path = edited(program, tmp_path / "net.pt2", in_json("model.json", change))
    with zipfile.ZipFile(path) as archive:
        document = archive.read(next(n for n in archive.namelist() if n.endswith("model.json"))).decode()
    assert document.count("__import__") > 1 and "expr_str" in document
    x = torch.randn(5, 3)
    assert torch.equal(load(path)(x), load(program)(x)) and not mark.exists()


WEIGHTS = {
    "a NaN": (lambda n, d: b"\xff" * len(d) if n.endswith("weight_0") else d, "a.weight contains NaN or infinite"),
    "too few bytes": (lambda n, d: d[:8] if n.endswith("weight_0") else d, "or damaged"),
    "a shape of more entries": (
        in_json("weights_config.json", lambda d: d["config"]["a.weight"]["tensor_meta"].update(
            sizes=[{"as_int": 10**9}, {"as_int": 10**6}], strides=[{"as_int": 0}] * 2)),
        "more than the file contains",
    ),
    "a negative offset": (
        in_json("weights_config.json", lambda d: d["config"]["a.weight"]["tensor_meta"].update(
            storage_offset={"as_int": -9})),
        "or damaged",
    ),
    "an odd type": (
        in_json("weights_config.json", lambda d: d["config"]["a.weight"]["tensor_meta"].update(dtype=11)),
        "an unsupported data type",
    ),
    "a weight that is missing": (in_json("weights_config.json", lambda d: d["config"].pop("a.weight")), "or damaged"),
    "a path out of the archive": (
        in_json("weights_config.json", lambda d: d["config"]["a.weight"].update(path_name="../../../etc/passwd")),
        "or damaged",
    ),
    "deep nesting": (lambda n, d: b"[" * 100_000 if n.endswith("model.json") else d, "or damaged"),
    "no JSON": (lambda n, d: b"\xff" if n.endswith("model.json") else d, "or damaged"),
}  # fmt: skip


@pytest.mark.parametrize("change, says", WEIGHTS.values(), ids=WEIGHTS)
def test_damaged_programs_are_refused(tmp_path, program, change, says):
    refused(edited(program, tmp_path / "net.pt2", change), says)


def test_a_zip_archive_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as archive:
        archive.writestr("hello", "world")
    refused(tmp_path / "net.pt2", r"expected an exported program.*torch\.export\.save")


def test_a_program_of_two_inputs(tmp_path):
    class Two(nn.Module):
        def forward(self, x, y):
            return torch.relu(x + y)

    program = torch.export.export(Two(), (torch.ones(2, 3), torch.ones(2, 3)))
    torch.export.save(program, tmp_path / "net.pt2")
    refused(tmp_path / "net.pt2", "inputs: 2, outputs: 1")


@pytest.mark.parametrize(
    "arg", [{"as_ints": [1, 2]}, {"as_tensor": {"name": "none"}}, {"as_none": True}, {"as_x": 1}, {}]
)
def test_the_error_for_an_inconsistent_graph_is_one_line(tmp_path, program, arg):
    change = in_json("model.json", lambda d: d["graph_module"]["graph"]["nodes"][0]["inputs"][1].update(arg=arg))
    net = load(edited(program, tmp_path / "net.pt2", change))
    with pytest.raises(UserError, match=r"the program failed on|not supported") as refusal:
        net(torch.randn(5, 3))
    assert str(refusal.value).isprintable()
