"""Cases of the theorems on specialization with their verdicts, and the changes that keep them."""

from functools import partial

import numpy as np
import torch
from batch_norm_problems import CONSERVED, GRADIENT
from changes import (
    Change,
    float32,
    multiplied,
    outputs_rotated,
    outputs_scaled,
    permuted,
    repeated,
    rotated,
    rows,
    scaled,
    turned_axes,
    units_permuted,
    units_rescaled,
    units_split,
)
from theorem_battery import Case, Cases

from relulab.core.errors import UserError
from relulab.lab.theorem import Verdict
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import Box, Nodes, lowest, norm_ratio
from relulab.subjects.specialization import teacher as random_teacher
from relulab.subjects.specialization.theorems.norm_ratio import common_residue
from relulab.subjects.specialization.theorems.prunable_students import _opposite, counterexample
from relulab.subjects.specialization.theorems.student_specialization import exact_pair
from relulab.subjects.specialization.tools.deep_pairs import bent_above, deep_shifted_students
from relulab.subjects.specialization.tools.lucky_examples import lucky_pair, near_nodes, one_arrived, orthogonal
from relulab.subjects.specialization.tools.separable_pairs import mirrored_pair, open_pair
from relulab.subjects.specialization.tools.shifted_students import shifted_students

HOLDS, REFUTED, NOT_APPLICABLE, INCONCLUSIVE = (
    Verdict.HOLDS,
    Verdict.REFUTED,
    Verdict.NOT_APPLICABLE,
    Verdict.INCONCLUSIVE,
)
NETS = ("teacher", "student")
BOX = "a box has axes, which may be permuted and reflected (tried as axes), but not rotated"
NO_POINTS = "there are no points, the region is a box"


def network(rows_: list, b_out: torch.Tensor) -> MLP:
    """A two-layer network from rows (w, b, v), a unit each."""
    W, B, V = (
        torch.stack([torch.as_tensor(part, dtype=torch.float64) for part in parts])
        for parts in zip(*rows_, strict=True)
    )
    net = MLP((W.shape[1], len(W), V.shape[1]), dtype=torch.float64)
    net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0], net.b[1].data[0, 0] = W.T, B, V, b_out
    return net


def units(net: MLP) -> list:
    w, b = lowest(net)
    return list(zip(w, b, net.W[1].data[0], strict=True))


def exact(rng: np.random.Generator, spare: int = 2) -> dict:
    """A teacher with three nodes, a student with the same outputs: units split in two, and pairs that cancel."""
    d, C = int(rng.integers(2, 4)), 2
    star = random_teacher((d, 3, C), seeds=[int(rng.integers(10**6))], bias=-0.1)
    rows_ = [(c * w, c * b, share / c * v) for w, b, v in units(star)
             for c, share in ((0.5 + rng.random(), 0.3), (0.5 + rng.random(), 0.7))]  # fmt: skip
    return {"teacher": star, "student": network(rows_ + cancel(rng, d, C, spare), star.b[1].data[0, 0]),
            "region": Box.around(d, 2.0)}  # fmt: skip


def cancel(rng: np.random.Generator, d: int, C: int, count: int = 2) -> list:
    """Pairs of units that cancel, each on a hyperplane of its own."""
    rows_ = []
    for _ in range(count):
        u, c, a = (torch.as_tensor(rng.standard_normal(size)) for size in (d, (), C))
        rows_ += [(u, c / 4, a), (3 * u, 3 * c / 4, -a / 3)]
    return rows_


def pair(nets: tuple[MLP, MLP], **options) -> dict:
    return {"teacher": nets[0], "student": nets[1], "region": Box.around(3), **options}


def off(rng: np.random.Generator) -> dict:
    """One weight of the exact student off by a ten-millionth."""
    problem = exact(rng)
    problem["student"].W[0].data[0, 0, 0] += 1e-7
    return problem


def shared_plane(rng: np.random.Generator) -> dict:
    """Two teacher nodes on the two sides of one hyperplane; the student is the teacher."""
    star = random_teacher((2, 3, 2), seeds=[int(rng.integers(10**6))], bias=-0.1)
    first, second, third = units(star)
    star = network([first, second, (-first[0], -first[1], third[2])], star.b[1].data[0, 0])
    return {"teacher": star, "student": network(units(star) + cancel(rng, 2, 2), star.b[1].data[0, 0]),
            "region": Box.around(2, 2.0)}  # fmt: skip


def outside(rng: np.random.Generator) -> dict:
    """The boundary of one teacher node is outside of the box."""
    star = random_teacher((2, 3, 2), seeds=[int(rng.integers(10**6))], bias=-0.1)
    star.b[0].data[0, 0, 0] = 10.0
    return {"teacher": star, "student": network(units(star) + cancel(rng, 2, 2), star.b[1].data[0, 0]),
            "region": Box.around(2, 2.0)}  # fmt: skip


def dead(rng: np.random.Generator) -> dict:
    """Students that are active nowhere: their gradient is zero, and they observe nothing."""
    problem = exact(rng)
    problem["student"].b[0].data.fill_(-1e3)
    return problem


def biases(size: float):
    """The exact pair, and two students far out that cancel: their biases round away what the others learn."""

    def make(rng: np.random.Generator) -> dict:
        star, net = exact_pair()
        far = (torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor(size).double(), torch.ones(5).double())
        return pair((star, network([*units(net), far, (2 * far[0], 2 * far[1], -far[2] / 2)], star.b[1].data[0, 0])))

    return make


def few_observers(rng: np.random.Generator) -> dict:
    """One teacher node in R³ with four outputs: its students all have the same v_k, so they do not span."""
    star = random_teacher((3, 1, 4), seeds=[int(rng.integers(10**6))], bias=-0.1)
    (w, b, v), u, a = units(star)[0], torch.from_numpy(rng.standard_normal(3)), torch.from_numpy(rng.standard_normal(4))
    c = torch.tensor(0.1).double()
    student = network([(w, b, v), (u, c, a), (2 * u, 2 * c, -a / 2)], star.b[1].data[0, 0])
    return {"teacher": star, "student": student, "region": Box.around(3, 2.0)}


def at_points(rng: np.random.Generator) -> dict:
    problem = exact(rng)
    return problem | {"region": problem["region"].draw(50, torch.Generator().manual_seed(int(rng.integers(1000))))}


def flat_box(rng: np.random.Generator) -> dict:
    problem = exact(rng)
    return problem | {"region": problem["region"]._replace(high=problem["region"].low)}


