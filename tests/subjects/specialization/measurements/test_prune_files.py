"""The commands prune and measure match on files of deep networks."""

import csv
import json

import numpy as np
import pytest
import torch
from deep_networks import made
from torch import nn

from relulab import load, multiply_adds, save, torch_default
from relulab.io.module_files import program_bytes


def one_line(result: tuple[int, str, str], *says: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "") and err.startswith("relulab: ") and err.count("\n") == 1, result
    assert all(words in err for words in says), err


@pytest.fixture
def pictures(tmp_path):
    """A residual network as a program, and labeled pictures."""
    net, x = made("residual")
    (tmp_path / "net.pt2").write_bytes(program_bytes(net, x))
    with torch.no_grad():
        np.savez(tmp_path / "x.npz", X=x.numpy(), y=net(x).argmax(1).numpy())
    return net


@pytest.fixture
def deep(tmp_path):
    """A fully connected network as weights, the same before training, and points without labels."""
    for name, seed in (("net", 0), ("start", 1)):
        save(torch_default((4, 12, 9, 3), seeds=[seed], slope=0.1), tmp_path / f"{name}.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((300, 4)))
    return load(tmp_path / "net.safetensors")


def test_a_program_is_pruned_to_half_its_multiply_adds_and_written(pictures, here, tmp_path):
    words = ("prune", "net.pt2", "--data", "x.npz", "--keep-macs", "0.5")
    code, out, err = here(*words, "--json", "-o", "small.pt2")
    document = json.loads(out)
    assert code == 0 and not err and document["by"] == "missed" and document["fine_tuned"] is None
    small, shape = load(tmp_path / "small.pt2"), (2, 8, 8)
    whole = sum(multiply_adds(pictures, shape).values())
    assert sum(multiply_adds(small, shape).values()) == document["size"]["multiply_adds"] <= whole / 2
    assert document["sizes"][-1]["multiply_adds"] == whole == sum(row["multiply_adds"] for row in document["layers"])
    assert document["sizes"][-1]["accuracy"]["value"] == 1 and document["size"]["accuracy"]["low"] > 0
    stem, other = (next(row for row in document["layers"] if row["layer"] == name) for name in ("stem", "a.conv2"))
    assert stem["kept"] == other["kept"] and other["nodes_of"] == "stem"
    with np.load(tmp_path / "x.npz") as data, torch.no_grad():
        x = torch.from_numpy(data["X"])[4::5]
        y, f = pictures(x), small(x)
    lost = float((y - f).square().sum() / (y - y.mean(0)).square().sum())
    assert document["size"]["lost"]["value"] == pytest.approx(lost, rel=1e-6)
    text = " ".join(here(*words, "--figure", "curve.png")[1].split())
    assert "accuracy" in text and "b.conv2" in text and (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_weights_are_pruned_and_stay_weights(deep, here, tmp_path):
    code, out, _ = here("prune", "net.safetensors", "-d", "x.npy", "--keep", "7,5", "--by", "merge", "--json",
                        "-o", "small.safetensors")  # fmt: skip
    document, small = json.loads(out), load(tmp_path / "small.safetensors")
    assert code == 0 and small.widths == (4, 7, 5, 3) and small.slope == 0.1 and document["size"]["widths"] == [7, 5]
    assert document["size"]["accuracy"] is None and document["size"]["agree"]["value"] > 0.5
    assert (document["fitted"], document["chosen_on"], document["tested"]) == (180, 60, 60)
    assert here("prune", "net.safetensors", "-d", "x.npy", "--keep", "7,5", "--by", "merge", "-o", "s.pt")[0] == 0
    state = torch.load(tmp_path / "s.pt", weights_only=True)
    assert torch.equal(state["2.weight"], small.W[1].data[0].T) and len(state) == 6


def test_fine_tuning_on_labels_and_on_the_old_outputs(pictures, deep, here, tmp_path):
    words = ("prune", "net.safetensors", "-d", "x.npy", "--keep", "6,4", "--by", "random", "--no-refit")
    document = json.loads(here(*words, "--fine-tune", "400", "--json", "-o", "tuned.safetensors")[1])
    tuned = document["fine_tuned"]
    assert tuned["targets"] == "the outputs of the whole network" and tuned["steps"] == 400
    assert tuned["costs"]["lost"]["value"] < 0.5 * document["size"]["lost"]["value"]
    small, x = load(tmp_path / "tuned.safetensors"), torch.from_numpy(np.load(tmp_path / "x.npy"))[4::5].float()
    with torch.no_grad():
        y = deep(x)[0]
        lost = float((small(x)[0] - y).square().sum() / (y - y.mean(0)).square().sum())
    assert lost == pytest.approx(tuned["costs"]["lost"]["value"], rel=1e-4)
    text = " ".join(here(*words, "--fine-tune", "5")[1].split())
    assert "After 5 training steps on the outputs of the whole network" in text
    labeled = json.loads(here("prune", "net.pt2", "-d", "x.npz", "--fine-tune", "3", "--json")[1])
    assert labeled["fine_tuned"]["targets"] == "the labels"


def test_a_lottery_ticket_has_the_weights_of_the_start(deep, here, tmp_path):
    words = ("prune", "net.safetensors", "-d", "x.npy", "--keep", "5,4", "--json", "-o", "ticket.safetensors")
    document = json.loads(here(*words, "--rewind", "start.safetensors")[1])
    kept = {row["layer"]: row["kept"] for row in document["layers"]}
    ticket, start = load(tmp_path / "ticket.safetensors"), load(tmp_path / "start.safetensors")
    rows, columns = torch.tensor(kept["0"]), torch.tensor(kept["2"])
    assert torch.equal(ticket.W[1].data[0], start.W[1].data[0][rows][:, columns])
    assert torch.equal(ticket.b[0].data[0, 0], start.b[0].data[0, 0, rows]) and kept["4"] is None
    code, out, err = here(*words[:6], "--rewind", "start.safetensors")
    assert code == 0 and not err, err
    text = " ".join(out.split())
    assert "With the weights of start.safetensors:" in text


def test_what_cannot_be_pruned_writes_nothing(pictures, deep, here, tmp_path):
    torch.manual_seed(0)
    odd = nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5), nn.Linear(5, 2)).eval()
    (tmp_path / "odd.pt2").write_bytes(program_bytes(odd, torch.randn(3, 4)))
    torch.save({"0.weight": torch.ones(4, 2, 3, 3), "2.weight": torch.ones(3, 4, 1, 1)}, tmp_path / "conv.pt")
    save(torch_default((4, 12, 8, 3), seeds=[0]), tmp_path / "other.safetensors")
    np.savez(tmp_path / "wide.npz", X=np.zeros((30, 3, 8, 8)))
    np.savez(tmp_path / "classes.npz", X=np.load(tmp_path / "x.npy"), y=np.arange(300))
    out = ("-o", "small.pt2")
    one_line(here("prune", "odd.pt2", "-d", "x.npy", *out), "0 enters", "layer_norm")
    one_line(here("prune", "conv.pt", "-d", "x.npz", *out), "conv.pt", ".pt2 with torch.export.save")
    one_line(here("prune", "net.pt2", "-d", "wide.npz", *out), "shape (any, 2, 8, 8)")
    net = ("prune", "net.safetensors", "-d", "x.npy")
    one_line(here(*net, "--keep", "3", *out), "each of the 2 layers", "got 1: 3")
    one_line(here(*net, "--keep", "3,x", *out), "whole numbers separated by commas, such as 64,32, got 3,x")
    one_line(here(*net, "--keep", "3,3", "--keep-macs", "0.5", *out), "got both")
    one_line(here(*net, "--keep-macs", "0.01", *out), "one node in each layer")
    one_line(here(*net, "--by", "size", *out), "--by")
    one_line(here(*net, "--fine-tune", "-1", *out), "--fine-tune")
    one_line(here(*net, "--teacher", "net.safetensors", *out), "two-layer networks")
    one_line(here(*net, "--rewind", "other.safetensors", *out), "4-12-8-3", "4-12-9-3")
    one_line(here("prune", "net.safetensors", "-d", "classes.npz", "--fine-tune", "3", *out), "classes.npz", "labels")
    assert not (tmp_path / "small.pt2").exists()
    note = json.loads(here("prune", "net.safetensors", "-d", "classes.npz", "--json")[1])["notes"]
    assert any("no accuracy was computed" in text for text in note)


