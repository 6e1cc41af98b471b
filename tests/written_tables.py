"""One table in every format that relulab reads."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file

RNG = np.random.default_rng(0)
X, Y = RNG.integers(-9, 9, (8, 3)) / 4, np.array([7, 1, 7, 2, 1, 7, 2, 1])
NAMES = ["a", "b", "c"]


def frame(label: str = "class", labels: np.ndarray = Y) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES).assign(**{label: labels})


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(folder: Path, name: str, labels: np.ndarray = Y) -> str:
    """Write the points and labels in the format of a name."""
    path, ending = folder / name, name.removesuffix(".gz").rpartition(".")[2]
    if ending in ("csv", "tsv", "txt"):
        separator = {"csv": ",", "tsv": "\t", "txt": ";"}[ending]
        frame(labels=labels).to_csv(path, index=False, sep=separator, compression="infer")
    elif ending == "parquet":
        frame(labels=labels).to_parquet(path)
    elif ending == "npz":
        np.savez(path, X=X, y=labels)
    elif ending == "safetensors":
        save_file({"X": torch.tensor(X), "y": torch.tensor(labels)}, path)
    elif ending in ("pt", "bin"):
        torch.save({"X": torch.tensor(X), "y": torch.tensor(labels)}, path)
    elif ending == "pth":
        torch.save((torch.tensor(X), torch.tensor(labels)), path)
    elif ending == "npy":
        with gzip.open(path, "wb") if name.endswith(".gz") else path.open("wb") as file:
            np.save(file, np.column_stack([X, labels]))
    return str(path)


FILES = ["x.csv", "x.csv.gz", "x.tsv", "x.tsv.gz", "x.txt", "x.txt.gz", "x.parquet", "x.npy", "x.npy.gz", "x.npz",
         "x.safetensors", "x.pt", "x.pth", "x.bin"]  # fmt: skip