SAME_FUNCTIONS = (
    *scaled("region", weights=NETS), turned_axes("region", weights=NETS), units_permuted(*NETS), units_rescaled(*NETS),
    units_split("student"), *outputs_scaled(*NETS), outputs_rotated(*NETS), float32("region", *NETS),
)  # fmt: skip
ON_BOX = {"rotated": BOX, "permuted": NO_POINTS, "repeated": NO_POINTS}
CONDITIONS = (
    Case("one weight off", NOT_APPLICABLE, off),
    Case("two teacher nodes on one hyperplane", NOT_APPLICABLE, shared_plane),
    Case("a boundary outside of the box", NOT_APPLICABLE, outside),
    Case("only dead students", NOT_APPLICABLE, dead),
    Case("points instead of a box", NOT_APPLICABLE, at_points),
    Case("a flat box", UserError, flat_box),
)

T1 = Cases(
    (
        Case("exact students", HOLDS, exact),
        Case("students on the other side", HOLDS, lambda rng: pair(exact_pair(flipped=True))),
        Case("the same side is required", REFUTED, lambda rng: pair(exact_pair(flipped=True), oriented=True)),
        Case("no spare students", HOLDS, lambda rng: exact(rng, spare=0)),
        Case("student biases of 1e3", (HOLDS, INCONCLUSIVE), biases(1e3)),
        Case("student biases of 1e5", (HOLDS, INCONCLUSIVE), biases(1e5)),
        *CONDITIONS,
    ),
    SAME_FUNCTIONS,
    ON_BOX,
    never_alone=("The gradient g_# is zero at these points",),  # on points, another condition fails anyway
)  # fmt: skip

T2 = Cases(
    (
        Case("exact students", HOLDS, exact),
        Case("students on both sides of a hyperplane", HOLDS, lambda rng: pair(_opposite())),
        Case("the sum over one side", REFUTED, lambda rng: pair(_opposite(), one_side=True)),
        Case("the counterexample to the corollary", HOLDS, lambda rng: pair(counterexample())),
        Case("no spare students", NOT_APPLICABLE, lambda rng: exact(rng, spare=0)),
        Case("observers that do not span", NOT_APPLICABLE, few_observers),
        *CONDITIONS,
    ),
    SAME_FUNCTIONS,
    ON_BOX,
    never_alone=("The gradient g_# is zero at these points",),  # on points, another condition fails anyway
)  # fmt: skip

C1 = Cases(
    (
        Case("exact students", HOLDS, exact),
        Case("a flipped teacher node and a ± pair", REFUTED, lambda rng: pair(counterexample(rng.uniform(0.1, 0.4)))),
        Case("the same, required on one side", NOT_APPLICABLE, lambda rng: pair(counterexample(), one_sided=True)),
        Case("no spare students", NOT_APPLICABLE, lambda rng: exact(rng, spare=0)),
        Case("observers that do not span", NOT_APPLICABLE, few_observers),
        *CONDITIONS,
    ),
    SAME_FUNCTIONS,
    ON_BOX,
    never_alone=("The gradient g_# is zero at these points",),  # on points, another condition fails anyway
)  # fmt: skip


def deep_pair(
    rng: np.random.Generator, student: tuple[int, ...] = (3, 5, 4, 2), slope: float = 0.0, n: int = 20
) -> dict:
    nets = [torch_default(widths, seeds=[int(rng.integers(1000))], slope=slope, dtype=torch.float64)
            for widths in ((3, 4, 4, 2), student)]  # fmt: skip
    return {"teacher": nets[0], "student": nets[1], "x": torch.from_numpy(rng.standard_normal((n, 3)))}


def tiny_weights(rng: np.random.Generator) -> dict:
    """Biases of zero, integer weights, a zero row, points with norms from 1e-10 to 1e7."""
    problem = deep_pair(rng)
    for net in (problem["teacher"], problem["student"]):
        for p in net.parameters():
            p.data.mul_(4).round_()
        for b in net.b:
            b.data.zero_()
    lengths = torch.logspace(-10, 7, 20, dtype=torch.float64)[:, None]
    return problem | {"x": torch.cat([problem["x"] * lengths, torch.zeros(1, 3).double()])}


L1 = Cases(
    (
        Case("depth 3", HOLDS, deep_pair),
        Case("leaky", HOLDS, lambda rng: deep_pair(rng, slope=0.1)),
        Case("without the gates", REFUTED, lambda rng: deep_pair(rng) | {"gated": False}),
        Case("a deeper student", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 4, 2))),
        Case("other outputs", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 3))),
        Case("one point", HOLDS, lambda rng: deep_pair(rng, n=1)),
        Case("integer weights, many lengths, a zero row", HOLDS, tiny_weights),
        Case("no points", UserError, lambda rng: deep_pair(rng, n=0)),
    ),
    (*scaled("x", weights=NETS), rotated("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS),
     units_rescaled(*NETS), *outputs_scaled(*NETS), float32("x", *NETS)),
)  # fmt: skip


def living(rng: np.random.Generator, student: tuple[int, ...] = (3, 5, 4, 2), slope: float = 0.0, n: int = 20) -> dict:
    """A pair whose student's outputs depend on the inputs: in a dead network, no weights grow."""
    while True:
        problem = deep_pair(rng, student, slope, n)
        if not n or problem["student"](problem["x"]).detach().std(1).min() > 0:
            return problem


GROWTH = Cases(
    (
        Case("depth 3", HOLDS, living),
        Case("leaky", HOLDS, lambda rng: living(rng, slope=0.1)),
        Case("a deeper student", HOLDS, lambda rng: living(rng, (3, 5, 4, 4, 2))),
        Case("without the biases", REFUTED, lambda rng: living(rng) | {"with_bias": False}),
        Case("other outputs", NOT_APPLICABLE, lambda rng: living(rng, (3, 5, 4, 3))),
        Case("a student that equals its teacher", INCONCLUSIVE,
             lambda rng: (lambda pair: pair | {"student": pair["teacher"]})(living(rng)),
             but=("units permuted", "units rescaled", "float32")),
        Case("integer weights, many lengths, a zero row", HOLDS, tiny_weights),
        Case("no points", UserError, lambda rng: living(rng, n=0)),
    ),
    (*scaled("x", weights=NETS), rotated("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS),
     units_rescaled(*NETS), *outputs_scaled(*NETS), float32("x", *NETS)),
)  # fmt: skip


NODEWISE = Cases(
    (
        Case("depth 3", HOLDS, deep_pair),
        Case("leaky", HOLDS, lambda rng: deep_pair(rng, slope=0.1)),
        Case("without the second gate", REFUTED, lambda rng: deep_pair(rng) | {"both_gates": False}),
        Case("a deeper student", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 4, 2))),
        Case("other outputs", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 3))),
        Case("integer weights, many lengths, a zero row", HOLDS, tiny_weights),
        Case("no points", UserError, lambda rng: deep_pair(rng, n=0)),
    ),
    L1.changes,
)


