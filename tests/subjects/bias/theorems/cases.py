"""Cases of the theorems on inductive bias with their verdicts, and the changes that keep them."""

import math
from copy import deepcopy
from functools import cache

import numpy as np
import torch
from changes import exchanged, float32, own_lengths, permuted, repeated, rotated, scaled, units_permuted
from theorem_battery import Case, Cases

from relulab.core.errors import UserError
from relulab.data.labeled import Labeled
from relulab.flow.gradient_flow import gradient_flow
from relulab.lab.theorem import Verdict
from relulab.nets.initial import balanced
from relulab.subjects.bias.theorems.gain_near_a_direction import directions
from relulab.subjects.bias.tools.orthants import SpanningSupports

HOLDS, REFUTED, NOT_APPLICABLE, INCONCLUSIVE = (
    Verdict.HOLDS,
    Verdict.REFUTED,
    Verdict.NOT_APPLICABLE,
    Verdict.INCONCLUSIVE,
)
NO_UNITS = "no network is given: the theorem is about points"
UNBALANCED = "rescaled neurons are not balanced: another flow"
OWN_START = "the network is drawn by the check, so that its units have no order or size of their own"


def table(rows: list, y: list) -> Labeled:
    return Labeled(torch.tensor(rows, dtype=torch.float64), torch.tensor(y, dtype=torch.float64))


def orthants(rng: np.random.Generator, d: int = 3, n: int = 8) -> Labeled:
    """Points in opposite orthants, which are orthogonally separable; the classes take turns."""
    y = (-1.0) ** np.arange(n)
    return Labeled(torch.from_numpy(y[:, None] * np.abs(rng.standard_normal((n, d)))), torch.from_numpy(y))


def right_angles() -> Labeled:
    """Integers with exact right angles between the classes."""
    return table([[1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 2], [-1, 0, 3, 0]], [1, 1, -1, -1, -1])


def obtuse() -> Labeled:
    """Linearly, but not orthogonally separable."""
    return table([[1, 3], [1, -3], [-1, 0]], [1, 1, -1])


def lengths(rng: np.random.Generator) -> Labeled:
    """Orthogonally separable points with norms from 1e-10 to 1e7 in one table."""
    data = orthants(rng, 3, 10)
    norms = torch.logspace(-10, 7, 10, dtype=torch.float64)[torch.from_numpy(rng.permutation(10))]
    return data._replace(X=data.X / data.X.norm(dim=1, keepdim=True) * norms[:, None])


NOT_SEPARABLE = (
    ("one point", table([[1, 2]], [1])),
    ("one class", table([[1, 2], [2, 1]], [1, 1])),
    ("a right angle within a class", table([[1, 0], [0, 1], [-1, -1]], [1, 1, -1])),
    ("an acute angle between classes", table([[1, 1], [1, 0], [-1, 2]], [1, 1, -1])),
    ("a zero row", table([[1, 1], [0, 0], [-1, -1]], [1, 1, -1])),
    ("obtuse", obtuse()),
)
SEPARABLE = (
    ("one point of each class", table([[1, 0], [-1, 0]], [1, -1])),
    ("a right angle of one point each", table([[1, 0], [0, 1]], [1, -1])),
    ("collinear points", table([[1, 1], [2, 2], [-1, -1]], [1, 1, -1])),
    ("integers with right angles", right_angles()),
)


def as_columns(data: Labeled) -> dict:
    return {"X": data.X, "y": data.y, "starts": 12}


def fixed(tables: tuple, expected, make, **options) -> tuple[Case, ...]:
    return tuple(Case(what, expected, lambda rng, data=data: make(data) | options) for what, data in tables)


def geometry(*names: str) -> tuple:
    """Changes of labeled points that keep the signs of all inner products."""
    points = names[:1]
    return (
        *scaled(*points),
        rotated(*points),
        permuted(*names),
        repeated(*names),
        exchanged(names[-1]),
        float32(*points),
    )


