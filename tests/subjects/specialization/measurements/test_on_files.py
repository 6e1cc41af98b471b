"""The commands measure, prune and check on files: the numbers of the library, and errors in one line."""

import csv
import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from relulab import MLP, find_theorem, hidden, load, save, torch_default
from relulab.subjects.specialization import correlation
from relulab.subjects.specialization.theorems.gradient_rule import back_propagated

WIDTHS = (4, 6, 5, 2)


@pytest.fixture
def files(tmp_path):
    """A teacher, a student that follows some of it, and points."""
    teacher = torch_default(WIDTHS, seeds=[0])
    student = torch_default((4, 8, 7, 2), seeds=[1])
    student.W[0].data[..., 2:5] = 2 * teacher.W[0].data[..., [3, 0, 1]]
    student.b[0].data[..., 2:5] = 2 * teacher.b[0].data[..., [3, 0, 1]]
    save(teacher, tmp_path / "a.safetensors")
    save(student, tmp_path / "b.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((300, 4)))
    return tmp_path


CORRELATION = ("measure", "correlation", "a.safetensors", "b.safetensors", "--data", "x.npy")


def direct(files) -> list[torch.Tensor]:
    """The correlations by the library alone."""
    x = torch.from_numpy(np.load(files / "x.npy"))
    a, b = (hidden(load(files / f"{name}.safetensors").double(), x) for name in "ab")
    return [correlation(f, g)[0] for f, g in zip(a.values(), b.values(), strict=True)]


def test_correlations_as_json(files, here):
    code, out, err = here(*CORRELATION, "--json")
    document = json.loads(out)
    assert code == 0 and not err and document["a"] == "a.safetensors" and document["threshold"] == 0.95
    for row, rho in zip(document["layers"], direct(files), strict=True):
        assert (row["a"], row["b"]) == tuple(rho.shape)
        assert row["rho_mean"] == pytest.approx(float(rho.amax(1).mean()), abs=1e-12)
        assert row["recovered"] == int((rho.amax(1) > 0.95).sum())
        assert [n["best"] for n in row["nodes"]] == rho.argmax(1).tolist()
        assert [n["rho"] for n in row["nodes"]] == pytest.approx(rho.amax(1).tolist(), abs=1e-6)
    best = {n["node"]: n["best"] for n in document["layers"][0]["nodes"]}
    assert (best[3], best[0], best[1]) == (2, 3, 4) and document["layers"][0]["recovered"] >= 3


def test_correlations_as_a_table(files, here):
    code, out, err = here(*CORRELATION, "--threshold", "0.5")
    assert code == 0 and not err
    for rho in direct(files):
        assert f"{rho.shape[0]} in A, {rho.shape[1]} in B" in out
        assert f"{int((rho.amax(1) > 0.5).sum())} of {rho.shape[0]} (ρ > 0.5)" in out
        assert all(f"{r:.4f}" in out for r in rho.amax(1).tolist())


def test_correlations_as_netcdf(files, here):
    assert here(*CORRELATION, "--out", "rho.nc")[0] == 0
    with xr.open_dataset(files / "rho.nc", engine="h5netcdf") as data:
        for l, rho in enumerate(direct(files), 1):
            assert np.array_equal(data[f"layer {l}"].values, rho.numpy())


def test_correlations_as_csv(files, here):
    assert json.loads(here(*CORRELATION, "--out", "rho.csv", "--json")[1])["out"] == "rho.csv"
    with (files / "rho.csv").open(encoding="utf-8") as file:
        rows = {(r["layer"], int(r["a"]), int(r["b"])): float(r["rho"]) for r in csv.DictReader(file)}
    expected = {
        (str(l), j, k): r
        for l, rho in enumerate(direct(files), 1)
        for j, row in enumerate(rho.tolist())
        for k, r in enumerate(row)
    }
    assert rows == expected


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_correlations_as_a_picture(files, here, ending, start):
    assert here(*CORRELATION, "--out", f"rho.{ending}")[0] == 0
    assert (files / f"rho.{ending}").read_bytes().startswith(start)


def test_a_network_follows_itself(files, here):
    document = json.loads(here("measure", "correlation", "a.safetensors", "a.safetensors", "-d", "x.npy", "--json")[1])
    for layer in document["layers"]:
        alive = [n for n in layer["nodes"] if n["rho"] > 0]
        assert alive and all(n["best"] == n["node"] and n["rho"] == pytest.approx(1, abs=1e-6) for n in alive)


def test_many_lanes_are_rows_of_their_own(files, here):
    save(torch_default(WIDTHS, seeds=[3, 4]), files / "b.safetensors")
    document = json.loads(here(*CORRELATION, "--json", "--out", "rho.nc")[1])
    assert [row["layer"] for row in document["layers"]] == ["1, lane 0", "1, lane 1", "2, lane 0", "2, lane 1"]


def test_exported_programs_are_measured(files, here):
    """A program against the same network from its weights, with points in single precision."""
    net = load(files / "a.safetensors").module().eval()
    shapes = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(net, (torch.randn(5, 4),), dynamic_shapes=shapes), files / "a.pt2")
    np.save(files / "x.npy", np.load(files / "x.npy").astype(np.float32))
    code, out, err = here("measure", "correlation", "a.safetensors", "a.pt2", "--data", "x.npy", "--json")
    assert code == 0, err
    assert all(n["best"] == n["node"] for row in json.loads(out)["layers"] for n in row["nodes"] if n["rho"] > 0)