def separable(make, **options):
    """A pair whose expectations separate, and options."""

    def given(rng: np.random.Generator) -> dict:
        teacher, student, x = make(rng, points=16)
        return {"teacher": teacher, "student": student, "x": x} | options

    return given


def half_open(rng: np.random.Generator) -> dict:
    """All nodes of the student are active everywhere, those of the teacher are not: eq. 4 fails, and eq. 5 holds."""
    _, student, x = open_pair(rng, points=60)
    return {"teacher": torch_default((4, 3, 5, 2), [int(rng.integers(1000))], dtype=torch.float64),
            "student": student, "x": x}  # fmt: skip


def mute_teacher(rng: np.random.Generator) -> dict:
    """A teacher without output: both sides of eq. 4 are zero, and eq. 5 fails."""
    problem = deep_pair(rng, n=60)
    problem["teacher"].W[-1].data.zero_()
    problem["teacher"].b[-1].data.zero_()
    return problem


SEPARATION_CHANGES = (
    *scaled("x", weights=NETS), rotated("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS),
    units_rescaled(*NETS), *outputs_scaled(*NETS), outputs_rotated(*NETS), float32("x", *NETS),
)  # fmt: skip
A1 = Cases(
    (
        Case("all nodes active", HOLDS, separable(open_pair, nodes=8)),
        Case("mirrored points", HOLDS, separable(mirrored_pair, nodes=8)),
        Case("only some nodes compared", INCONCLUSIVE, separable(open_pair, nodes=2)),
        Case("random networks", REFUTED, lambda rng: deep_pair(rng, n=400)),
        Case("too few points", INCONCLUSIVE, lambda rng: deep_pair(rng, n=7)),
        Case("a deeper student", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 4, 2))),
        Case("other outputs", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 3)), but=("outputs rotated",)),
        Case("no points", UserError, lambda rng: deep_pair(rng, n=0)),
    ),
    SEPARATION_CHANGES,
)
LM_T2 = Cases(
    (
        Case("all nodes active", HOLDS, separable(open_pair)),
        Case("mirrored points", HOLDS, separable(mirrored_pair)),
        Case("E[β] instead of H", REFUTED, separable(mirrored_pair, gated=False)),
        Case("only some nodes compared", INCONCLUSIVE, separable(open_pair, nodes=2)),
        Case("only the student is active everywhere", NOT_APPLICABLE, half_open),
        Case("a teacher without output", NOT_APPLICABLE, mute_teacher),
        Case("random networks", NOT_APPLICABLE, lambda rng: deep_pair(rng, n=60)),
        Case("a deeper student", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 4, 2))),
        Case("other outputs", NOT_APPLICABLE, lambda rng: deep_pair(rng, (3, 5, 4, 3)), but=("outputs rotated",)),
        Case("no points", UserError, lambda rng: deep_pair(rng, n=0)),
    ),
    SEPARATION_CHANGES,
)


def contradiction(rng: np.random.Generator) -> dict:
    """One linear unit with U = 3/2, −1/2, −1/2 in the bias entry."""
    teacher, student = MLP((1, 1), dtype=torch.float64), MLP((1, 1), dtype=torch.float64)
    teacher.W[0].data.fill_(1e3)
    x = torch.tensor([[1.5], [-0.5], [-0.5]], dtype=torch.float64) / 1e3
    return {"teacher": teacher, "student": student, "x": x, "batch": 2}