L2 = Cases(
    (
        Case("orthants", HOLDS, lambda rng: as_columns(orthants(rng))),
        Case("orthants, sectors exchanged", REFUTED, lambda rng: as_columns(orthants(rng)) | {"exchanged": True}),
        Case("obtuse, for linear separability", REFUTED, lambda rng: as_columns(obtuse()) | {"linear": True},
             but=("own lengths", "classes")),
        Case("norms from 1e-10 to 1e7", HOLDS, lambda rng: as_columns(lengths(rng))),
        Case("a length of 1e-10 beside a right angle", HOLDS,
             lambda rng: as_columns(table([[0, 1], [1e-10, 1e-10], [-1, 0], [-1, -1]], [1, 1, -1, -1])),
             but=("own lengths",)),
        Case("three points in one dimension, where no direction has a neighbor", UserError,
             lambda rng: as_columns(table([[1], [2], [-1]], [1, 1, -1]))),
        Case("points that no hyperplane separates, for linear separability", NOT_APPLICABLE,
             lambda rng: as_columns(table([[1, 0], [-1, 0], [0, 1]], [1, 1, -1])) | {"linear": True}),
        *fixed(SEPARABLE, HOLDS, as_columns),
        *fixed(NOT_SEPARABLE, NOT_APPLICABLE, as_columns),
    ),
    (*geometry("X", "y"), own_lengths("X")),
    {"units permuted": NO_UNITS, "units rescaled": NO_UNITS},
)  # fmt: skip

LC1 = Cases(
    (
        Case("orthants", HOLDS, lambda rng: {"data": orthants(rng)}),
        Case("u and z 1% longer", REFUTED, lambda rng: {"data": orthants(rng), "size": 1.01}),
        Case("u and z 1% shorter", REFUTED, lambda rng: {"data": orthants(rng), "size": 0.99}),
        Case("norms from 1e-10 to 1e7", HOLDS, lambda rng: {"data": lengths(rng)}),
        *fixed(SEPARABLE, HOLDS, lambda data: {"data": data}),
        *fixed(NOT_SEPARABLE, NOT_APPLICABLE, lambda data: {"data": data}),
    ),
    (*geometry("data"), own_lengths("data")),
    {"units permuted": OWN_START, "units rescaled": OWN_START},
)  # fmt: skip

FLOW = {"width": 6, "step": 0.8}
L3_OPTIONS = FLOW | {"size": 1e-4, "until": 3.0}
START = {"size": -0.5}  # weights in units of ‖x‖^{−1/2}, so that a_j w_jᵀx stays what it is

L3 = Cases(
    (
        Case("orthants", HOLDS, lambda rng: {"data": orthants(rng), **L3_OPTIONS}),
        Case("a start so large that the loss does not fall", UserError,
             lambda rng: {"data": orthants(rng), **L3_OPTIONS, "size": 1e8}),
        Case("neurons leave no sector at all", REFUTED,
             lambda rng: {"data": orthants(rng, 3, 12), **L3_OPTIONS, "width": 16, "everywhere": True}),
        Case("the hinge loss", NOT_APPLICABLE, lambda rng: {"data": orthants(rng), **L3_OPTIONS, "loss": "hinge"}),
        *fixed(NOT_SEPARABLE, NOT_APPLICABLE, lambda data: {"data": data}, **L3_OPTIONS),
    ),
    (*scaled("data", also=START), rotated("data"), permuted("data"), repeated("data"), float32("data")),
    {"units permuted": OWN_START, "units rescaled": UNBALANCED},
    quick=("scaled 1e+100", "permuted"),
)  # fmt: skip


def random_labels(rng: np.random.Generator) -> Labeled:
    return Labeled(torch.from_numpy(rng.standard_normal((6, 2))), torch.from_numpy(rng.choice((-1.0, 1.0), 6)))


def start(rng: np.random.Generator, even: bool = True):
    net = balanced((2, 4, 1), [int(rng.integers(1000))], size=0.05)
    if not even:
        net.W[1].data *= 1.01
    return net