def test_matches_of_two_networks(deep, here, tmp_path):
    net, b = deep, torch_default((4, 14, 9, 3), seeds=[5], slope=0.1)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    b.W[0].data[..., :12], b.b[0].data[..., :12] = net.W[0].data[..., order], net.b[0].data[..., order]
    b.W[0].data[..., 12], b.b[0].data[..., 12] = 3 * net.W[0].data[..., 2], 3 * net.b[0].data[..., 2]
    save(b, tmp_path / "b.safetensors")
    words = ("measure", "match", "net.safetensors", "b.safetensors", "-d", "x.npy")
    code, out, err = here(*words, "--json", "--out", "matches.csv")
    first, second = json.loads(out)["layers"]
    where = order.argsort().tolist()
    assert code == 0 and not err and first["matched"] == 12 and first["several"] >= 1
    assert {where[2], 12} <= set(first["nodes"][2]["each"]) and first["nodes"][5]["together"] == [where[5]]
    assert second["matched"] < 9 and all(len(node["together"]) <= 4 for node in second["nodes"])
    with (tmp_path / "matches.csv").open() as file:
        rows = list(csv.DictReader(file))
    each = [int(row["b"]) for row in rows if (row["layer"], row["a"], row["how"]) == ("1", "2", "each")]
    assert each == first["nodes"][2]["each"] and {row["how"] for row in rows} == {"one-to-one", "each", "together"}
    text = " ".join(here(*words, "--layer", "1:1")[1].split())
    assert "matched by one unit 12 of 12" in text
    one_line(here(*words, "--layer", "1-1"), "pairs A:B")
    one_line(here(*words, "--threshold", "1"), "--threshold")