INTERPOLATION = Cases(
    (
        Case("random networks", HOLDS, lambda rng: deep_pair(rng) | {"batch": 3}),
        Case("batches of one", HOLDS, lambda rng: deep_pair(rng) | {"batch": 1}),
        Case("three points and the proven bound", HOLDS, contradiction),
        Case("three points and the printed bound", REFUTED, lambda rng: contradiction(rng) | {"as_printed": True},
             but=("scaled", "repeated", "outputs")),
        Case("one batch", NOT_APPLICABLE, lambda rng: deep_pair(rng) | {"batch": 20}, but=("repeated",)),
        Case("one point", NOT_APPLICABLE, lambda rng: deep_pair(rng, n=1) | {"batch": 1}, but=("repeated",)),
        Case("no batch", UserError, lambda rng: deep_pair(rng) | {"batch": 0}),
        Case("integer weights, many lengths, a zero row", HOLDS, lambda rng: tiny_weights(rng) | {"batch": 2}),
    ),
    (*scaled("x", weights=NETS), rotated("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS),
     units_rescaled(*NETS), *outputs_scaled(*NETS), float32("x", *NETS)),
)  # fmt: skip


def nodes(rng: np.random.Generator, K: int = 4, d: int = 2) -> dict:
    return {"nodes": Nodes(torch.from_numpy(rng.standard_normal((K, d))), torch.from_numpy(rng.standard_normal(K)) / 4),
            "box": Box.around(d)}  # fmt: skip


def and_one(rng: np.random.Generator, factor: float, **options) -> dict:
    """The nodes and a multiple of the first one."""
    problem = nodes(rng)
    w, b = problem["nodes"]
    w[0] /= w[0].norm()
    b[0] = 0.2
    new = Nodes(torch.cat([w, factor * w[:1]]), torch.cat([b, factor * b[:1]]))
    return problem | {"nodes": new, **options}


def _own_sizes(arguments: dict, rng: np.random.Generator) -> dict:
    w, b = arguments["nodes"]
    c = torch.from_numpy(10.0 ** rng.uniform(-3, 3, len(b))).to(b.dtype)
    return arguments | {"nodes": Nodes(w * c[:, None], b * c)}


L4 = Cases(
    (
        Case("four nodes in the plane", HOLDS, nodes),
        Case("lemma 3", HOLDS, lambda rng: {"nodes": nodes(rng)["nodes"], "linear": False}, but=("scaled", "axes")),
        Case("one node", HOLDS, lambda rng: {"nodes": Nodes(torch.ones(1, 2).double(), torch.zeros(1).double()),
                                             "box": Box.around(2)}),
        Case("one dimension", HOLDS, lambda rng: {"nodes": Nodes(torch.tensor([[1.0], [-2.0]]).double(),
                                                                 torch.tensor([0.0, 1.0]).double()),
                                                  "box": Box.around(1)}),
        Case("a node and its opposite, as printed", REFUTED, lambda rng: and_one(rng, -1.0, as_printed=True)),
        Case("a node and its opposite", NOT_APPLICABLE, lambda rng: and_one(rng, -1.0)),
        Case("a node twice, as printed", NOT_APPLICABLE, lambda rng: and_one(rng, 2.0, as_printed=True)),
        Case("a node twice", NOT_APPLICABLE, lambda rng: and_one(rng, 2.0)),
        Case("a node without weights", NOT_APPLICABLE, lambda rng: and_one(rng, 0.0)),
        Case("no boundary in the box", NOT_APPLICABLE,
             lambda rng: (lambda p: p | {"nodes": p["nodes"]._replace(b=p["nodes"].b + 100)})(nodes(rng))),
    ),
    (*scaled("box", weights=("nodes",)), turned_axes("box", weights=("nodes",)),
     rows("units permuted", lambda n, rng: rng.permutation(n), "nodes"), Change("units rescaled", _own_sizes),
     float32("nodes", "box")),
    ON_BOX,
)  # fmt: skip


def shifted(shift: float, **options):
    def make(rng: np.random.Generator) -> dict:
        star, net, _ = shifted_students(shift, 1)
        return {"teacher": star, "student": net, "box": Box.around(2), **options}

    return make


def deep_on_box(shift: float = 1e-4, nets=deep_shifted_students, **options):
    def make(rng: np.random.Generator) -> dict:
        star, net, _ = nets(shift, 1)
        return {"teacher": star, "student": net, "box": Box.around(2), **options}

    return make


def near_node(rng: np.random.Generator) -> dict:
    """A third teacher node within the bounds of the strongest one."""
    star, net, _ = shifted_students(1e-3, 1)
    rows_ = units(star)
    close = (rows_[0][0], rows_[0][1] + 1e-3, torch.full((2,), 1e-9).double())
    return {"teacher": network([*rows_, close], star.b[1].data[0, 0]), "student": net, "box": Box.around(2), "node": 0}


def lone_node(rng: np.random.Generator) -> dict:
    """A single teacher node, whose students are so far away that the bound on the angle says nothing."""
    star, net, _ = shifted_students(0.05, 1)
    rows_, b = units(net), star.b[1].data[0, 0]
    return {"teacher": network(units(star)[:1], b), "student": network([rows_[0], rows_[2]], b), "box": Box.around(2)}


T5 = Cases(
    (
        Case("biases off by 1e-3", HOLDS, shifted(1e-3)),
        Case("exact biases", (HOLDS, INCONCLUSIVE), shifted(0.0)),
        Case("bounds of second order", REFUTED, shifted(1e-6, squared=True)),
        Case("biases off by 0.1", NOT_APPLICABLE, shifted(0.1)),
        Case("a lone node, and students far away", NOT_APPLICABLE, lone_node),
        Case("biases off by 0.9", NOT_APPLICABLE, shifted(0.9)),
        Case("another teacher node within the bounds", NOT_APPLICABLE, near_node, but=("units permuted",)),
        Case("no such node", UserError, shifted(1e-3, node=7)),
        Case("three layers, biases off by 1e-4", HOLDS, deep_on_box()),
        Case("three layers, bounds of second order", REFUTED, deep_on_box(1e-7, squared=True)),
        Case("three layers, biases off by 0.1", NOT_APPLICABLE, deep_on_box(0.1)),
        Case("a second layer that bends for a node", NOT_APPLICABLE,
             deep_on_box(nets=lambda shift, n: bent_above(n), node=0), but=("units permuted",)),
    ),
    (*scaled("box", weights=NETS), turned_axes("box", weights=NETS), units_permuted(*NETS), units_rescaled("teacher"),
     *outputs_scaled(*NETS), outputs_rotated(*NETS), float32("box", *NETS)),
    ON_BOX,
    # where it is trivial, the ball or the other nodes are out of bounds as well
    never_alone=("The bound on sin θ̃ is at most # so that it is not trivial",),
)  # fmt: skip


def gaussian(rng: np.random.Generator, n: int = 20_000, d: int = 3, **options) -> dict:
    """Two nodes at most 90° apart, since the push is small near 180°."""
    w, w_star = torch.from_numpy(rng.standard_normal((2, d)))
    w_star = -w_star if w @ w_star < 0 else w_star
    return {"w": 2 * w / w.norm(), "w_star": w_star, "x": torch.from_numpy(rng.standard_normal((n, d))), **options}


def nearly_opposite(rng: np.random.Generator, apart: float, n: int) -> dict:
    """Nodes at an angle of π − ``apart``: few points lie where both are active."""
    problem = gaussian(rng, n)
    return problem | {"w_star": -problem["w"] + apart * problem["w_star"]}


def with_points(draw):
    return lambda rng: (lambda p: p | {"x": torch.from_numpy(draw(rng, p["x"].shape))})(gaussian(rng))


def three_values(rng: np.random.Generator, shape) -> np.ndarray:
    """Coordinates −√3, 0 and √3 with the first five moments of N(0, 1)."""
    return rng.choice((-np.sqrt(3), 0.0, np.sqrt(3)), shape, p=(1 / 6, 2 / 3, 1 / 6))


PUSH = Cases(
    (
        Case("Gaussian inputs", HOLDS, gaussian),
        Case("on a sphere", HOLDS,
             with_points(lambda rng, shape: (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True))(
                 rng.standard_normal(shape)))),
        Case("the printed factor", REFUTED, lambda rng: gaussian(rng, as_printed=True), but=("w *",)),
        Case("a cube", NOT_APPLICABLE, with_points(lambda rng, shape: rng.uniform(-1, 1, shape))),
        Case("three values", NOT_APPLICABLE, with_points(three_values)),
        Case("a mean", NOT_APPLICABLE, with_points(lambda rng, shape: rng.standard_normal(shape) + 0.1)),
        Case("stretched", NOT_APPLICABLE,
             with_points(lambda rng, shape: rng.standard_normal(shape) * np.array([1.0, 1.0, 1.1]))),
        Case("correlated", NOT_APPLICABLE,
             with_points(lambda rng, shape: rng.standard_normal(shape) @ (np.eye(3) + 0.1))),
        Case("ten points", INCONCLUSIVE, lambda rng: gaussian(rng, n=10)),
        Case("two points", INCONCLUSIVE, lambda rng: gaussian(rng, n=2)),
        Case("nearly opposite nodes", INCONCLUSIVE, lambda rng: nearly_opposite(rng, 1e-3, 1000)),
        Case("opposite nodes", HOLDS, lambda rng: nearly_opposite(rng, 0.0, 1000)),
        Case("one point", UserError, lambda rng: gaussian(rng, n=1)),
        Case("one dimension", UserError, lambda rng: gaussian(rng, d=1)),
        Case("w = 0", UserError, lambda rng: gaussian(rng, n=100) | {"w": torch.zeros(3).double()}),
    ),
    (*multiplied("scaled", "x"), *multiplied("w *", "w"), *multiplied("w* *", "w_star"),
     rotated("x", weights=("w", "w_star")), permuted("x"), float32("x", "w", "w_star")),
    {"repeated": "repeated points are not independent, so that standard errors are too small",
     "units permuted": "there are two nodes, of different networks",
     "units rescaled": "tried as w times a number: there is no layer above"},
    # one departure from symmetry shows in several moments
    never_alone=(
        "The means of all coordinates are zero", "The mean squares of all coordinates are E‖x‖²/d",
        "The mean products of different coordinates are zero",
        "The fourth moments along # directions are # E‖x‖⁴/(d(d + #))",
        "The plane of w and w* is a plane of symmetry: x z f* has mean zero outside it",
    ),
)  # fmt: skip


