"""What users have besides weights: checkpoints of whole trainings, and tables with repeated names."""

import numpy as np
import torch

from relulab import load
from relulab.io.data_formats import read_contents
from relulab.io.tensors import computed_bytes


def test_a_checkpoint_with_optimizer_and_schedulers_is_read(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(net.parameters())
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])  # its state has a Counter
    x = torch.randn(5, 3)
    net(x).sum().backward()
    optimizer.step()
    content = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    torch.save({**content, "seen": {1, 2}, "z": 1j, "loss": [0.1]}, tmp_path / "a.pt")
    assert torch.allclose(load(tmp_path / "a.pt")(x).squeeze(0), net(x))


def test_columns_with_one_name_are_read_by_position(tmp_path):
    import pyarrow
    from pyarrow.parquet import write_table

    columns = [pyarrow.array([1.0, 2.0]), pyarrow.array([3.0, 4.0]), pyarrow.array(["a", "b"])]
    write_table(pyarrow.table(columns, names=["x", "x", "t"]), tmp_path / "a.parquet")
    table = read_contents(tmp_path / "a.parquet").table
    assert table is not None and table.frame.iloc[:, :2].values.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_single_precision_counts_as_four_bytes():
    sizes = [computed_bytes(np.zeros(10, kind)) for kind in (np.float16, np.float32, np.float64, np.uint8, bool)]
    assert sizes == [40, 40, 80, 80, 80]
