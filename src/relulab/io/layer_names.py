"""From named tensors to layers: the usual namings of fully connected networks, and what to say of all others."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, permutations

from torch import Tensor

from relulab.core.errors import UserError

WRAPPERS = re.compile(r"^((module|_orig_mod|model|net|network|mlp)\.)+")
WEIGHT = re.compile(r"(?P<stem>.*?)(?P<kind>weights?|kernel|w)(?P<tail>[._]?\d*)", re.IGNORECASE)
BIAS = re.compile(r"(?P<stem>.*?)(?P<kind>bias(es)?|b)(?P<tail>[._]?\d*)", re.IGNORECASE)
FIRST, LAST = {"in", "input", "inputs", "first"}, {"out", "output", "outputs", "head", "last", "final", "classifier"}
UNNUMBERED = 6  # at most so many layers are tried in every order when their names have no numbers

Layer = tuple[Tensor, Tensor | None]
"""weight (out, in) and bias (out,), or both with a lane axis in front"""


def layers_of(tensors: dict[str, Tensor], where: str, *, lanes: bool = False, ordered: bool = False) -> list[Layer]:
    """The linear layers of a fully connected network, in order; weights as (out, in), as PyTorch has them.

    Understood are ``0.weight``, ``layers.0.weight``, ``fc1.weight``, ``W1`` with ``b1``, ``kernel`` with ``bias`` and
    the ``arr_0``, ``arr_1`` of ``np.savez``, also under ``module.`` or ``model.``. Numbers in the names give the order;
    without them, the order in the file if it keeps one (``ordered``), or else the only one in which the shapes fit.
    Weights called ``weight`` are taken as (out, in) and others as (in, out) unless their shapes or biases speak
    against it. With ``lanes`` every tensor has an axis of networks in front.
    """
    named = _positional({WRAPPERS.sub("", name): tensor for name, tensor in tensors.items()})
    if len(named) < len(tensors):
        raise UserError(f"{where}: two networks, one of them under module. or the like: keep one of them")
    weights, biases, plain = _paired(named, where, lanes)
    patterns = {re.sub(r"\d+", "#", key) for key in weights if re.search(r"\d", key)}
    if len(patterns) > 1:
        raise UserError(
            f"{where}: layers of several kinds ({', '.join(sorted(patterns)[:4])}) make no plain fully connected "
            "network; write a program with torch.export.save, which is read as it is"
        )
    found: list[list[Layer]] = []
    for orders in _orders(list(weights), ordered):
        for order in orders:
            for flip in (not plain, plain):
                layers = [(weights[key].mT if flip else weights[key], biases.get(key)) for key in order]
                if _fits(layers):
                    found.append(layers)
                    break
        if found:
            break
    if len(found) > 1:
        raise UserError(
            f"{where}: the names {', '.join(list(weights)[:6])} do not tell the order of the layers, and their shapes "
            "fit in several: number them, as in 0.weight, 1.weight"
        )
    if not found:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in list(named.items())[:8])
        raise UserError(f"{where}: these tensors do not follow each other as layers of one network: {shapes}")
    return found[0]


def _positional(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """The names that np.savez gives to arrays without one: matrices are weights, the vector after one is its bias."""
    if not all(re.fullmatch(r"arr_\d+", name) for name in named):
        return named
    found, layer = {}, 0
    for name in sorted(named, key=_number):
        layer += named[name].dim() != 1
        found[f"{'b' if named[name].dim() == 1 else 'W'}{layer}"] = named[name]
    return found if len(found) == len(named) else named


def _paired(named: dict[str, Tensor], where: str, lanes: bool) -> tuple[dict[str, Tensor], dict[str, Tensor], bool]:
    """Weights and biases by the name of their layer, and whether weights are called so; nothing else may be there."""
    weights: dict[str, Tensor] = {}
    biases: dict[str, Tensor] = {}
    kinds = set()
    for name, tensor in named.items():
        if (found := WEIGHT.fullmatch(name)) and tensor.dim() == 2 + lanes:
            weights[_layer(found)] = tensor
            kinds.add(found["kind"].lower())
        elif (found := BIAS.fullmatch(name)) and tensor.dim() == 1 + lanes:
            biases[_layer(found)] = tensor
        else:
            raise UserError(
                f"{where}: {name} of shape {tuple(tensor.shape)} is of no fully connected layer; any other network "
                "is read as a program that torch.export.save has written"
            )
    strays = sorted(set(biases) - set(weights))
    if strays or len(weights) + len(biases) < len(named):
        layer = f"layer {strays[0]!r}" if strays else "a layer"
        raise UserError(f"{where}: {layer} has a bias without a weight, or two of one kind")
    return weights, biases, bool(kinds & {"weight", "weights"})


def _layer(found: re.Match) -> str:
    return f"{found['stem'].rstrip('._')} {found['tail'].lstrip('._')}".strip()


def _orders(keys: list[str], ordered: bool) -> Iterator[Iterable[Sequence[str]]]:
    """Orders that the names allow, the best first: of those that stand together only one may fit.

    Numbers ascend, and layers with the name of a first or last one stand there. Where that leaves it open, the order
    in the file counts if it keeps one; else every order is tried, at last also against the names.
    """
    numbered = sorted((key for key in keys if re.search(r"\d", key)), key=_number)
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
        before = ([*first, *some, *numbered, *last] for some in permutations(loose))
        after = ([*first, *numbered, *some, *last] for some in permutations(loose) if loose and numbered)
        yield chain(before, after)
    if not numbered and len(keys) <= UNNUMBERED:
        yield permutations(keys)


def _words(key: str) -> set[str]:
    return set(re.split(r"[._ \d]", key.lower()))


def _number(key: str) -> list[tuple]:
    """Of two numbers the longer one is larger: names in a file may have more digits than Python turns into a number."""
    numbers = ((part.lstrip("0"), part) for part in re.split(r"(\d+)", key))
    return [(len(n), n) if part.isdecimal() else (-1, part) for n, part in numbers]


def _fits(layers: list[Layer]) -> bool:
    """Whether each layer takes what the one before puts out, and biases have the size of the output."""
    return (
        bool(layers)
        and len({W.shape[:-2] for W, _ in layers}) == 1
        and all(W.numel() for W, _ in layers)
        and all(W.shape[-1] == below.shape[-2] for (below, _), (W, _) in pairwise(layers))
        and all(b is None or b.shape == W.shape[:-1] for W, b in layers)
    )
