r"""The rate of LM theorem 5 by eqs. 41 to 54 as printed, with "γ ≤" for "γ ≥": a negative control.

    γ = min((B_v − B_δv) cos θ_0 − ϵ_d (B_v + B_δv) max(B_{d,u}, B_{d,r}),  1 − ϵ_l max(B_{l,u}, B_{l,r}) − κ)

As printed, "γ ≥" would allow any rate. With "≤", the equations still are no sufficient conditions:

- (41) is linear in the size of the fan-outs, but the pull on w_j is d*_jj v_jᵀv*_j, which is quadratic.
- (41) needs a lower bound of ‖v*_j‖ where it has the upper bound B_v.
- The r-set and δv push w_j also for θ_j = 0, so that (41) needs these terms divided by sin θ_0; (42) needs its terms
  divided by B_δv.
- (43) and (44) have K twice, (46) takes ‖v*_j‖ = 1, and (53), (54) count the nodes of the u-set as m − 1 for both sets.
"""

import math

from relulab.subjects.specialization.tools.recovery_rate import ROUNDS, SAME, Bounds, Overlapping, Rate


def printed_rate(of: Overlapping, bounds: Bounds, eta: float) -> Rate:
    """Return the largest γ that satisfies the printed equations with "γ ≤"; it is −∞ if there is none.

    Args:
        of: Constants of the overlaps.
        bounds: Bounds on the fan-outs; the larger one of B_v and B_r is the printed B_v.
        eta: The learning rate η.
    """
    B_v, B_dv, (K_d, K_l) = max(bounds.B_v, bounds.B_r), bounds.B_dv, of.K
    none = Rate(-math.inf, 0.0, math.inf, eta)
    if not (math.isfinite(K_d) and math.isfinite(K_l)):
        return none
    moved = (0.0, 0.0)  # C_dr and C_lr
    for _ in range(ROUNDS):
        parts = [_sums(of, i, moved[i]) for i in (0, 1)]
        kappa = 2 * of.C_0 * math.sin(of.theta_0 / 2) * (1 + B_dv)
        gamma = min(
            (B_v - B_dv) * math.cos(of.theta_0) - of.epsilon[0] * (B_v + B_dv) * max(parts[0]),
            1 - of.epsilon[1] * max(parts[1]) - kappa,
        )
        lambda_bar = min(_own(of, 0, moved[0], of.own_d, of.most_d[1]), _own(of, 1, moved[1], *of.own_l))
        if not (gamma > 0 and lambda_bar > 0):
            return none
        speed = lambda_bar * gamma
        scale = (B_v + B_dv) * B_v / (speed * (2 - eta * speed))
        new = tuple(of.epsilon[i] * of.K[i] * parts[i][1] * scale for i in (0, 1))
        if all(b <= a * (1 + SAME) for a, b in zip(moved, new, strict=True)):
            return Rate(gamma, lambda_bar, moved[0] / K_d, eta)
        moved = (new[0], new[1])
    return none


def _sums(of: Overlapping, i: int, C_r: float) -> tuple[float, float]:
    """B_{i,u} and B_{i,r} of eqs. 53 and 54."""
    C_u, K, cosine = 2 * of.K[i] * math.sin(of.theta_0 / 2), 1 + of.K[i], math.cos(of.theta_0 / 2)
    uu, ur = K * (1 + C_u) ** 2 / cosine, K * (1 + C_u) * (1 + C_r)
    ru, rr = ur / cosine, K * (1 + C_r) ** 2
    others, r = of.m - 1, of.n - of.m
    return others * uu + r * ur, others * ru + r * rr


def _own(of: Overlapping, i: int, C_r: float, own_u: float, own_r: float) -> float:
    """d̄ or l̄ of eqs. 43 and 44."""
    C_u = 2 * of.K[i] * math.sin(of.theta_0 / 2)
    smallest = (1 - of.K[i] * C_u) * own_u
    return min(smallest, (1 - of.K[i] * C_r) * own_r) if of.n > of.m else smallest