L4_OPTIONS = {"width": 4, "size": 0.05, "steps": 6}

L4 = Cases(
    (
        Case("random labels", HOLDS, lambda rng: {"data": random_labels(rng), **L4_OPTIONS}),
        Case("a start", HOLDS, lambda rng: {"data": random_labels(rng), "start": start(rng), "steps": 6},
             but=("scaled", "float32")),
        Case("a start, the sum", REFUTED,
             lambda rng: {"data": random_labels(rng), "start": start(rng), "steps": 6, "sums": True},
             but=("scaled", "float32")),
        Case("the squared loss", NOT_APPLICABLE, lambda rng: {"data": random_labels(rng), "loss": "squared"}),
        Case("the sum", REFUTED, lambda rng: {"data": random_labels(rng), **L4_OPTIONS, "sums": True}),
        Case("a start that is not balanced", NOT_APPLICABLE,
             lambda rng: {"data": random_labels(rng), "start": start(rng, even=False)}, but=("scaled",)),
        Case("a path that does not move: zero points", INCONCLUSIVE,
             lambda rng: {"data": table([[0, 0], [0, 0]], [1, -1]), **L4_OPTIONS}),
        Case("a path that does not move: a tiny step", INCONCLUSIVE,
             lambda rng: {"data": random_labels(rng), **L4_OPTIONS, "step": 1e-5, "steps": 2}),
        Case("one point", HOLDS, lambda rng: {"data": table([[1.0, 0.5]], [1]), **L4_OPTIONS}),
        Case("one dimension", HOLDS, lambda rng: {"data": table([[1.0], [-2]], [1, -1]), **L4_OPTIONS}),
    ),
    (*scaled("data", also=START), rotated("data", weights=("start",)), permuted("data"), repeated("data"),
     float32("data", "start"), units_permuted("start")),
    {"units rescaled": UNBALANCED},
    quick=("scaled 1e-100", "scaled 1e+100", "units permuted"),
)  # fmt: skip

T1_OPTIONS = {"width": 5, "until": 300.0, "step": 0.8}


def spanning(rng: np.random.Generator) -> dict:
    return {"data": SpanningSupports(2).draw(rng, 8), "size": 1e-8, **T1_OPTIONS}


def one_support(label: int):
    """Data in which the support examples of one class do not span; the path is short, since a condition fails."""

    def make(rng: np.random.Generator) -> dict:
        problem = spanning(rng)
        X, y = problem["data"].X, problem["data"].y
        other = Labeled(torch.cat([X[y != label], label * torch.ones(1, 2).double()]),
                        torch.cat([y[y != label], torch.tensor([label]).double()]))  # fmt: skip
        return problem | {"data": other, "until": 2.0}

    return make


def started(scale: float):
    """A start with ‖w_j‖ = scale |a_j|."""

    def make(rng: np.random.Generator) -> dict:
        net = balanced((2, 5, 1), [0], size=1e-8)
        net.W[1].data *= scale
        return {"data": SpanningSupports(2).draw(rng, 8), "start": net, "until": 2.0, "step": 0.8}

    return make


def all_off(rng: np.random.Generator) -> dict:
    """Neurons that are active on no point from the start."""
    net = balanced((2, 2, 1), [0], size=1e-8)
    net.W[0].data[0] = -torch.ones(2, 2).double() * 1e-8 / math.sqrt(2)
    data = table([[1, 0.05], [1, -0.05], [-0.2, 1.15], [-0.8, 0.85]], [1, 1, -1, -1])
    return {"data": data, "start": net, "until": 2.0, "step": 0.8}


def flowed(rng: np.random.Generator, until: float = 300) -> dict:
    """A network with the start from which gradient flow has led to it."""
    return deepcopy(trained(int(rng.integers(1000)), until))


@cache
def trained(seed: int, until: float) -> dict:
    data = SpanningSupports(2).draw(np.random.default_rng(seed), 8)
    nets = {name: balanced((2, 5, 1), [0], size=1e-8) for name in ("network", "start")}
    gradient_flow(nets["network"], data.X, data.y, until=until, step=0.4)
    return {"data": data, **nets}


