"""BatchNorm layers in a state dict: each is folded into the linear layer before or after it."""

import re

from torch import Tensor

from relulab.core.errors import UserError
from relulab.nets.plain_layers import batch_norm_map, scaled_inputs, scaled_outputs

EPSILON = 1e-5  # PyTorch's default; a state dict does not contain it
PARTS = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")


def fold_batch_norms(tensors: dict[str, Tensor], where: str) -> tuple[dict[str, Tensor], str]:
    """Return the tensors of the same function without BatchNorm, and a note on what was assumed ("" without any).

    In an ``nn.Sequential``, the numbers show whether a BatchNorm comes after a linear layer or before one. Layers with
    the same number in their names, such as fc1 and bn1, belong together, and BatchNorm is assumed to come before the
    activation.

    Args:
        tensors: The tensors of a network by name.
        where: The name of the file, for error messages.
    """
    norms = [name.removesuffix("running_mean").rstrip(".") for name in tensors if name.endswith("running_mean")]
    if not norms:
        return tensors, ""
    kept = dict(tensors)
    parts = {norm: [kept.pop(f"{norm}.{part}".lstrip("."), None) for part in PARTS] for norm in norms}
    linears = [name.removesuffix(".weight") for name, t in kept.items() if name.endswith(".weight") and t.dim() == 2]
    assumed = []
    for norm, (weight, bias, mean, variance, _) in parts.items():
        if mean is None or variance is None:
            raise UserError(f"{where}: {norm} has a running mean or variance but not both: save the whole state dict")
        linear, before = _neighbor(norm, linears, where)
        layer = kept[f"{linear}.weight"], kept.get(f"{linear}.bias")
        s, t = batch_norm_map(weight, bias, mean, variance, EPSILON)
        if len(s) != layer[0].shape[0 if before else 1]:
            raise UserError(
                f"{where}: {norm} has {len(s)} features, which do not fit the layer {linear} of shape "
                f"{tuple(layer[0].shape)}: save the network as .pt2 with torch.export.save"
            )
        kept[f"{linear}.weight"], kept[f"{linear}.bias"] = (scaled_outputs if before else scaled_inputs)(layer, s, t)
        if before and not _numbers_only(norm):
            assumed.append(norm)
    order = f", with {', '.join(assumed)} before the activation" if assumed else ""
    return kept, f"BatchNorm was folded into the linear layers of {where} (eps = 1e-5 is assumed{order})"


def _neighbor(norm: str, linears: list[str], where: str) -> tuple[str, bool]:
    """Return the linear layer that a BatchNorm belongs to, and whether that layer comes before it."""
    stem, number = _split(norm)
    if _numbers_only(norm):
        numbered = {_split(name)[1]: name for name in linears if _split(name)[0] == stem}
        for step, before in ((-1, True), (1, False)):
            if number is not None and number + step in numbered:
                return numbered[number + step], before
    else:
        same = [name for name in linears if _split(name)[1] == number]
        if len(same) == 1:
            return same[0], True
    raise UserError(
        f"{where}: it is not clear which linear layer the BatchNorm {norm} belongs to: call model.eval() and save the "
        "network as .pt2 with torch.export.save"
    )


def _split(name: str) -> tuple[str, int | None]:
    """Split a name into everything but its last number, and that number."""
    found = re.search(r"(\d{1,9})(?!.*\d)", name)
    return (name, None) if found is None else (name[: found.start()], int(found[1]))


def _numbers_only(name: str) -> bool:
    """Whether the last part of a name is a number, as in an nn.Sequential."""
    return name.rpartition(".")[2].isdecimal()
