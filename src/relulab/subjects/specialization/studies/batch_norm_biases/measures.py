"""Saved networks, and their BatchNorm biases as one data set."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from relulab.core.errors import UserError, nearest
from relulab.data.data_folder import VARIABLE, data_folder
from relulab.io.saved_batch_norms import saved_batch_norms
from relulab.nets.batch_norm_layers import BatchNormLayer

FOLDER = "nets"
ENDINGS = (".npz", ".safetensors", ".pt", ".pth", ".bin", ".pt2")
HOW = (
    f"set the environment variable {VARIABLE}=DIR and put state dicts into the folder DIR/{FOLDER}, for instance "
    f"torch.save(model.state_dict(), 'DIR/{FOLDER}/vgg16_bn.pt') with model = "
    "torchvision.models.vgg16_bn(weights='DEFAULT'), which is one of the paper's networks"
)


def saved_networks(files: Sequence[str] = ()) -> dict[str, list[BatchNormLayer]]:
    """Read the BatchNorm layers of all networks in the folder nets of RELULAB_DATA; those without any are left out.

    Args:
        files: Names of files in that folder. Default: all.

    Returns:
        The layers by name of the file without its ending.
    """
    folder = data_folder("networks with BatchNorm are", HOW) / FOLDER
    found = sorted(path for path in folder.glob("*") if path.suffix in ENDINGS and path.is_file())
    if missing := [name for name in files if name not in {path.name for path in found}]:
        raise UserError(f"{folder} has no network {missing[0]!r}: {nearest(missing[0], [path.name for path in found])}")
    chosen = [path for path in found if not files or path.name in files]
    layers = {path: norms for path in chosen if (norms := saved_batch_norms(path).layers)}
    if not layers:
        raise UserError(f"networks with BatchNorm are required, but {folder} has none ({len(chosen)} files): {HOW}")
    stems = [path.stem for path in layers]
    return {path.stem if stems.count(path.stem) == 1 else path.name: norms for path, norms in layers.items()}


def dataset(networks: Mapping[str, Sequence[BatchNormLayer]]) -> xr.Dataset:
    """Return biases c_1 and weights c_0 by network, layer and unit, padded with NaN, and what is known of the layers.

    Args:
        networks: BatchNorm layers by name of the network.
    """
    depth = max(len(layers) for layers in networks.values())
    width = max(len(layer.bias) for layers in networks.values() for layer in layers)
    c_1, c_0 = np.full((2, len(networks), depth, width), np.nan)
    words = {name: np.full((len(networks), depth), "", dtype=object) for name in ("name", "place", "told_by")}
    for i, layers in enumerate(networks.values()):
        for l, layer in enumerate(layers):
            n = len(layer.bias)
            c_1[i, l, :n] = layer.bias.numpy()
            c_0[i, l, :n] = 1.0 if layer.weight is None else layer.weight.numpy()
            words["name"][i, l], words["place"][i, l] = layer.name, layer.place.value
            words["told_by"][i, l] = layer.told_by
    axes = ("network", "layer")
    return xr.Dataset(
        {"c_1": ((*axes, "unit"), c_1), "c_0": ((*axes, "unit"), c_0)}
        | {name: (axes, text.astype(str)) for name, text in words.items()},
        coords={"network": list(networks), "layer": np.arange(depth)},
    )


def counts(result: xr.Dataset, network: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the number of negative biases, and the number of biases, of every layer of a network.

    Args:
        result: The data set.
        network: Name of the network.
    """
    c_1 = result.c_1.sel(network=network, drop=True)
    total = c_1.notnull().sum("unit")
    here = (total > 0).values
    return (c_1 < 0).sum("unit")[here], total[here]