def test_a_path_between_two_programs_is_measured_and_written(pictures, here, tmp_path):
    torch.manual_seed(3)
    other, x = made("residual")
    with torch.no_grad():
        for p in other.parameters():
            p.add_(0.3 * torch.randn_like(p) * p.abs().mean())
    (tmp_path / "other.pt2").write_bytes(program_bytes(other, x))
    words = ("measure", "connect", "net.pt2", "other.pt2", "--data", "x.npz", "--steps", "2")
    code, out, err = here(*words, "--json", "--out", "path.npz")
    document = json.loads(out)
    assert code == 0 and not err and document["kept"] == [n // 2 for n in document["nodes"]]
    with np.load(tmp_path / "path.npz") as path, np.load(tmp_path / "x.npz") as data, torch.no_grad():
        assert [str(move) for move in path["moves"]] == [row["move"] for row in document["segments"]]
        for index, net, end in ((0, pictures, 0), (-1, other, 1)):
            state = {key: torch.as_tensor(path[key][index]) for key in net.state_dict() if key in path}
            copy, _ = made("residual")
            copy.load_state_dict({**copy.state_dict(), **state})
            f = copy.double().eval()(torch.from_numpy(data["X"])[1::2].double())
            loss = nn.functional.cross_entropy(f, torch.from_numpy(data["y"])[1::2])
            assert float(loss) == pytest.approx(document["ends"][end], rel=1e-4)
    one_line(here(*words, "--keep", "many"), "--keep: expected numbers such as 8 or 8,16, got many")
    one_line(here(*words, "--keep", "1,1"), "hidden layers to be kept")