def by_hand(rng: np.random.Generator) -> dict:
    """The same neurons with other sizes, to which the flow does not lead; the start is another matter."""
    problem = flowed(rng)
    sizes = torch.linspace(0.6, 1.4, 5, dtype=torch.float64)
    problem["network"].W[0].data *= sizes
    problem["network"].W[1].data *= sizes[:, None]
    return problem


def uneven(rng: np.random.Generator) -> dict:
    """A network whose output weights are 3% too large for gradient flow."""
    problem = flowed(rng)
    problem["network"].W[1].data *= 1.03
    return problem


def limit_cases(variant: str) -> Cases:
    """The same for the limit of the weights and for that of the function, whose conditions are the same."""
    return Cases(
        (
            Case("supports that span", HOLDS, spanning),
            Case("the false variant", REFUTED, lambda rng: spanning(rng) | {variant: True, "until": 1000.0}),
            Case("a start far from zero", NOT_APPLICABLE, lambda rng: spanning(rng) | {"size": 0.5, "until": 2.0}),
            Case("positive supports that do not span", NOT_APPLICABLE, one_support(1)),
            Case("negative supports that do not span", NOT_APPLICABLE, one_support(-1)),
            Case("a start that is not balanced", NOT_APPLICABLE, started(1.001), but=("scaled",)),
            Case("neurons that are all off", NOT_APPLICABLE, all_off, but=("scaled",)),
            Case("a network and its start", HOLDS, flowed, but=("scaled", "repeated")),
            Case("a network without its start", INCONCLUSIVE, lambda rng: flowed(rng) | {"start": None},
                 but=("scaled", "repeated")),
            Case("a network made by hand", NOT_APPLICABLE, by_hand, but=("scaled", "repeated")),
            Case("a network that is not balanced", NOT_APPLICABLE, uneven, but=("scaled", "repeated")),
            Case("a network and its start, the false variant", REFUTED, lambda rng: flowed(rng, 1001) | {variant: True},
                 but=("scaled", "repeated"), slow=True),
            Case("a loss with a power for its tail", NOT_APPLICABLE, lambda rng: spanning(rng) | {"loss": "rational"}),
            Case("a loss whose derivative is not bounded", NOT_APPLICABLE,
                 lambda rng: spanning(rng) | {"loss": "exponential", "until": 2.0}),
            *fixed(NOT_SEPARABLE, NOT_APPLICABLE, lambda data: {"data": data}, **T1_OPTIONS, size=1e-8),
        ),
        (*scaled("data", also=START), rotated("data", weights=("start", "network")), permuted("data"),
         repeated("data"), float32("data"), units_permuted("network", "start")),
        { "units rescaled": UNBALANCED},
        quick=("scaled 1e+100",),
    )  # fmt: skip


def labeled(data: Labeled) -> dict:
    return {"data": data}


def mixed(rng: np.random.Generator, n: int = 6, d: int = 3) -> Labeled:
    """Points with random labels, both of which occur."""
    X, y = torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.choice((-1.0, 1.0), n))
    y[0], y[-1] = 1, -1
    return Labeled(X, y)


def wide(data: Labeled, rng: np.random.Generator) -> Labeled:
    """The same directions with lengths from 1e-10 to 1e7."""
    norms = torch.logspace(-10, 7, len(data.X), dtype=torch.float64)[torch.from_numpy(rng.permutation(len(data.X)))]
    return data._replace(X=data.X / data.X.norm(dim=1, keepdim=True) * norms[:, None])


DEGENERATE = (
    ("one point", table([[1, 2]], [1])),
    ("one dimension", table([[1], [2], [-3]], [1, 1, -1])),
    ("a zero row", table([[1, 2], [0, 0], [-1, 1]], [1, 1, -1])),
    ("collinear points", table([[1, 1], [2, 2], [-1, -1]], [1, 1, -1])),
    ("integers with right angles", right_angles()),
    ("integers", table([[2, 1], [1, -1], [-1, 2]], [1, -1, -1])),
)