def common(W, w_star, a, time, extra=0.0, plain=False, rate=None, projected=True):
    """S0.T7 with the residue w* − Σ a_k w_k, or with ẇ = rate · w."""
    if rate is not None:
        return norm_ratio(W, lambda W: rate * W / np.linalg.norm(W, axis=1, keepdims=True), time, projected=projected)
    r = partial(common_residue, w_star, a, extra)
    return norm_ratio(W, r, time, velocity=r if plain else None, projected=projected)


def students(rng: np.random.Generator, n: int = 3, d: int = 3, time: float = 5.0, **options) -> dict:
    """Students near a teacher of norm one, so that all h_k are positive."""
    w_star = rng.standard_normal(d)
    w_star /= np.linalg.norm(w_star)
    W = 0.05 * (0.5 * rng.standard_normal((n, d)) / np.sqrt(d) + w_star)
    return {"W": W, "w_star": w_star, "a": rng.uniform(0.5, 1.5, n), "time": time, **options}


def one_zero(rng: np.random.Generator) -> dict:
    problem = students(rng)
    problem["W"][1] = 0
    return problem


def two(rate: float):
    return lambda rng: {"W": np.array([[0.1, 0.02], [0.05, -0.01]]), "w_star": np.ones(2), "a": np.ones(2), "time": 1.0,
                        "rate": rate}  # fmt: skip


IN_UNITS = (
    *(Change(f"scaled {c:g}", lambda p, rng, c=c: p | {"W": c * p["W"], "w_star": c * p["w_star"], "time": p["time"] / c
                                                       if p.get("rate") is None else p["time"]})
      for c in (1e-100, 1e-6, 1e6, 1e100)),
    rotated("W", weights=("w_star",)), permuted("W", "a"),
    float32("W", "w_star", "a"),
)  # fmt: skip
OF_STUDENTS = {
    "units permuted": "students are the rows of W, tried as permuted",
    "units rescaled": "the length of a student is what the theorem is about",
    "repeated": "students twice have twice the sum Σ a_k w_k: another flow",
}

T7 = Cases(
    (
        Case("a common residue", HOLDS, students),
        Case("another residue of the first one", HOLDS, lambda rng: students(rng, extra=0.1), but=("permuted",)),
        Case("norms of residues", REFUTED, lambda rng: students(rng, extra=0.1, projected=False), but=("permuted",)),
        Case("a flow of another form", NOT_APPLICABLE, lambda rng: students(rng, plain=True), but=("scaled",)),
        Case("a zero student", NOT_APPLICABLE, one_zero),
        Case("one dimension", HOLDS, lambda rng: students(rng, d=1)),
        Case("one student", UserError, lambda rng: students(rng, n=1)),
        Case("ẇ = −100 w", INCONCLUSIVE, two(-100)),
        Case("ẇ = −5 w", HOLDS, two(-5)),
        Case("students that do not move", INCONCLUSIVE, two(0)),
        Case("a short time", HOLDS, lambda rng: students(rng, time=1e-6)),
        Case("a short time, norms of residues", REFUTED, lambda rng: students(rng, time=1e-6, projected=False)),
    ),
    IN_UNITS,
    OF_STUDENTS,
    check=common,
)  # fmt: skip

FEEDBACK = Cases(
    (
        Case("three students", HOLDS, students),
        Case("all align with the teacher", REFUTED, lambda rng: students(rng, time=20.0, aligned=True)),
        Case("one that points away", NOT_APPLICABLE,
             lambda rng: (lambda p: p | {"W": p["W"] * np.array([[1], [1], [-1]])})(students(rng))),
        Case("a negative factor", NOT_APPLICABLE,
             lambda rng: (lambda p: p | {"a": p["a"] * np.array([1, 1, -1])})(students(rng))),
        Case("equal students do not differ", INCONCLUSIVE,
             lambda rng: (lambda p: p | {"W": np.tile(p["W"][:1], (3, 1))})(students(rng))),
        Case("one student", UserError, lambda rng: students(rng, n=1)),
        Case("a zero student", UserError, one_zero),
    ),
    IN_UNITS,
    OF_STUDENTS,
)  # fmt: skip


def sampled(shift: float, n: int, epsilon: float = 0.5, **options):
    def make(rng: np.random.Generator) -> dict:
        star, net, _ = shifted_students(shift, 1)
        x = torch.from_numpy(rng.uniform(-1, 1, (n, 2)))
        return {"teacher": star, "student": net, "x": x, "epsilon": epsilon, **options}

    return make