def test_the_slope_matters(files, here):
    plain, leaky = (json.loads(here(*CORRELATION, "--json", *more)[1]) for more in ((), ("--slope", "0.3")))
    assert plain["layers"][0]["rho_mean"] != leaky["layers"][0]["rho_mean"]


def test_the_gradient_rule(files, here):
    words = ("measure", "gradient-rule", "a.safetensors", "b.safetensors", "--data", "x.npy")
    code, out, err = here(*words, "--json")
    document = json.loads(out)
    assert code == 0 and not err and document["verdict"] == "HOLDS" and len(document["conclusion"]) == 4
    nets = [load(files / f"{name}.safetensors").double() for name in "ab"]
    gradients = back_propagated(*nets, torch.from_numpy(np.load(files / "x.npy")))
    for row, g in zip(document["gradients"], gradients, strict=True):
        assert row["rms"] == pytest.approx(float(g.square().mean().sqrt()), rel=1e-10)
        assert row["max"] == pytest.approx(float(g.abs().max()), rel=1e-10)
    code, out, err = here(*words)
    assert code == 0 and not err and "HOLDS" in out and "largest |g|" in out


CHECK = ("--teacher", "a.safetensors", "--student", "b.safetensors", "--data", "x.npy")


def test_a_theorem_that_holds_ends_with_zero(files, here):
    code, out, err = here("check", "SS.L1", *CHECK, "--json")
    assert (code, json.loads(out)["verdict"], err) == (0, "HOLDS", "")
    code, out, err = here("check", "SS.L1", *CHECK)
    assert code == 0 and "HOLDS" in out and not err


def test_a_theorem_that_is_not_applicable_ends_with_one(files, here):
    save(torch_default((4, 6, 5, 5, 2), seeds=[1]), files / "b.safetensors")
    for words in (("check", "SS.L1", *CHECK), ("measure", "gradient-rule", *CORRELATION[2:])):
        code, out, _ = here(*words, "--json")
        assert (code, json.loads(out)["verdict"]) == (1, "NOT_APPLICABLE")
        code, out, err = here(*words)
        assert code == 1 and "NOT_APPLICABLE" in out and not err


