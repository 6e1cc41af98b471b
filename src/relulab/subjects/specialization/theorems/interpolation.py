r"""S0.T1, interpolation at critical points of SGD (S0 theorem 1, section 8.2; SS lemma 2).

With U_i = g_l(x_i) f_{l−1}(x_i)ᵀ, what point i alone would add to the update of layer l, a critical point of SGD has
Σ_{i∈B} U_i = 0 for every batch B of some size smaller than N. Then all U_i vanish: at every point g_l(x_i) = 0 or
f_{l−1}(x_i) = 0. If the sums are not 0 but at most ε in every entry, then

    ‖U_i‖∞ ≤ (2 − 1/|B|) ε,

and this is what is checked, since it can be measured at any weights: the largest sum over all batches of a size is,
entry by entry, that of the |B| largest or of the |B| smallest U_i. With biases ‖g_l(x_i)‖∞ ≤ ‖U_i‖∞. The text ends with
‖g_l(x_i)‖∞ ≤ ε, which three points with U = 3/2, −1/2, −1/2 and |B| = 2 contradict: that is the negative control.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.theorems.gradient_rule import back_propagated

ENTRIES = 20_000_000  # of U held at once


def interpolation(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, batch: int = 16, as_printed: bool = False
) -> Finding:
    """Checks, layer by layer, what the sums over all batches of a size say of every single point.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module; of several lanes, the first counts.
        student: Another, with the same inputs and outputs; depths may differ.
        x: Points, (N, d), more than a batch.
        batch: Points per batch, |B|.
        as_printed: A false variant of the statement, for the negative control: ε in place of (2 − 1/|B|) ε.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> interpolation(teacher, student, torch.eye(3), batch=2).verdict.name
    'HOLDS'
    """
    teacher, student = (_one(net) for net in (teacher, student))
    x = points(x).detach().double()
    if x.dim() != 2 or not x.shape[1] == teacher.widths[0] == student.widths[0]:
        raise UserError(
            f"points of shape {tuple(x.shape)} for networks of {teacher.widths[0]} and {student.widths[0]} inputs"
        )
    if teacher.widths[-1] != student.widths[-1]:
        raise UserError(f"{teacher.widths[-1]} and {student.widths[-1]} outputs: they must agree")
    if batch < 1:
        raise UserError(f"batch {batch}: at least one point")
    condition = Check(f"points, more than the {batch} of a batch", len(x), ">=", batch + 1)
    if not condition.holds:
        return Finding((condition,), ())
    with torch.no_grad():
        below = [x, *(f[0] for f in student.layers(x)[:-1])]
    factor = 1.0 if as_printed else 2 - 1 / batch
    conclusion = []
    for l, (g, f) in enumerate(zip(back_propagated(teacher, student, x), below, strict=True), 1):
        U, epsilon = sizes(g[0], nn.functional.pad(f, (0, 1), value=1.0), batch)
        error = 4 * batch * torch.finfo(x.dtype).eps * U
        says = f"layer {l}: largest ‖U_i‖∞, against {factor:.4g} × the largest sum over any batch"
        conclusion.append(Check(says, U, "<=", factor * epsilon + 2 * error, error))
    return Finding((condition,), tuple(conclusion))


def _one(net: nn.Module) -> MLP:
    return MLP.of((net if isinstance(net, MLP) else MLP.of(net)).module()).double()


def sizes(g: Float[Tensor, "N n"], f: Float[Tensor, "N n1"], batch: int) -> tuple[float, float]:
    """max_i ‖U_i‖∞, and the largest entry of |Σ_{i∈B} U_i| over all batches B of a size."""
    largest, sums = 0.0, 0.0
    for part in g.split(max(1, ENTRIES // f.numel()), dim=1):
        U = part.unsqueeze(2) * f.unsqueeze(1)
        largest = max(largest, float(U.abs().max()))
        ends = [U.topk(batch, dim=0, largest=end, sorted=False).values.sum(0).abs().max() for end in (True, False)]
        sums = max(sums, *map(float, ends))
    return largest, sums


def of_networks(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, batch: int = 16) -> Finding:
    return interpolation(teacher, student, x, batch=batch)


def _case(n: int = 200, batch: int = 16, **options) -> Finding:
    teacher, student = (torch_default((4, k, 3), seeds=[k], dtype=torch.float64) for k in (5, 9))
    x = torch.from_numpy(stream(0, Role.DEMONSTRATION, 5).standard_normal((n, 4)))
    return interpolation(teacher, student, x, batch=batch, **options)


def _contradiction() -> Finding:
    """One linear unit, student 0 and teacher x ↦ x at x = 3/2, −1/2, −1/2; the input's own entry of U is left small."""
    teacher, student = MLP((1, 1), dtype=torch.float64), MLP((1, 1), dtype=torch.float64)
    teacher.W[0].data.fill_(1e3)
    x = torch.tensor([[1.5], [-0.5], [-0.5]], dtype=torch.float64) / 1e3
    return interpolation(teacher, student, x, batch=2, as_printed=True)


THEOREM = Theorem(
    id="S0.T1",
    title="Interpolation at critical points of SGD",
    statement="If the updates of all batches of a size vanish, then at every point g_l = 0 or f_{l−1} = 0; if they are "
    "at most ε, then ‖g_l f_{l−1}ᵀ‖∞ ≤ (2 − 1/|B|) ε at every point.",
    source="S0 theorem 1, section 8.2; SS lemma 2",
    ids=("SS.L2",),
    check=interpolation,
    on={TeacherStudent: of_networks},
    demonstrations=(
        Demonstration("200 points, batches of 16", Verdict.HOLDS, _case),
        Demonstration("batches of all points: gradient descent", Verdict.NOT_APPLICABLE, lambda: _case(n=16)),
        Demonstration("negative control: ε at every point, as printed", Verdict.REFUTED, _contradiction),
    ),
)