LA1_OPTIONS = {"starts": 4}
LA1 = Cases(
    (
        Case("random labels", HOLDS, lambda rng: labeled(mixed(rng, 8)) | LA1_OPTIONS),
        Case("random labels, without the projection", REFUTED,
             lambda rng: labeled(mixed(rng, 12, 4)) | {"starts": 12, "plain": True}),
        Case("zero points, with no extremal direction", NOT_APPLICABLE,
             lambda rng: labeled(table([[0, 0], [0, 0]], [1, -1])) | LA1_OPTIONS),
        Case("random directions", NOT_APPLICABLE,
             lambda rng: labeled(mixed(rng)) | {"w": torch.from_numpy(rng.standard_normal((3, 3)))}),
        Case("the mean of points in one open half space", HOLDS,
             lambda rng: {"data": table([[1, 0.1], [1, -0.1], [-1, 0]], [1, 1, -1]),
                          "w": torch.tensor([[1.0, 0.0]]).double()}, but=("classes",)),
        Case("norms from 1e-10 to 1e7", HOLDS, lambda rng: labeled(wide(mixed(rng, 6), rng)) | LA1_OPTIONS),
        *fixed(DEGENERATE, HOLDS, labeled, **LA1_OPTIONS),
    ),
    (*scaled("data"), rotated("data", weights=("w",)), permuted("data"), repeated("data"), exchanged("data"),
     float32("data")),
    {"units permuted": NO_UNITS, "units rescaled": NO_UNITS},
)  # fmt: skip


def near(rng: np.random.Generator, data: Labeled | None = None, count: int = 12) -> dict:
    """Directions w, half of them on kinks, and v."""
    data = mixed(rng, 8) if data is None else data
    w, v = directions(data, count, int(rng.integers(1000)))
    return {"data": data, "w": w, "v": v}


def longer(rng: np.random.Generator) -> dict:
    problem = near(rng)
    return problem | {"w": problem["w"] * (1 + 1e-6)}


LA2 = Cases(
    (
        Case("half of the directions on kinks", HOLDS, near),
        Case("up to 8 ε_max", REFUTED, lambda rng: near(rng) | {"beyond": True}),
        Case("the indicators of w", REFUTED, lambda rng: near(rng) | {"fixed": True}),
        Case("w that are too long by 1e-6", NOT_APPLICABLE, longer),
        Case("norms from 1e-10 to 1e7", HOLDS, lambda rng: near(rng, wide(mixed(rng, 8), rng))),
        *(Case(what, HOLDS, lambda rng, data=data: near(rng, data)) for what, data in DEGENERATE),
    ),
    (*scaled("data"), rotated("data", weights=("w", "v")), permuted("data"), repeated("data"), exchanged("data"),
     float32("data")),
    {"units permuted": NO_UNITS, "units rescaled": NO_UNITS},
)  # fmt: skip

ACUTE = table([[1, 0], [0.5, 1]], [1, -1])
LA3_OPTIONS = {"width": 8, "windows": 1}
REACHES = table([[2.574023189963745, 0.48179797619192904], [0.6435466245355551, -0.2079266799144402]], [1, -1])

