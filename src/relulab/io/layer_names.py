"""Find the layers of a fully connected network among named tensors, for the usual naming conventions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, permutations

from torch import Tensor

from relulab.core.errors import UserError

WRAPPERS = re.compile(r"^((module|_orig_mod|model|net|network|mlp)\.)+")
WEIGHT = re.compile(r"(?P<stem>.*?)(?P<kind>weights?|kernel|w)(?P<tail>[._]?\d*)", re.IGNORECASE)
BIAS = re.compile(r"(?P<stem>.*?)(?P<kind>bias(es)?|b)(?P<tail>[._]?\d*)", re.IGNORECASE)
FIRST, LAST = {"in", "input", "inputs", "first"}, {"out", "output", "outputs", "head", "last", "final", "classifier"}
UNNUMBERED = 6  # largest number of layers without numbers in their names for which every order is tried

Layer = tuple[Tensor, Tensor | None]
"""weight (out, in) and bias (out,), or both with a leading lane axis"""


def layers_of(tensors: dict[str, Tensor], where: str, *, lanes: bool = False, ordered: bool = False) -> list[Layer]:
    """Return the linear layers of a fully connected network in order, with weights of shape (out, in) as in PyTorch.

    Supported names are ``0.weight``, ``layers.0.weight``, ``fc1.weight``, ``W1`` with ``b1``, ``kernel`` with ``bias``,
    and ``arr_0``, ``arr_1`` of ``np.savez``, also with a prefix such as ``module.`` or ``model.``. Numbers in the names
    give the order. Without numbers, it is the order in the file if the format keeps it (``ordered``), and otherwise the
    only order in which the shapes fit. Weights named ``weight`` are read as (out, in) and all others as (in, out),
    unless this contradicts the shapes of the weights and biases.

    Args:
        tensors: The tensors of the network by name.
        where: The name of the file, for error messages.
        lanes: Whether every tensor has a leading lane axis.
        ordered: Whether the order of ``tensors`` is the order of the layers.
    """
    named = _positional({WRAPPERS.sub("", name): tensor for name, tensor in tensors.items()})
    if len(named) < len(tensors):
        raise UserError(
            f"{where}: expected one network, got two, one of them with a prefix such as 'module.': keep only one"
        )
    weights, biases, plain = _paired(named, where, lanes)
    patterns = {re.sub(r"\d+", "#", key) for key in weights if re.search(r"\d", key)}
    if len(patterns) > 1:
        raise UserError(
            f"{where}: expected a plain fully connected network, got several kinds of layers "
            f"({', '.join(sorted(patterns)[:4])}): save other networks as .pt2 with torch.export.save"
        )
    candidates: list[list[Layer]] = []
    for orders in _orders(list(weights), ordered):
        for order in orders:
            for flip in (not plain, plain):
                layers = [(weights[key].mT if flip else weights[key], biases.get(key)) for key in order]
                if _fits(layers):
                    candidates.append(layers)
                    break
        if candidates:
            break
    if len(candidates) > 1:
        raise UserError(
            f"{where}: the order of the layers {', '.join(list(weights)[:6])} is ambiguous, because their shapes fit "
            "in several orders: number the names, as in 0.weight, 1.weight"
        )
    if not candidates:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in list(named.items())[:8])
        raise UserError(
            f"{where}: expected the shapes of consecutive layers of one network, got {shapes}: check that the outputs "
            "of each layer match the inputs of the next and the size of its bias"
        )
    return candidates[0]


def _positional(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename the ``arr_0``, ``arr_1``, … of np.savez: a matrix is a weight, and the vector after it is its bias."""
    if not all(re.fullmatch(r"arr_\d+", name) for name in named):
        return named
    renamed, layer = {}, 0
    for name in sorted(named, key=natural_order):
        layer += named[name].dim() != 1
        renamed[f"{'b' if named[name].dim() == 1 else 'W'}{layer}"] = named[name]
    return renamed if len(renamed) == len(named) else named