def finite_cases(n: int) -> Cases:
    return Cases(
        (
            Case("enough points", HOLDS, sampled(1e-4, n), slow=True),
            Case("a loose bound of the gradient", REFUTED, sampled(0.55, n, loose=True), slow=True),
            Case("biases off by 0.1", NOT_APPLICABLE, sampled(0.1, n), slow=True),
            Case("few points", NOT_APPLICABLE, sampled(1e-4, 30)),
            Case("two points", UserError, sampled(1e-4, 2), but=("repeated",)),
            Case("ε = 0", UserError, sampled(1e-4, 30, epsilon=0.0)),
        ),
        (turned_axes("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS), units_rescaled("teacher"),
         *outputs_scaled(*NETS), outputs_rotated(*NETS), float32("x", *NETS)),
        {"scaled": "ε bounds an angle and a distance in the units of the inputs, so that it is not scale-free",
         "rotated": "the augmentation moves along the axes, and the points fill a square"},
        # the bound of the gradient is proportional to |α_kj|, so that it fails as well
        never_alone=("Student k = # has α_kj ≠ # for teacher node j = #",),
    )  # fmt: skip


def deep(shift: float = 1e-4, n: int = 3000, epsilon: float = 0.5, of_nets=None, spare: float = 0.0, **options):
    """Three layers, with each node of the lowest one split in two whose biases are off by ± shift."""

    def make(rng: np.random.Generator) -> dict:
        star, net, x = deep_shifted_students(shift, n, spare=spare)
        if of_nets:
            of_nets(star, net)
        return {"teacher": star, "student": net, "x": x[torch.from_numpy(rng.permutation(n))], "epsilon": epsilon,
                **options}  # fmt: skip

    return make


def bent(**options):
    star, net, x = bent_above(3000)
    return lambda rng: {"teacher": star, "student": net, "x": x, "epsilon": 0.5, **options}


def closed(star: MLP, net: MLP) -> None:
    """The second layer of the student is inactive."""
    net.b[1].data.fill_(-50.0)


def turned_toward(star: MLP, net: MLP) -> None:
    """The boundary of teacher node 1, and of its students, is turned until it is ε-aligned with that of node 0."""
    star.W[0].data[0, :, 1] = torch.tensor([0.95, 0.3]).double() / np.hypot(0.95, 0.3)
    net.W[0].data[0, :, 1::2] = star.W[0].data[0, :, 1:]


LOWEST = Cases(
    (
        Case("biases off by 1e-4", HOLDS, deep()),
        Case("exact students", HOLDS, deep(0.0)),
        Case("a loose bound of the gradient", REFUTED, deep(0.55, loose=True)),
        Case("a loose bound of the gradient, biases off by 1.5", NOT_APPLICABLE, deep(1.5, loose=True)),
        Case("a second layer that bends for a node, as in print", REFUTED, bent(everywhere=True)),
        Case("a second layer that bends for a node", NOT_APPLICABLE, bent(node=0), but=("units permuted",)),
        Case("the other nodes beside a second layer that bends", HOLDS, bent()),
        Case("biases off by 0.1", NOT_APPLICABLE, deep(0.1)),
        Case("a closed second layer", NOT_APPLICABLE, deep(of_nets=closed)),
        Case("few points", NOT_APPLICABLE, deep(n=60)),
        Case("a small ε", NOT_APPLICABLE, deep(0.0, epsilon=0.05)),
        Case("another teacher node that is ε-aligned", NOT_APPLICABLE, deep(0.0, of_nets=turned_toward, node=0),
             but=("units permuted",)),
        Case("students that cancel, with weights of 1e15", INCONCLUSIVE, deep(spare=1e15)),
        Case("two points", UserError, deep(n=2), but=("repeated",)),
        Case("ε = 0", UserError, deep(n=60, epsilon=0.0)),
    ),
    (turned_axes("x", weights=NETS), permuted("x"), repeated("x"), units_permuted(*NETS), units_rescaled("teacher"),
     *outputs_scaled(*NETS), outputs_rotated(*NETS), float32("x", *NETS)),
    {"scaled": "ε bounds an angle and a distance in the units of the inputs, so that it is not scale-free",
     "rotated": "the augmentation moves along the axes, and the points fill a square"},
    # points at which α_kj is zero do not count, so that there are too few of them as well
    never_alone=("Student k = # has α_kj ≠ # for teacher node j = #",),
)  # fmt: skip


# Luck Matters: nodes with frozen biases, for inputs of one standard deviation


def _in_all(f):
    """Change the nodes and the first weights of the networks of a problem by one function of the weights, (n, d)."""

    def of(arguments: dict, rng: np.random.Generator) -> dict:
        new, A = dict(arguments), f(arguments, rng)
        for name, value in arguments.items():
            if isinstance(value, Nodes):
                new[name] = value._replace(w=A(value.w))
            elif isinstance(value, MLP):
                new[name] = net = MLP.of(value.module())
                net.W[0].data[0] = A(net.W[0].data[0].T).T
        if "x" in arguments:
            new["x"] = A(arguments["x"], inverse=True)
        return new

    return of


def _turned(arguments: dict, rng: np.random.Generator):
    d = next(v.w.shape[1] if isinstance(v, Nodes) else v.widths[0]
             for v in arguments.values() if isinstance(v, Nodes | MLP))  # fmt: skip
    Q = torch.from_numpy(np.linalg.qr(rng.standard_normal((d, d)))[0])
    return lambda w, inverse=False: w @ Q.to(w.dtype)


def of_inputs(c: float) -> Change:
    """Inputs times a number, which the weights undo."""
    scale = _in_all(lambda arguments, rng: lambda w, inverse=False: w * c if inverse else w / c)
    return Change(f"scaled {c:g}", lambda a, rng: scale(a, rng) | ({} if "x" in a else {"std": a.get("std", 1.0) * c}))


def own_sizes(*names: str) -> Change:
    """Every node times a positive number of its own."""

    def rescaled(value: Nodes, rng: np.random.Generator) -> Nodes:
        c = torch.from_numpy(10.0 ** rng.uniform(-3, 3, len(value.b))).to(value.w.dtype)
        return Nodes(value.w * c[:, None], value.b * c)

    return Change("units rescaled", lambda a, rng: a | {n: rescaled(a[n], rng) for n in names})


def in_other_order(*names: str) -> tuple[Change, ...]:
    return tuple(rows(f"units permuted in {n}", lambda n, rng: rng.permutation(n), n) for n in names)


SCALED = tuple(map(of_inputs, (1e-100, 1e-6, 1e6, 1e100)))
ROTATED = Change("rotated", _in_all(_turned))
NO_SAMPLE = {"permuted": "there are no points", "repeated": "there are no points"}
OF_NODES = (*SCALED, ROTATED, *in_other_order("nodes"), own_sizes("nodes"), float32("nodes"))
OF_PAIRS = (*SCALED, ROTATED, *in_other_order("star", "nodes"), own_sizes("star", "nodes"), float32("star", "nodes"))
OF_NETS = (*SCALED, ROTATED, units_permuted(*NETS), units_rescaled(*NETS), outputs_rotated(*NETS), float32(*NETS))


def close(rng: np.random.Generator, m: int = 3, bias: float = -2.5, angle: float = 0.02, **options) -> dict:
    star, near = near_nodes(m, 5, bias, angle, int(rng.integers(10**6)))
    return {"star": star, "nodes": near, **options}


def changed(f, **options):
    """The problem ``close`` with other students."""
    return lambda rng: (lambda p: p | {"nodes": f(p["star"], p["nodes"])})(close(rng, **options))


def shifted_bias(star: Nodes, near: Nodes) -> Nodes:
    return near._replace(b=near.b + 0.01)


def behind(star: Nodes, near: Nodes) -> Nodes:
    return near._replace(w=near.w - 2 * star.w)


def one_more(star: Nodes, near: Nodes) -> Nodes:
    return Nodes(torch.cat([near.w, -near.w[:1]]), torch.cat([near.b, near.b[:1]]))


def opposite(angle: float = 0.01) -> tuple[Nodes, Nodes]:
    star = Nodes(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]).double(), torch.zeros(2).double())
    return star, star._replace(w=star.w + angle * torch.tensor([0.0, 1.0]))


