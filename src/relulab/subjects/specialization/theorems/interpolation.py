r"""S0.T1, interpolation at critical points of SGD (S0 theorem 1, section 8.2; SS lemma 2).

Let U_i = g_l(x_i) f_{l−1}(x_i)ᵀ be the contribution of point i to the update of layer l. At a critical point of SGD,
Σ_{i∈B} U_i = 0 for every batch B of a given size smaller than N. Then all U_i vanish: at every point, g_l(x_i) = 0 or
f_{l−1}(x_i) = 0. If the sums are not 0 but at most ε in every entry, then

    ‖U_i‖∞ ≤ (2 − 1/|B|) ε.

The check uses this inequality because it can be measured at any weights. Entry by entry, the largest batch sum is that
of the |B| largest or of the |B| smallest U_i. With biases, ‖g_l(x_i)‖∞ ≤ ‖U_i‖∞. The paper concludes ‖g_l(x_i)‖∞ ≤ ε.
Three points with U = 3/2, −1/2, −1/2 and |B| = 2 contradict this. They are the negative control.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, as_mlp
from relulab.subjects.specialization.theorems.gradient_rule import back_propagated

ENTRIES = 20_000_000  # entries of U in memory at once


def interpolation(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, batch: int = 16, as_printed: bool = False
) -> Finding:
    """Check in every layer that small batch sums imply small contributions ‖U_i‖∞ of all single points.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module. Only the first lane is used.
        student: Another such network with the same inputs and outputs. The depths may differ.
        x: Points, (N, d), more than one batch holds.
        batch: Number of points per batch, |B|.
        as_printed: True uses the printed bound ε instead of (2 − 1/|B|) ε. This is the negative control.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> interpolation(teacher, student, torch.eye(3), batch=2).verdict.name
    'HOLDS'
    """
    teacher, student = (_first_lane(net) for net in (teacher, student))
    x = points(x).detach().double()
    if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
        raise UserError(
            f"points have shape {tuple(x.shape)}, but the teacher has {teacher.widths[0]} inputs and the student "
            f"{student.widths[0]}: expected (points, inputs) with the same number of inputs"
        )
    if teacher.widths[-1] != student.widths[-1]:
        raise UserError(
            f"the teacher has {teacher.widths[-1]} outputs and the student {student.widths[-1]}: they must agree"
        )
    if batch < 1:
        raise UserError(f"expected a batch of at least one point, got batch={batch}")
    detail = f"{len(x):,} points, batches of {batch:,}"
    condition = Check("There are more points than one batch holds", len(x), ">=", batch + 1, detail=detail)
    if not condition.holds:
        return Finding((condition,), ())
    with torch.no_grad():
        below = [x, *(f[0] for f in student.layers(x)[:-1])]
    factor = 1.0 if as_printed else 2 - 1 / batch
    conclusion = []
    for l, (g, f) in enumerate(zip(back_propagated(teacher, student, x), below, strict=True), 1):
        U, epsilon = sizes(g[0], nn.functional.pad(f, (0, 1), value=1.0), batch)
        error = 4 * batch * torch.finfo(x.dtype).eps * U
        bound = factor * epsilon + 2 * error
        says = f"In layer {l}, no ‖U_i‖∞ is larger than {factor:.4g} times ε, the largest entry of a batch sum"
        detail = f"the largest ‖U_i‖∞ is {number(U)}, must be at most {number(bound)}"
        conclusion.append(Check(says, U, "<=", bound, error, detail=detail))
    return Finding((condition,), tuple(conclusion))


def _first_lane(net: nn.Module) -> MLP:
    return MLP.of(as_mlp(net).module()).double()


def sizes(g: Float[Tensor, "N n"], f: Float[Tensor, "N n1"], batch: int) -> tuple[float, float]:
    """max_i ‖U_i‖∞, and the largest entry of |Σ_{i∈B} U_i| over all batches B of the given size.

    Args:
        g: Gradients g_l(x_i), (N, n).
        f: Activations f_{l−1}(x_i) with the constant 1, (N, n1).
        batch: Number of points per batch.
    """
    largest, sums = 0.0, 0.0
    for part in g.split(max(1, ENTRIES // f.numel()), dim=1):
        U = part.unsqueeze(2) * f.unsqueeze(1)
        largest = max(largest, float(U.abs().max()))
        ends = [U.topk(batch, dim=0, largest=end, sorted=False).values.sum(0).abs().max() for end in (True, False)]
        sums = max(sums, *map(float, ends))
    return largest, sums


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, batch: int = 16) -> Finding:
    """Check the theorem on networks and points from files.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module.
        student: Another such network with the same inputs and outputs.
        x: Points, (N, d), more than one batch holds.
        batch: Number of points per batch, |B|.
    """
    return interpolation(teacher, student, x, batch=batch)


def _case(n: int = 200, batch: int = 16, **options) -> Finding:
    teacher, student = (torch_default((4, k, 3), seeds=[k], dtype=torch.float64) for k in (5, 9))
    x = torch.from_numpy(stream(0, Role.DEMONSTRATION, 5).standard_normal((n, 4)))
    return interpolation(teacher, student, x, batch=batch, **options)


def _contradiction() -> Finding:
    """One linear unit: U = 3/2, −1/2, −1/2 in the bias entry. Small inputs keep the other entry of U small."""
    teacher, student = MLP((1, 1), dtype=torch.float64), MLP((1, 1), dtype=torch.float64)
    teacher.W[0].data.fill_(1e3)
    x = torch.tensor([[1.5], [-0.5], [-0.5]], dtype=torch.float64) / 1e3
    return interpolation(teacher, student, x, batch=2, as_printed=True)


THEOREM = Theorem(
    id="S0.T1",
    title="Interpolation at critical points of SGD",
    statement="If the sum of U_i over every batch B of a given size is zero, then U_i = 0 at every point i, so g_l = "
    "0 or f_{l−1} = 0 there. If every entry of these sums is at most ε in absolute value, then ‖U_i‖∞ ≤ (2 − 1/|B|) ε "
    "at every point. The batch must not contain all points.",
    symbols={
        "l": "layer, counted from 1",
        "U_i": "g_l f_{l−1}ᵀ at point i: its contribution to the update of layer l",
        "‖U_i‖∞": "largest entry of U_i in absolute value",
        "B": "a batch of |B| points",
        "g_l": "back-propagated gradient at layer l of the student",
        "f_{l−1}": "activations of the layer below, with a constant 1 for the biases",
        "ε": "bound on the entries of all batch sums",
    },
    in_print="The proof gives ‖U_i‖∞ ≤ (2 − 1/|B|) ε, but the text then concludes ‖g_l‖∞ ≤ ε for networks with biases. "
    "This does not follow: three points with U_i = 3/2, −1/2, −1/2 and |B| = 2 have ε = 1. The negative control uses "
    "them.",
    source="S0 theorem 1, section 8.2; SS lemma 2",
    ids=("SS.L2",),
    check=interpolation,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("200 points, batches of 16", Verdict.HOLDS, _case),
        Demonstration("One batch with all points (full gradient descent)", Verdict.NOT_APPLICABLE, lambda: _case(n=16)),
        Demonstration("Negative control: the printed bound ε", Verdict.REFUTED, _contradiction),
    ),
)
