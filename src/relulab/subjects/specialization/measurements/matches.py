"""Correlations of two networks as a table, a file or a picture: which unit follows which."""

from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure
from torch import Tensor

from relulab.lab.run.store import PICTURES, check_place, encode, write_bytes
from relulab.lab.show.figure import drawn, house_style, panels
from relulab.subjects.specialization.instruments.correlation import best_match, recovered, rho_mean

ENDINGS = (".nc", ".csv", *PICTURES)


def matches(rho: dict[str, Tensor], threshold: float) -> list[dict]:
    """A row a hidden layer (and lane): its ρ_mean, the nodes recovered, and the best follower of every node."""
    rows = []
    for layer, one in _lanes(rho):
        best, which = best_match(one)
        nodes = [
            {"node": j, "best": int(k), "rho": round(float(r), 6)}
            for j, (r, k) in enumerate(zip(best, which, strict=True))
        ]
        rows.append({
            "layer": layer, "a": one.shape[0], "b": one.shape[1], "rho_mean": float(rho_mean(one)),
            "recovered": int(recovered(one, threshold).sum()), "nodes": nodes,
        })  # fmt: skip
    return rows


def _lanes(rho: dict[str, Tensor]) -> list[tuple[str, Tensor]]:
    """Every matrix by the name of its layer; of networks with several lanes, by lane as well."""
    found = []
    for layer, matrix in rho.items():
        lanes = matrix if matrix.dim() == 3 else matrix[None]
        found += [(layer if len(lanes) == 1 else f"{layer}, lane {i}", one) for i, one in enumerate(lanes)]
    return found


def write(rho: dict[str, Tensor], path: Path) -> None:
    """All correlations: a variable a layer in netCDF, a row a pair in CSV, or a picture."""
    check_place(path, ENDINGS)
    if path.suffix in (".nc", ".csv"):
        data = {
            f"layer {layer}": xr.DataArray(one.numpy(), dims=(f"a {layer}", f"b {layer}"), name="rho")
            for layer, one in _lanes(rho)
        }
        if path.suffix == ".nc":
            write_bytes(path, encode(xr.Dataset(data)))
        else:
            lines = ["layer,a,b,rho"]
            for layer, one in _lanes(rho):
                lines += [f'"{layer}",{j},{k},{r!r}' for j, row in enumerate(one.tolist()) for k, r in enumerate(row)]
            write_bytes(path, ("\n".join(lines) + "\n").encode())
    else:
        write_bytes(path, drawn(picture(rho), path.suffix[1:]))


def picture(rho: dict[str, Tensor]) -> Figure:
    """A panel a layer: students by the teacher node that they follow best, so that specialisation is a diagonal."""
    lanes = _lanes(rho)
    with house_style():
        figure, axes = panels(1, len(lanes), width=3.2, height=2.6)
        for ax, (layer, one) in zip(axes[0], lanes, strict=True):
            order = one.argmax(0).argsort(stable=True)
            image = ax.imshow(
                one[:, order].numpy(), vmin=-1, vmax=1, cmap="RdBu", aspect="auto", interpolation="nearest"
            )
            ax.set(title=f"layer {layer}", xlabel="units of B, by best match", ylabel="unit of A")
        figure.colorbar(image, ax=list(axes[0]), label="correlation ρ")
    return figure
