r"""LM.L1: the gradient behind BatchNorm is a projection (LM lemma 1, section 8.3, eq. 16).

BatchNorm maps the values f ∈ R^N of a unit at N samples to c_0 f̃ + c_1, where f̃ = (f − μ)/s, s² = σ² + ε, and μ and σ²
are mean and variance of f over the samples. Let g be the gradient with respect to its outputs, and κ = ε/(σ² + ε). Then

    g_f = (c_0/s) [P⊥ g + κ P_f g],     g_c = S(f)ᵀ g with S(f) = [f̃, 1].

P_f is the projection onto f − μ, and P⊥ the projection onto the orthogonal complement of f and the vector 1. The lemma
is the case ε = 0: then g_f has mean zero and is orthogonal to f. With ε > 0 its mean is still zero, but the share κ of
the component of g along f − μ remains. With PyTorch's ε = 10⁻⁵ and σ = 1, that is one part in 100,000.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.batch_statistics import EPS, SMALLEST, Statistics, statistics

RESOLUTION = 1e-3  # with a larger relative error the two sides cannot be compared


def batch_norm_gradient(
    f: Float[Tensor, "N n"],
    g: Float[Tensor, "N n"],
    *,
    c_0: Float[Tensor, " n"] | None = None,
    epsilon: float = 0.0,
    as_printed: bool = False,
    only_mean: bool = False,
) -> Finding:
    """Compare the gradient of BatchNorm by automatic differentiation with the projection.

    Args:
        f: Inputs of BatchNorm, (N, n): N samples of n units. For images, every position is a sample.
        g: Gradients with respect to its outputs, (N, n).
        c_0: Weights of BatchNorm, (n,). Default: 1.
        epsilon: ε, which BatchNorm adds to the variance.
        as_printed: True leaves out the term with κ, which is wrong for ε > 0. This is a negative control.
        only_mean: True projects out the vector 1 only, not f. This is the other negative control.

    >>> f = torch.tensor([[0.0], [1.0], [5.0]])
    >>> batch_norm_gradient(f, f.square()).verdict.name
    'HOLDS'
    """
    f, g = (points(t).detach().double() for t in (f, g))
    at_least(0, epsilon=epsilon)
    weights = torch.ones(f.shape[1:], dtype=f.dtype) if c_0 is None else points(c_0).detach().double()
    if f.dim() != 2 or g.shape != f.shape or weights.shape != f.shape[1:] or not f.numel():
        raise UserError(
            f"expected f and g of shape (samples, units) and one weight c_0 per unit, got {tuple(f.shape)}, "
            f"{tuple(g.shape)} and {tuple(weights.shape)}: for images, make every position a sample"
        )
    of = statistics(f, epsilon)
    conditions = (varied(len(of.constant), f.shape[1]),)
    if not conditions[0].holds:
        return Finding(conditions, ())
    slow_f, slow_c = by_autograd(f, g, weights, epsilon)
    fast_f = weights / of.s * projected(of, g, kept=not as_printed, only_mean=only_mean)
    fast_c = torch.stack([(of.normal * g).sum(0), g.sum(0)])
    sums = torch.stack([((1 + of.normal.abs()) * g.abs()).sum(0), g.abs().sum(0)])
    remains = "" if as_printed or not epsilon else " + κ P_f g"
    projection = "P_1 g" if only_mean else "P⊥ g"
    says = f"g_f = (c_0/s) {f'[{projection}{remains}]' if remains else projection} for every unit"
    sizes = weights.abs() / of.s * g.abs().amax(0)
    return Finding(conditions, (
        _compared(says, (slow_f - fast_f).abs(), of.backward_error(g, weights), sizes),
        _compared("g_c = S(f)ᵀ g for every unit", (slow_c - fast_c).abs(),
                  4 * (len(f) + 8) * EPS * of.amplified * sums, sums.amax(0)),
    ))  # fmt: skip


def varied(constant: int, units: int) -> Check:
    """The condition that σ > 0 for every unit.

    Args:
        constant: Number of units that have the same value at all samples.
        units: Number of units.
    """
    detail = f"{constant:,} of {units:,} {'is' if constant == 1 else 'are'} constant"
    return Check("No unit has the same value at all samples", constant, "==", 0, detail=detail)


def projected(
    of: Statistics, g: Float[Tensor, "N n"], *, kept: bool = True, only_mean: bool = False
) -> Float[Tensor, "N n"]:
    """P⊥ g + κ P_f g, with projections along unit vectors.

    Args:
        of: Statistics of the inputs of BatchNorm.
        g: Gradients with respect to its outputs.
        kept: Whether to add the part with κ.
        only_mean: Whether P⊥ projects out the vector 1 only.
    """
    along = of.normal / of.normal.norm(dim=0)
    P_f = along * (along * g).sum(0)
    rest = g - g.mean(0)
    return (rest if only_mean else rest - P_f) + (of.kappa * P_f if kept else 0)


def by_autograd(
    f: Float[Tensor, "N n"], g: Float[Tensor, "N n"], c_0: Float[Tensor, " n"], epsilon: float
) -> tuple[Float[Tensor, "N n"], Float[Tensor, "2 n"]]:
    """Back-propagate g through PyTorch's BatchNorm in training mode: gradients of f, and of c_0 and c_1.

    Args:
        f: Inputs of BatchNorm.
        g: Gradients with respect to its outputs.
        c_0: Its weights.
        epsilon: ε.
    """
    with torch.enable_grad():
        f, c_0 = f.clone().requires_grad_(), c_0.clone().requires_grad_()
        c_1 = torch.zeros_like(c_0, requires_grad=True)
        y = nn.functional.batch_norm(f, None, None, c_0, c_1, training=True, eps=max(epsilon, SMALLEST))
        g_f, *g_c = torch.autograd.grad(y, (f, c_0, c_1), g)
    return g_f, torch.stack(g_c)


def _compared(says: str, gap: Tensor, error: Tensor, size: Tensor) -> Check:
    """The check at the entry where gap and error are farthest apart, relative to the gradients of its unit."""
    moved = (size > 0).expand_as(gap)
    if not moved.any():
        return Check(says, math.nan, "==", 0.0, detail="unknown, because all gradients are zero")
    gap, error = (torch.where(moved, t / size, 0.0).flatten() for t in (gap, error))
    worst = (gap / error.clamp(min=torch.finfo(gap.dtype).tiny)).argmax()
    measured, allowed = float(gap[worst]), float(error[worst])
    detail = f"the two sides differ by {number(measured)} of the largest entry; the error allowed is {number(allowed)}"
    return Check(says, measured, "==", 0.0, allowed, RESOLUTION, detail)


def _case(epsilon: float = 0.0, dead: bool = False, **options) -> Finding:
    """Values of five units at 60 samples, of different means and scales."""
    rng = stream(0, Role.DEMONSTRATION, 21)
    f, g = (torch.from_numpy(rng.standard_normal((60, 5))) for _ in range(2))
    f = f * torch.logspace(-2, 2, 5) + torch.arange(5)
    if dead:
        f[:, 2] = 0.0
    return batch_norm_gradient(f, g, c_0=torch.linspace(-1, 2, 5), epsilon=epsilon, **options)


THEOREM = Theorem(
    id="LM.L1",
    title="The gradient behind BatchNorm is a projection",
    statement="BatchNorm maps the values f of a unit at N samples to c_0 f̃ + c_1, with f̃ = (f − μ)/s and s² = σ² + ε. "
    "If g is the gradient with respect to its outputs, then the gradient with respect to f is "
    "g_f = (c_0/s) [P⊥ g + κ P_f g] with κ = ε/(σ² + ε), and with respect to c_0 and c_1 it is g_c = S(f)ᵀ g. For "
    "ε = 0, g_f = (c_0/σ) P⊥ g: it has mean zero and is orthogonal to f.",
    symbols={
        "N": "number of samples in the batch; for images, every position counts as a sample",
        "f": "inputs of BatchNorm for one unit, a vector with N entries",
        "f̃": "f, normalized: (f − μ)/s",
        "μ": "mean of f over the samples",
        "σ": "standard deviation of f over the samples",
        "s": "√(σ² + ε), by which BatchNorm divides",
        "ε": "a small number that BatchNorm adds to the variance",
        "κ": "ε/(σ² + ε), the share of ε in what BatchNorm divides by",
        "c_0": "weight of BatchNorm",
        "c_1": "bias of BatchNorm",
        "g": "gradient with respect to the outputs of BatchNorm",
        "g_f": "gradient with respect to f",
        "g_c": "gradient with respect to c_0 and c_1",
        "S(f)": "matrix with the columns f̃ and 1",
        "1": "vector of ones",
        "P⊥": "projection onto the orthogonal complement of f and the vector 1",
        "P_f": "projection onto f − μ",
        "P_1": "projection onto the orthogonal complement of the vector 1 alone",
    },
    in_print="The lemma takes ε = 0 without saying so, and PyTorch refuses that value. With ε > 0, g_f keeps the share "
    "κ of the component of g along f − μ: 10⁻⁵ for PyTorch's default and σ = 1, but one half for a unit with σ² = ε. "
    "The lemma as printed is the first negative control, with ε = 0.1. The matrix S(f) is not defined in the text.",
    source="LM lemma 1, section 8.3, eq. 16",
    ids=("LM.X",),
    check=batch_norm_gradient,
    variants=("as_printed", "only_mean"),
    demonstrations=(
        Demonstration("Five units at 60 samples, ε = 0", Verdict.HOLDS, _case),
        Demonstration("The same with ε = 0.1", Verdict.HOLDS, lambda: _case(epsilon=0.1)),
        Demonstration("A unit that is zero at all samples", Verdict.NOT_APPLICABLE, lambda: _case(dead=True)),
        Demonstration(
            "Negative control: the lemma as printed, with ε = 0.1",
            Verdict.REFUTED,
            lambda: _case(epsilon=0.1, as_printed=True),
        ),
        Demonstration(
            "Negative control: only the mean is projected out", Verdict.REFUTED, lambda: _case(only_mean=True)
        ),
    ),
)