LUCK_T4 = Cases(
    (
        Case("bias −2.5", HOLDS, close),
        Case("two nodes without biases", HOLDS, lambda rng: close(rng, 2, 0.0)),
        Case("one node", HOLDS, lambda rng: close(rng, 1, 0.5, 0.5)),
        Case("a wider angle is allowed", HOLDS, lambda rng: close(rng, theta_0=0.03)),
        Case("the printed d̄", REFUTED, lambda rng: close(rng, bias=-4.0, as_printed=True)),
        Case("three nodes without biases", NOT_APPLICABLE, lambda rng: close(rng, 3, 0.0)),
        Case("a large angle", NOT_APPLICABLE, lambda rng: close(rng, bias=-5.0, angle=0.03)),
        Case("a smaller θ_0", NOT_APPLICABLE, lambda rng: close(rng, theta_0=0.01)),
        Case("a large step", NOT_APPLICABLE, lambda rng: close(rng, eta=1e3)),
        Case("a wider student", NOT_APPLICABLE, changed(one_more)),
        Case("other biases", NOT_APPLICABLE, changed(shifted_bias)),
        Case("students that have arrived", NOT_APPLICABLE, changed(lambda star, near: star)),
        Case("a student behind its teacher", NOT_APPLICABLE, changed(behind, m=1)),
        Case("a narrower student", UserError, changed(lambda star, near: Nodes(near.w[:2], near.b[:2]))),
        Case("no learning rate", UserError, lambda rng: close(rng, eta=0.0)),
    ),
    OF_PAIRS,
    NO_SAMPLE,
)  # fmt: skip


def lucky(bias: float = -4.0, m: int = 3, r: int = 3, of_net=None, shape: dict | None = None, **options):
    def make(rng: np.random.Generator) -> dict:
        teacher, student = lucky_pair(bias, m, r, **(shape or {}))
        if of_net:
            of_net(teacher, student)
        return {"teacher": teacher, "student": student, **options}

    return make


def other_output(teacher: MLP, student: MLP) -> None:
    student.b[1].data += 0.1


def other_bias(teacher: MLP, student: MLP) -> None:
    student.b[0].data += 0.01


def silent_node(teacher: MLP, student: MLP) -> None:
    teacher.W[1].data[0, 0] = 0


def arrived(teacher: MLP, student: MLP) -> None:
    student.W[0].data[0, :, : teacher.widths[1]] = teacher.W[0].data[0]


PLANE = {"spread": False}
STEPS = {"steps": 10}
LUCK_T5 = Cases(
    (
        Case("six students", HOLDS, lucky(**STEPS)),
        Case("three students in the plane", HOLDS, lucky(-3.0, 2, 1, shape=PLANE, **STEPS)),
        Case("no r-set", HOLDS, lucky(r=0, **STEPS)),
        Case("the printed conditions", REFUTED,
             lucky(-3.0, 2, 1, shape=PLANE | {"angle": 1e-4, "fan_out": 0.05}, theta_0=1.01e-4, as_printed=True)),
        Case("two steps at a time", REFUTED, lucky(two_steps=True, **STEPS)),
        Case("no biases", NOT_APPLICABLE, lucky(0.0)),
        Case("a wide angle θ_0", NOT_APPLICABLE, lucky(-6.0, theta_0=0.03)),
        Case("a small θ_0", NOT_APPLICABLE, lucky(theta_0=0.002)),
        Case("a small B_δv", NOT_APPLICABLE, lucky(B_dv=0.02)),
        Case("a small B_r", NOT_APPLICABLE, lucky(B_r=0.1)),
        Case("a large step", NOT_APPLICABLE, lucky(eta=1e5)),
        Case("other output biases", NOT_APPLICABLE, lucky(of_net=other_output)),
        Case("other biases", NOT_APPLICABLE, lucky(of_net=other_bias)),
        Case("a teacher node without fan-out", NOT_APPLICABLE, lucky(of_net=silent_node)),
        Case("students that have arrived", NOT_APPLICABLE, lucky(of_net=arrived)),
        Case("students far away", NOT_APPLICABLE, lucky(m=1, r=0, shape=PLANE | {"angle": 1.7})),
        Case("a negative B_r", UserError, lucky(B_r=-1.0)),
    ),
    OF_NETS,
    NO_SAMPLE,
    quick=("scaled 1e+06", "rotated", "units permuted", "units rescaled", "float32"),
)  # fmt: skip


def within(bias: float, angle: float = 0.01, **options):
    return lambda rng: {"nodes": orthogonal(bias, 3), "angle": angle, **options}


A2 = Cases(
    (
        Case("random nodes", HOLDS, lambda rng: {"nodes": nodes(rng, 4, 6)["nodes"], "angle": 0.02}),
        Case("orthogonal nodes, bias −4", HOLDS, lambda rng: {"nodes": orthogonal(-4.0, 3), "angle": 0.01}),
        Case("larger constants", HOLDS, within(-1.0, K_d=9.0, K_l=9.0)),
        Case("half of K_d", REFUTED, within(-4.0, K_d=10.0)),
        Case("half of K_l", REFUTED, within(-4.0, K_l=11.0)),
        Case("all unit vectors", REFUTED, within(-1.0, as_printed=True)),
        Case("opposite nodes", NOT_APPLICABLE, lambda rng: {"nodes": opposite()[0], "angle": 0.01}),
        Case("no angle", UserError, lambda rng: {"nodes": orthogonal(-1.0, 3), "angle": 0.0}),
    ),
    OF_NODES,
    NO_SAMPLE,
)  # fmt: skip


