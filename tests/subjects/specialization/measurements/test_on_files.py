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
    assert code == 0 and not err and document["verdict"] == "HOLDS" and len(document["conclusion"]) == 3
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
    one_line(here("check", "SS.L1", *words), "needs --teacher, --student and --data")


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
        one_line(here(*words[:-1], name), "(5, 1, 4, 4)" if name == "pictures.npy" else "3")
    if name == "narrow.npy":
        one_line(here("check", "S0.T6", *CHECK[:-1], name), "the points 3")


def test_networks_that_cannot_be_compared(files, here):
    bad("one.npy")
    one_line(here(*CORRELATION[:-1], "one.npy"), "at least two samples")
    bad("shallow.pt")
    one_line(here("measure", "correlation", "a.safetensors", "shallow.pt", "-d", "x.npy"), "networks of the same depth")
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
    for wrong in (("-o", "small.pt"), ("-o", "nowhere/small.safetensors"), ("--keep", "0"), ("--figure", "curve.gif")):
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
    np.save(tmp_path / "few.npy", np.zeros((3, 4)))
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
    one_line(
        here("measure", "alignment", "star.safetensors", "star.safetensors", "-d", "flat.npy"),
        "input 1 has only one value",
    )
    files = ("--teacher", "star.safetensors", "--student", "five.safetensors", "-d", "x.npy")
    for theorem in ("SS.L4", "SS.T1", "SS.T2", "SS.T3", "SS.T4", "S0.T1", "S0.T5"):
        one_line(here("check", theorem, *files), "inputs")
    for wrong in (("--tolerance", "nan"), ("--tolerance", "1.5"), ("--tolerance", "-1")):
        one_line(here("prune", "star.safetensors", "-d", "x.npy", *wrong), "tolerance")
    one_line(here("prune", "star.safetensors", "-d", "x.npy", "--slope", "0.1"), "leaky with slope 0.1")
    one_line(here("prune", "dead.safetensors", "-d", "x.npy"), "zero weights")


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