def _paired(named: dict[str, Tensor], where: str, lanes: bool) -> tuple[dict[str, Tensor], dict[str, Tensor], bool]:
    """Return weights and biases by layer, and whether the weights are named "weight"; refuse all other tensors."""
    weights: dict[str, Tensor] = {}
    biases: dict[str, Tensor] = {}
    kinds = set()
    for name, tensor in named.items():
        if (match := WEIGHT.fullmatch(name)) and tensor.dim() == 2 + lanes:
            weights[_layer(match)] = tensor
            kinds.add(match["kind"].lower())
        elif (match := BIAS.fullmatch(name)) and tensor.dim() == 1 + lanes:
            biases[_layer(match)] = tensor
        else:
            raise UserError(
                f"{where}: expected only weights and biases of fully connected layers, got {name} of shape "
                f"{tuple(tensor.shape)}: save other networks as .pt2 with torch.export.save"
            )
    strays = sorted(set(biases) - set(weights))
    if strays or len(weights) + len(biases) < len(named):
        layer = f"layer {strays[0]!r}" if strays else "a layer"
        raise UserError(
            f"{where}: expected one weight and at most one bias per layer, but {layer} has a bias without a weight, or "
            "two weights or biases: rename or remove them"
        )
    return weights, biases, bool(kinds & {"weight", "weights"})


def _layer(match: re.Match) -> str:
    return f"{match['stem'].rstrip('._')} {match['tail'].lstrip('._')}".strip()


def _orders(keys: list[str], ordered: bool) -> Iterator[Iterable[Sequence[str]]]:
    """Yield groups of possible orders, the most plausible group first; in a group, only one order may fit the shapes.

    Numbers ascend, and layers with a name such as "input" or "output" come first or last. If this does not determine
    the order, the order in the file is used if the format keeps it. Otherwise every order is tried, in the end also
    orders that contradict the names.
    """
    numbered = sorted((key for key in keys if re.search(r"\d", key)), key=natural_order)
    first, last = ([key for key in keys if key not in numbered and _words(key) & names] for names in (FIRST, LAST))
    if len(first) > 1 or len(last) > 1:
        first, last = [], []
    loose = [key for key in keys if key not in (*numbered, *first, *last)]
    middle = [key for key in keys if key not in (*first, *last)]
    if not loose:
        yield [[*first, *numbered, *last]]
    elif ordered and [key for key in middle if key in numbered] == numbered:
        yield [[*first, *middle, *last]]
    if len(loose) <= UNNUMBERED:
        before = ([*first, *order, *numbered, *last] for order in permutations(loose))
        after = ([*first, *numbered, *order, *last] for order in permutations(loose) if loose and numbered)
        yield chain(before, after)
    if not numbered and len(keys) <= UNNUMBERED:
        yield permutations(keys)


def _words(key: str) -> set[str]:
    return set(re.split(r"[._ \d]", key.lower()))


def natural_order(key: str) -> list[tuple]:
    """Return a sort key that compares numbers by length, then by digits: they may be too long for Python's int().

    Args:
        key: A name with numbers.

    >>> sorted(["fc10", "fc9"], key=natural_order)
    ['fc9', 'fc10']
    """
    numbers = ((part.lstrip("0"), part) for part in re.split(r"(\d+)", key))
    return [(len(n), n) if part.isdecimal() else (-1, part) for n, part in numbers]


def _fits(layers: list[Layer]) -> bool:
    """Whether the inputs of each layer match the outputs of the layer before it, and biases match the outputs."""
    return (
        bool(layers)
        and len({W.shape[:-2] for W, _ in layers}) == 1
        and all(W.numel() for W, _ in layers)
        and all(W.shape[-1] == below.shape[-2] for (below, _), (W, _) in pairwise(layers))
        and all(b is None or b.shape == W.shape[:-1] for W, b in layers)
    )