def test_the_push_under_spherical_inputs(files, here):
    for name, seed in (("a", 0), ("b", 1)):
        save(torch_default((4, 3, 2), seeds=[seed], bias=False), files / f"{name}.safetensors")
    np.save(files / "x.npy", np.random.default_rng(1).standard_normal((200_000, 4)))
    code, out, err = here("check", "S0.T6", *CHECK, "--json")
    assert (code, json.loads(out)["verdict"], err) == (0, "HOLDS", "")
    np.save(files / "x.npy", np.random.default_rng(1).standard_normal((50, 4)))
    code, out, _ = here("check", "S0.T6", *CHECK, "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "INCONCLUSIVE")
    np.save(files / "x.npy", np.random.default_rng(1).uniform(0, 1, (20_000, 4)))
    code, out, _ = here("check", "S0.T6", *CHECK, "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "NOT_APPLICABLE")


@pytest.mark.parametrize("left", [0, 2, 4])
def test_all_three_files_are_needed(files, here, left):
    words = CHECK[:left] + CHECK[left + 2 :]
    one_line(here("check", "SS.L1", *words), "needs --data, --teacher and --student")


def test_theorems_that_cannot_be_checked_on_files(files, here, monkeypatch):
    theorem = replace(find_theorem("SS.L1"), on={})
    monkeypatch.setattr("relulab.lab.catalog.find_theorem", lambda id: theorem)
    one_line(here("check", "SS.L1", *CHECK), "cannot be checked on files")


def one_line(result: tuple[int, str, str], says: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "") and err.startswith("relulab: ") and err.count("\n") == 1 and says in err, result


class Payload:
    def __reduce__(self):
        return (os.mkdir, ("mark",))


def bad(name: str) -> None:
    """Makes a file, in the folder that the command works in, that is refused."""
    if name == "nan.npy":
        np.save(name, np.full((5, 4), np.nan))
    elif name == "narrow.npy":
        np.save(name, np.ones((5, 3)))
    elif name == "pictures.npy":
        np.save(name, np.ones((5, 1, 4, 4)))
    elif name == "one.npy":
        np.save(name, np.ones((1, 4)))
    elif name == "objects.npy":
        np.save(name, np.array([Payload()], dtype=object), allow_pickle=True)
    elif name == "inf.pt":
        torch.save({"0.weight": torch.full((3, 4), torch.inf)}, name)
    elif name == "model.pt":
        torch.save(nn.Sequential(nn.Linear(4, 3)), name)
    elif name == "linear.pt":
        torch.save({"0.weight": torch.ones(3, 4)}, name)
    elif name == "shallow.pt":
        torch.save({"0.weight": torch.ones(3, 4), "1.weight": torch.ones(2, 3)}, name)
    elif name.startswith("pickle"):
        with open(name, "wb") as file:
            pickle.dump(Payload(), file)
    elif name == "huge.npz":
        open(name, "w").close()
        os.truncate(name, 10_000_000_000)
    elif name == "empty.safetensors":
        open(name, "w").close()
    elif name == "folder.pt":
        os.mkdir(name)


NETWORKS = ["inf.pt", "model.pt", "pickle.pt", "pickle.pth", "pickle.pkl", "pickle.safetensors", "pickle.npz",
            "pickle.pt2", "huge.npz", "empty.safetensors", "folder.pt", "missing.pt"]  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_that_are_refused(files, here, name):
    bad(name)
    one_line(here("measure", "correlation", "a.safetensors", name, "--data", "x.npy"), name)
    one_line(here("measure", "gradient-rule", name, "a.safetensors", "--data", "x.npy"), name)
    one_line(here("check", "SS.L1", "--teacher", name, "--student", "b.safetensors", "--data", "x.npy"), name)
    assert not os.path.exists("mark")


@pytest.mark.parametrize("name", ["nan.npy", "objects.npy", "pickle.npy", "pickle.npz", "missing.npz", "huge.npz"])
def test_points_that_are_refused(files, here, name):
    bad(name)
    one_line(here(*CORRELATION[:-1], name), name)
    one_line(here("check", "S0.T6", *CHECK[:-1], name), name)
    assert not os.path.exists("mark")


@pytest.mark.parametrize("name", ["narrow.npy", "pictures.npy"])
def test_points_that_do_not_fit_the_networks(files, here, name):
    bad(name)
    for words in (CORRELATION, ("measure", "gradient-rule", *CORRELATION[2:])):
        got = "got 16: select" if name == "pictures.npy" else "got 3: use points"
        one_line(here(*words[:-1], name), f"{name}: expected 4 columns, one per input, {got}")
    one_line(here("check", "S0.T6", *CHECK[:-1], name), got)


def test_networks_that_cannot_be_compared(files, here):
    bad("one.npy")
    one_line(here(*CORRELATION[:-1], "one.npy"), "at least two samples")
    bad("shallow.pt")
    one_line(here("measure", "correlation", "a.safetensors", "shallow.pt", "-d", "x.npy"), "--layer 1:1")
    bad("linear.pt")
    for out in ([], ["--out", "rho.png"], ["--out", "rho.nc"]):
        one_line(here("measure", "correlation", "linear.pt", "linear.pt", "-d", "x.npy", *out), "no hidden layer")


@pytest.mark.parametrize("out", ["rho.txt", "rho", "nowhere/rho.nc", "taken.nc", "taken.csv", "taken.png"])
def test_places_that_cannot_be_written(files, here, out):
    if out.startswith("taken"):
        (files / out).mkdir()
    one_line(here(*CORRELATION, "--out", out), out.partition("/")[0])


@pytest.mark.parametrize("slope", ["1.5", "-1", "nan"])
def test_invalid_slopes(files, here, slope):
    one_line(here(*CORRELATION, f"--slope={slope}"), "slope")


def test_prune_writes_a_smaller_network_and_reports_the_loss(here, tmp_path):
    small = torch_default((4, 3, 2), seeds=[0]).module()
    twice = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    twice[0].weight.data, twice[0].bias.data = (torch.cat([p.data, 2 * p.data]) for p in small[0].parameters())
    twice[2].weight.data, twice[2].bias.data = small[2].weight.data.repeat(1, 2) / 3, small[2].bias.data
    save(twice, tmp_path / "twice.safetensors")
    x = np.random.default_rng(0).normal(size=(50, 4))
    np.savez(tmp_path / "x.npz", X=x)
    words = ("prune", "twice.safetensors", "--data", "x.npz", "-o", "small.safetensors")
    code, out, err = here(*words, "--json")
    document = json.loads(out)
    assert code == 0 and not err and document["nodes"] == 6 and document["kept"] == 3 and document["lost"] < 1e-10
    loaded = load(tmp_path / "small.safetensors")
    assert isinstance(loaded, MLP) and loaded.widths == (4, 3, 2)
    points = torch.from_numpy(x).float()
    torch.testing.assert_close(loaded(points)[0], twice(points), rtol=1e-4, atol=1e-5)
    code, out, _ = here(*words)
    assert code == 0 and "nodes kept 3 of 6" in " ".join(out.split()) and "share of variance lost" in out
    save(small, tmp_path / "teacher.safetensors")
    code, out, _ = here(*words[:4], "--teacher", "teacher.safetensors", "--figure", "curve.png")
    assert code == 0 and "teacher node" in out and "0, 3" in out
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    for wrong in (
        ("-o", "small.onnx"),
        ("-o", "nowhere/small.safetensors"),
        ("--keep", "0"),
        ("--figure", "curve.gif"),
    ):
        code, out, err = here(*words[:4], *wrong)
        assert code == 2 and err.count("\n") == 1 and not out


def test_alignment_of_nodes_and_their_observers(here, tmp_path):
    star = torch_default((4, 3, 2), seeds=[0])
    twice = MLP((4, 6, 2))
    twice.W[0].data[:], twice.b[0].data[:] = star.W[0].data.repeat(1, 1, 2), star.b[0].data.repeat(1, 1, 2)
    twice.W[1].data[:] = star.W[1].data.repeat(1, 2, 1) / 2
    twice.b[1].data[:] = star.b[1].data
    save(star, tmp_path / "star.safetensors")
    save(twice, tmp_path / "twice.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 4)))
    words = ("measure", "alignment", "star.safetensors", "twice.safetensors", "--data", "x.npy")
    code, out, err = here(*words, "--json")
    document = json.loads(out)
    assert code == 0 and not err and document["gradient"] < 1e-6
    assert all(row["epsilon"] < 1e-6 and row["student"] % 3 == row["node"] for row in document["nodes"])
    code, out, _ = here(*words)
    assert code == 0 and "observers" in out and "largest |g_1|" in out
    np.save(tmp_path / "few.npy", np.random.default_rng(1).normal(size=(3, 4)))
    one_line(here(*words[:4], "--data", "few.npy"), "at least d + 1")
    code, out, _ = here("check", "SS.T1", "--teacher", "star.safetensors", "--student", "twice.safetensors",
                        "--data", "x.npy", "--set", "box=true")  # fmt: skip
    assert code == 0 and "HOLDS" in out
    files = ("--teacher", "star.safetensors", "--student", "twice.safetensors", "--data", "x.npy")
    one_line(here("check", "SS.T1", *files, "--set", "boxes=true"), "did you mean 'box'")
    one_line(here("check", "SS.T3", *files, "--set", "epsilon=small"), "got 'small'")
    one_line(here("check", "SS.L1", *files, "--set", "epsilon=1"), "takes no settings")


def test_errors_on_pairs_are_one_line(here, tmp_path):
    star, dead = torch_default((4, 3, 2), seeds=[0]), MLP((4, 3, 2))
    save(star, tmp_path / "star.safetensors")
    save(dead, tmp_path / "dead.safetensors")
    save(torch_default((5, 3, 2), seeds=[0]), tmp_path / "five.safetensors")
    x = np.random.default_rng(0).normal(size=(60, 4))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "flat.npy", x * [1, 0, 1, 1])
    code, out, _ = here("measure", "alignment", "star.safetensors", "dead.safetensors", "-d", "x.npy", "--json")
    assert code == 0 and {row["epsilon"] for row in json.loads(out)["nodes"]} == {None}
    code, out, _ = here("measure", "alignment", "star.safetensors", "star.safetensors", "-d", "flat.npy")
    assert code == 0 and "1 input has the same value at all points" in out
    np.save(tmp_path / "same.npy", np.ones((60, 4)))
    one_line(here("measure", "alignment", "star.safetensors", "star.safetensors", "-d", "same.npy"), "all points")
    files = ("--teacher", "star.safetensors", "--student", "five.safetensors", "-d", "x.npy")
    for theorem in ("SS.L4", "SS.T1", "SS.T2", "SS.T3", "SS.T4", "SS.T5", "S0.T1", "S0.T5"):
        one_line(here("check", theorem, *files), "inputs")
    for wrong in (("--tolerance", "nan"), ("--tolerance", "1.5"), ("--tolerance", "-1")):
        one_line(here("prune", "star.safetensors", "-d", "x.npy", *wrong), "tolerance")
    one_line(here("prune", "dead.safetensors", "-d", "x.npy"), "zero weights")


def test_leaky_networks_are_pruned_and_checked(here, tmp_path):
    star = torch_default((4, 3, 2), seeds=[0], slope=0.1, dtype=torch.float64)
    twice = MLP((4, 6, 2), slope=0.1, dtype=torch.float64)
    twice.W[0].data, twice.b[0].data = star.W[0].data.repeat(1, 1, 2), star.b[0].data.repeat(1, 1, 2)
    twice.W[1].data, twice.b[1].data = star.W[1].data.repeat(1, 2, 1) / 2, star.b[1].data
    save(star, tmp_path / "star.safetensors")
    save(twice, tmp_path / "twice.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 4)))
    code, out, _ = here("prune", "twice.safetensors", "-d", "x.npy", "--slope", "0.1", "--tolerance", "1e-12", "--json")
    assert code == 0 and json.loads(out)["kept"] == 3 and json.loads(out)["largest"] < 1e-10
    files = ("--teacher", "star.safetensors", "--student", "twice.safetensors", "-d", "x.npy", "--set", "box=true")
    code, out, _ = here("check", "SS.T1", *files, "--slope", "0.1", "--json")
    assert code == 0 and "HOLDS" in out


def test_checkpoints_in_alphabetical_order_are_sorted_by_number(here, tmp_path):
    star = torch_default((4, 3, 2), seeds=[0])
    save(star, tmp_path / "star.safetensors")
    for epoch in (1, 2, 10):
        save(star if epoch >= 2 else torch_default((4, 3, 2), seeds=[5]), tmp_path / f"e{epoch}.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 4)))
    words = ("measure", "strength", "star.safetensors", "e1.safetensors", "e10.safetensors", "e2.safetensors")
    code, out, err = here(*words, "-d", "x.npy", "--json", "--threshold", "0.9999")
    document = json.loads(out)
    assert code == 0 and not err and "sorted by number" in here(*words, "-d", "x.npy")[1]
    assert document["checkpoints"] == ["e1.safetensors", "e2.safetensors", "e10.safetensors"]
    assert {row["recovered_at"] for row in document["layers"][0]["nodes"]} == {1}
    backwards = ("measure", "strength", "star.safetensors", "e10.safetensors", "e1.safetensors")
    code, out, err = here(*backwards, "-d", "x.npy", "--json")
    assert not err and json.loads(out)["checkpoints"] == [
        "e10.safetensors",
        "e1.safetensors",
    ]  # any other order is kept
    one_line(here(*words, "-d", "x.npy", "--threshold", "2"), "--threshold: expected a value less than 1, got 2")


def classifier(widths, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    d, n, C = widths
    return nn.Sequential(nn.Linear(d, n), nn.ReLU(), nn.Linear(n, C))


def test_prune_counts_predictions_and_writes_a_state_dict(here, tmp_path):
    """Twelve nodes, each split into two or three: the default finds twelve, and the predictions stay."""
    small, big = classifier((6, 12, 4)), classifier((6, 32, 4))
    of = torch.arange(32) % 12
    scale = torch.rand(32) + 0.5
    with torch.no_grad():
        big[0].weight.copy_(small[0].weight[of] * scale[:, None] + 1e-4 * torch.randn(32, 6))
        big[0].bias.copy_(small[0].bias[of] * scale)
        big[2].weight.copy_(small[2].weight[:, of] / scale / torch.bincount(of)[of])
        big[2].bias.copy_(small[2].bias)
    torch.save(big.state_dict(), tmp_path / "big.pt")
    x = torch.randn(1000, 6)
    np.save(tmp_path / "x.npy", x.numpy())
    code, out, _ = here("prune", "big.pt", "-d", "x.npy", "--json", "-o", "small.pt", "--tolerance", "1e-5")
    document = json.loads(out)
    assert code == 0 and (document["kept"], document["nodes"], document["tested"]) == (12, 32, 200)
    assert (document["fitted"], document["chosen_on"]) == (600, 200)
    assert document["agree"]["value"] >= 0.99 and document["agree"]["low"] < document["agree"]["value"]
    assert "ReLU is assumed between the layers of big.pt" in document["notes"][0]
    loaded = load(tmp_path / "small.pt")
    with torch.no_grad():
        same = (loaded(x)[0].argmax(1) == big(x).argmax(1)).double().mean()
    assert same >= 0.99 and [size["kept"] for size in document["sizes"]][-1] == 32
    text = " ".join(here("prune", "big.pt", "-d", "x.npy", "--tolerance", "1e-5")[1].split())
    assert "nodes kept 12 of 32" in text and "predictions that stay the same" in text
    np.save(tmp_path / "few.npy", x[:15].numpy())
    assert "too few to set some aside" in here("prune", "big.pt", "-d", "few.npy", "--keep", "3")[1].replace("\n", " ")


def test_prune_takes_other_activations_and_alignment_refuses_them(here, tmp_path):
    torch.save(classifier((6, 12, 4)).state_dict(), tmp_path / "net.pt")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(100, 6)))
    code, out, _ = here("prune", "net.pt", "-d", "x.npy", "--activation", "tanh", "--json", "--keep", "11")
    other = json.loads(here("prune", "net.pt", "-d", "x.npy", "--by", "missed", "--json", "--keep", "11")[1])
    document = json.loads(out)
    assert code == 0 and document["size"]["widths"] == [11] and document["notes"] == []
    assert 0 < document["size"]["lost"]["value"] < 0.2 and document["size"]["lost"] != other["size"]["lost"]
    one_line(here("measure", "alignment", "net.pt", "net.pt", "-d", "x.npy", "--activation", "gelu"), "got GELU")
    one_line(here("prune", "net.pt", "-d", "x.npy", "--activation", "rleu"), "did you mean 'relu'?")
    one_line(here("prune", "net.pt", "-d", "x.npy", "--activation", "tanh", "--slope", "0.1"), "leave out one")
    code, out, _ = here("prune", "net.pt", "-d", "x.npy", "--activation", "relu", "--json")
    assert code == 0 and json.loads(out)["notes"] == []
    code, out, _ = here("check", "SS.L1", "--teacher", "net.pt", "--student", "net.pt", "-d", "x.npy")
    assert code == 0 and "Note: A ReLU is assumed between the layers of net.pt" in out


def test_correlation_with_other_activations_and_of_unequal_depth(here, tmp_path):
    a = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    b = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    x = torch.randn(200, 6)
    np.save(tmp_path / "x.npy", x.numpy())
    for name, net in (("a", a), ("b", b)):
        torch.save(net.state_dict(), tmp_path / f"{name}.pt")
        torch.export.save(torch.export.export(net, (x,)), tmp_path / f"{name}.pt2")
    words = ("measure", "correlation", "a.pt", "b.pt", "-d", "x.npy", "--json", "--activation", "tanh")
    one_line(here(*words), "--layer 1:2")
    one_line(here(*words, "--layer", "1-2"), "pairs A:B")
    one_line(here(*words, "--layer", "1:5"), "from 1 to 2")
    stated = json.loads(here(*words, "--layer", "1:2")[1])
    assert stated["notes"] == [] and [layer["layer"] for layer in stated["layers"]] == ["1:2"]
    with torch.no_grad():
        f_a, f_b = torch.tanh(a[0](x)), b[:4](x)
    expected = np.corrcoef(f_a.T.numpy(), f_b.T.numpy())[:8, 8:]
    assert [node["rho"] for node in stated["layers"][0]["nodes"]] == pytest.approx(expected.max(1), abs=1e-5)
    program = ("measure", "correlation", "a.pt2", "b.pt2", "-d", "x.npy", "--json", "--layer", "1:2")
    read = json.loads(here(*program)[1])
    assert read["notes"] == [] and read["layers"][0]["rho_mean"] == pytest.approx(stated["layers"][0]["rho_mean"])
    one_line(here(*program, "--activation", "gelu"), "which contains its own")


def test_correlation_names_dead_units_and_knows_chance(here, tmp_path):
    """A copy in another order is above chance in every unit; a stranger is not, though the points are in clusters."""
    a, stranger = classifier((6, 10, 4)), classifier((6, 10, 4), seed=1)
    order = torch.randperm(10)
    copy = classifier((6, 10, 4))
    with torch.no_grad():
        a[0].weight[3], a[0].bias[3] = 0, -1
        copy[0].weight.copy_(a[0].weight[order])
        copy[0].bias.copy_(a[0].bias[order])
    for name, net in (("a", a), ("copy", copy), ("stranger", stranger)):
        torch.save(net.state_dict(), tmp_path / f"{name}.pt")
    centers = 4 * torch.randn(3, 6)
    np.save(tmp_path / "x.npy", (centers[torch.arange(600) % 3] + torch.randn(600, 6)).numpy())
    words = ("measure", "correlation", "a.pt", "copy.pt", "-d", "x.npy")
    (layer,) = json.loads(here(*words, "--json")[1])["layers"]
    where = order.argsort().tolist()
    alive = [node for node in layer["nodes"] if not node["constant"]]
    assert layer["constant_a"] == [3] and layer["constant_b"] == [where[3]] and len(alive) == 9
    assert all(node["best"] == node["partner"] == where[node["node"]] and node["rho"] > 0.9999 for node in alive)
    assert layer["above_chance"] == layer["recovered"] == 9
    out = " ".join(here(*words)[1].split())
    assert "dead units 1 (3) in A" in out and "units above chance 9 of 10" in out and "3 dead – – – –" in out
    (other,) = json.loads(here(*words[:3], "stranger.pt", *words[4:], "--json")[1])["layers"]
    assert other["above_chance"] <= 2 and abs(other["rho_mean"] - other["chance_mean"]) < 0.2
    (without,) = json.loads(here(*words, "--json", "--chance", "0")[1])["layers"]
    assert without["above_chance"] is None and "by chance" not in here(*words, "--chance", "0")[1]


def test_agreement_of_two_networks_as_functions(here, tmp_path):
    a, b = classifier((6, 10, 4)), classifier((6, 10, 4))
    with torch.no_grad():
        b[2].bias += torch.tensor([0.1, 0, 0, 0])
    for name, net in (("a", a), ("b", b)):
        torch.save(net.state_dict(), tmp_path / f"{name}.pt")
    x = torch.randn(500, 6)
    np.save(tmp_path / "x.npy", x.numpy())
    document = json.loads(here("measure", "agreement", "a.pt", "b.pt", "-d", "x.npy", "--json")[1])
    with torch.no_grad():
        same = float((a(x).argmax(1) == b(x).argmax(1)).double().mean())
        spread = float((a(x) - a(x).mean(0)).square().sum(1).mean().sqrt())
    assert document["same"]["value"] == pytest.approx(same) and document["distance"]["value"] == pytest.approx(0.1)
    assert document["relative"]["value"] == pytest.approx(0.1 / spread) and document["largest"] == pytest.approx(0.1)
    assert document["relative"]["low"] < 0.1 / spread < document["relative"]["high"]
    assert "predictions that agree" in here("measure", "agreement", "a.pt", "b.pt", "-d", "x.npy")[1]
    torch.save(classifier((6, 10, 3)).state_dict(), tmp_path / "three.pt")
    one_line(here("measure", "agreement", "a.pt", "three.pt", "-d", "x.npy"), "got 4 and 3")


def test_connect_and_svcca_on_files(here, tmp_path):
    star = torch_default((4, 2, 3), seeds=[0])
    students = [torch_default((4, 4, 3), seeds=[s]) for s in (1, 2)]
    for net, slots in zip(students, ((0, 1), (2, 1)), strict=True):
        net.W[1].data.zero_()
        net.W[0].data[0, :, list(slots)], net.b[0].data[0, 0, list(slots)] = star.W[0].data[0], star.b[0].data[0, 0]
        net.W[1].data[0, list(slots)], net.b[1].data[0] = star.W[1].data[0], star.b[1].data[0]
    for name, net in zip("tab", (star, *students), strict=True):
        save(net, tmp_path / f"{name}.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((300, 4)))
    words = ("measure", "connect", "a.safetensors", "b.safetensors", "-d", "x.npy", "--teacher", "t.safetensors")
    code, out, err = here(*words, "--json", "--out", "path.npz")
    document = json.loads(out)
    assert code == 0 and not err and document["path_low"] and not document["line_low"] and document["path"] < 1e-12
    with np.load(tmp_path / "path.npz") as saved:
        assert saved["W1"].shape == (len(document["segments"]) + 1, 4, 4)
        assert float(saved["loss_on_line"].max()) == document["line"]
    assert "stays low on the path" in " ".join(here(*words)[1].split())
    assert here(*words, "--out", "loss.png")[0] == 0 and (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    (layer,) = json.loads(here("measure", "correlation", *words[2:4], "-d", "x.npy", "--svcca", "--json")[1])["layers"]
    found = layer["svcca"]
    assert len(found["rho"]) == min(found["kept_a"], found["kept_b"]) > 0
    assert 0 < found["random_points"] < found["mean"] <= 1 and found["random_weights"] > found["random_points"]