LA3 = Cases(
    (
        Case("an acute angle", HOLDS, lambda rng: labeled(ACUTE) | LA3_OPTIONS),
        Case("an acute angle, without the projection", REFUTED,
             lambda rng: labeled(ACUTE) | LA3_OPTIONS | {"plain": True}),
        Case("a neuron that reaches a kink within a window", HOLDS,
             lambda rng: labeled(REACHES) | LA3_OPTIONS | {"seed": 34}, but=("rotated",)),
        Case("right angles, where no neuron slides", INCONCLUSIVE,
             lambda rng: labeled(table([[1, 0], [0, 1]], [1, -1])) | LA3_OPTIONS),
        Case("every point and its double", NOT_APPLICABLE,
             lambda rng: labeled(table([[1, 0], [0.5, 1], [2, 0], [1, 2]], [1, -1, 1, -1]))),
        Case("a zero row", HOLDS,
             lambda rng: labeled(table([[1, 0], [0, 0], [0.5, 1]], [1, 1, -1])) | LA3_OPTIONS),
        *fixed((("one point", table([[1, 2]], [1])), ("one dimension", table([[1], [-2]], [1, -1])),
                ("collinear points", table([[1, 1], [-1, -1]], [1, -1]))), INCONCLUSIVE, labeled, **LA3_OPTIONS),
    ),
    (*scaled("data"), rotated("data"), permuted("data"), float32("data")),
    {"repeated": "a double has the same kink, which the lemma excludes", "units permuted": OWN_START,
     "units rescaled": OWN_START},
    quick=("scaled 1e+100",),
)  # fmt: skip

LB1_OPTIONS = {"width": 6, "until": 3.0, "step": 0.8}


def own_start(factor: float = 1.0):
    """Separable points with a start of which the norms of both layers have this ratio."""

    def make(rng: np.random.Generator) -> dict:
        net = balanced((3, 6, 1), [int(rng.integers(1000))], size=1e-3)
        net.W[1].data *= factor
        return {"data": orthants(rng), "start": net, "until": 3.0, "step": 0.8}

    return make


LB1 = Cases(
    (
        Case("orthants", HOLDS, lambda rng: labeled(orthants(rng)) | LB1_OPTIONS),
        Case("orthants, the other class", REFUTED,
             lambda rng: labeled(orthants(rng, 3, 12)) | LB1_OPTIONS | {"width": 16, "other": True}),
        Case("a start", HOLDS, own_start(), but=("scaled",)),
        Case("a start that is not balanced", NOT_APPLICABLE, own_start(1.01), but=("scaled",)),
        Case("the hinge loss", NOT_APPLICABLE, lambda rng: labeled(orthants(rng)) | LB1_OPTIONS | {"loss": "hinge"}),
        *fixed(NOT_SEPARABLE, NOT_APPLICABLE, labeled, **LB1_OPTIONS),
    ),
    (*scaled("data"), rotated("data", weights=("start",)), permuted("data"), repeated("data"), float32("data"),
     units_permuted("start")),
    {"units rescaled": UNBALANCED},
    quick=("scaled 1e+100", "permuted", "units permuted"),
)  # fmt: skip

SURVIVAL = {"widths": (1,), "starts": 100}

T1_START = Cases(
    (
        Case("two points of each class, 79 degrees apart", HOLDS,
             lambda rng: labeled(table([[1, 0.1], [0.1, 1], [-1, -0.1], [-0.1, -1]], [1, 1, -1, -1])) | SURVIVAL),
        Case("a right angle, copies of one neuron", REFUTED,
             lambda rng: labeled(table([[1, 0], [0, 1]], [1, -1])) | {"widths": (3,), "starts": 300, "copies": True}),
        Case("collinear points", HOLDS, lambda rng: labeled(table([[1, 1], [2, 2], [-1, -1]], [1, 1, -1])) | SURVIVAL),
        Case("one dimension", HOLDS, lambda rng: labeled(table([[1], [2], [-1]], [1, 1, -1])) | SURVIVAL),
        *fixed(NOT_SEPARABLE, NOT_APPLICABLE, labeled),
    ),
    (*scaled("data"), rotated("data"), permuted("data"), repeated("data"), exchanged("data"), float32("data")),
    {"units permuted": OWN_START, "units rescaled": OWN_START},
    quick=("scaled 1e+100",),
)  # fmt: skip

CASES = {
    "IB.L2": L2, "IB.LC1": LC1, "IB.L3": L3, "IB.L4": L4,
    "IB.T1": limit_cases("linear"), "IB.C1": limit_cases("linear"),
    "IB.LA1": LA1, "IB.LA2": LA2, "IB.LA3": LA3, "IB.LB1": LB1, "IB.T1.start": T1_START,
}  # fmt: skip