def on_points(bias: float, n: int, N: int = 6, **options):
    return lambda rng: {"nodes": orthogonal(bias, N), "x": torch.from_numpy(rng.standard_normal((n, N))), **options}


A3 = Cases(
    (
        Case("bias −2", HOLDS, lambda rng: {"nodes": orthogonal(-2.0)}),
        Case("bias −2 on points", HOLDS, on_points(-2.0, 200_000), slow=True),
        Case("bias −2 on points, two nodes", HOLDS, on_points(-2.0, 30_000, 2, largest=0.15)),
        Case("no biases", REFUTED, lambda rng: {"nodes": orthogonal(0.0)}),
        Case("no biases on points", REFUTED, on_points(0.0, 500)),
        Case("no biases, but half is small", HOLDS, lambda rng: {"nodes": orthogonal(0.0), "largest": 0.6}),
        Case("few points", INCONCLUSIVE, on_points(-2.0, 500)),
        Case("one node", NOT_APPLICABLE, lambda rng: {"nodes": orthogonal(-2.0, 1)}),
        Case("dead nodes", NOT_APPLICABLE, lambda rng: {"nodes": orthogonal(-40.0)}),
        Case("dead nodes on points", NOT_APPLICABLE, on_points(-9.0, 100)),
        Case("one point", UserError, on_points(-2.0, 1)),
    ),
    (*OF_NODES[:-1], permuted("x"), float32("nodes", "x")),
    {"repeated": "repeated points are not independent, so that standard errors are too small"},
)  # fmt: skip

LEMMA_2 = Cases(
    (
        Case("bias −2.5", HOLDS, close),
        Case("no biases, a wide angle", HOLDS, lambda rng: close(rng, 3, 0.0, 0.3)),
        Case("one has arrived", HOLDS, lambda rng: dict(zip(("star", "nodes"), one_arrived(), strict=True))),
        Case("as printed", REFUTED,
             lambda rng: dict(zip(("star", "nodes"), one_arrived(), strict=True)) | {"as_printed": True}),
        Case("a wider student", HOLDS, changed(one_more)),
        Case("one node", NOT_APPLICABLE, lambda rng: close(rng, 1)),
        Case("other biases", NOT_APPLICABLE, changed(shifted_bias)),
        Case("students that have arrived", NOT_APPLICABLE, changed(lambda star, near: star)),
        Case("opposite nodes", NOT_APPLICABLE, lambda rng: dict(zip(("star", "nodes"), opposite(), strict=True))),
        Case("students behind their teachers", NOT_APPLICABLE,
             lambda rng: {"star": Nodes(torch.eye(4).double()[:2], torch.zeros(2).double()),
                          "nodes": Nodes(-torch.ones(2, 4).double(), torch.zeros(2).double())}),
        Case("a narrower student", UserError, changed(lambda star, near: Nodes(near.w[:2], near.b[:2]))),
    ),
    OF_PAIRS,
    NO_SAMPLE,
)  # fmt: skip


def opposite_nets(teacher: MLP, student: MLP) -> None:
    for net, some in zip((teacher, student), opposite(), strict=True):
        net.W[0].data[0], net.b[0].data[0, 0] = some.w.T, some.b


def behind_nets(teacher: MLP, student: MLP) -> None:
    student.W[0].data[0] = -(0.5**0.5)


LEMMA_3 = Cases(
    (
        Case("bias −4", HOLDS, lucky()),
        Case("no biases, a wide angle", HOLDS, lucky(0.0, shape={"angle": 0.2})),
        Case("as printed", REFUTED, lucky(shape={"angle": 1e-4, "off": 0.5}, as_printed=True)),
        Case("as used", REFUTED, lucky(shape={"angle": 0.02, "off": 1e-3}, as_used=True)),
        Case("one node", NOT_APPLICABLE, lucky(m=1)),
        Case("other biases", NOT_APPLICABLE, lucky(of_net=other_bias)),
        Case("students that have arrived", NOT_APPLICABLE, lucky(of_net=arrived)),
        Case("opposite nodes", NOT_APPLICABLE, lucky(m=2, r=0, of_net=opposite_nets)),
        Case("students behind their teachers", NOT_APPLICABLE, lucky(m=2, r=0, of_net=behind_nets)),
        Case("a narrower student", UserError,
             lambda rng: (lambda p: {"teacher": p["student"], "student": p["teacher"]})(lucky()(rng))),
    ),
    OF_NETS,
    NO_SAMPLE,
)  # fmt: skip

LEMMA_4 = Cases(
    (
        Case("random nodes", HOLDS, lambda rng: {"nodes": nodes(rng, 4, 3)["nodes"], "angle": 0.1}),
        Case("a wide angle", HOLDS, lambda rng: {"nodes": orthogonal(-3.0), "angle": 1.0}),
        Case("for d", REFUTED, lambda rng: {"nodes": orthogonal(-1.0), "angle": 0.1, "of_d": True}),
        Case("one input", NOT_APPLICABLE, lambda rng: {"nodes": orthogonal(0.0, 1), "angle": 0.1}),
        Case("dead nodes", NOT_APPLICABLE, lambda rng: {"nodes": orthogonal(-40.0), "angle": 0.1}),
        Case("a tiny angle", INCONCLUSIVE, lambda rng: {"nodes": orthogonal(-1.0), "angle": 1e-5}),
        Case("no angle", UserError, lambda rng: {"nodes": orthogonal(-1.0), "angle": 0.0}),
    ),
    OF_NODES,
    NO_SAMPLE,
)  # fmt: skip

CASES = {
    "LM.A2": A2, "LM.A3": A3, "LM.L2": LEMMA_2, "LM.L3": LEMMA_3, "LM.L4": LEMMA_4, "LM.T4": LUCK_T4, "LM.T5": LUCK_T5,
    "SS.L1": L1, "SS.L4": L4, "SS.T1": T1, "SS.T2": T2, "SS.C1": C1, "SS.T3": finite_cases(80_000),
    "SS.T4": finite_cases(40_000), "SS.T5": LOWEST, "S0.T1": INTERPOLATION, "S0.T5": T5, "S0.T6": PUSH, "S0.T7": T7,
    "S0.E6": GROWTH, "S0.T7.feedback": FEEDBACK, "LM.T1": NODEWISE, "LM.A1": A1, "LM.T2": LM_T2,
    "LM.L1": GRADIENT, "LM.T3": CONSERVED,
}  # fmt: skip
