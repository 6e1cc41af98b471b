r"""The rate at which a wide student recovers its teacher: the conditions of LM theorem 5, eqs. 41 to 54, corrected.

Bounds at step t, with a common factor (1 − η λ̄ γ)^t, for the u-set (students near teacher nodes) and the r-set
(others):

    sin θ_j ≤ sin θ_0,   ‖δv_j‖ = ‖v_j − v*_j‖ ≤ B_δv   for j in the u-set,     ‖v_j‖ ≤ B_r   for j in the r-set.

Let b_v ≤ ‖v*_j‖ ≤ B_v, B = B_v + B_δv, S = sin θ_0, and Δ = 2 sin(θ_0/2), which bounds ‖δw_j‖. The r-set moves by at
most R. For i = d and i = l, let C_u = K_i Δ and C_r = K_i R. Overlaps with other nodes are at most ϵ_i N times the
overlap of a node with itself (lemmas 2 and 3, W-Separation), with

    N_uu = (1 + C_u)²,   N_ur = (1 + C_u)² (1 + C_r),   N_ru = (1 + C_r)²,   N_rr = (1 + C_r)³.

Inserting the bounds into one step of the dynamics shows that they hold at the next step if γ is at most each of

    γ_w = b_v (b_v − B_δv) cos θ_0
          − ϵ_d B [(m − 1) N_uu ((1 + K_d) B/cos(θ_0/2) + B_δv/S) + (n − m) N_ur B_r/S]           (41; N with K_d)
    γ_u = 1 − {C_0 Δ² B + ϵ_l [(m − 1) N_uu (B_δv + K_l Δ B) + (n − m) N_ur B_r]} / B_δv           (42; N with K_l)
    γ_r = 1 − ϵ_l [m N_ru (B_δv + K_l Δ B) + (n − m − 1) N_rr B_r] / B_r                           (42, r-set)
    λ̄ = min(d̄, l̄),   d̄ = (1 − K_d Δ) min_u d*_jj(0),   l̄ = min over all of (1 − C) l*_jj(0)       (43 to 45)
    R = ϵ_d max_r d_jj B_r G / (λ̄ γ (2 − η λ̄ γ)),                                                  (48, 70)
    G = m N_ru ((1 + K_d) B S/cos(θ_0/2) + B_δv) + (n − m − 1) N_rr B_r.

R depends on γ and γ on R. The iteration from R = 0 increases R and decreases γ, so its limit has the largest γ.
"""

import math
from dataclasses import dataclass, replace

import torch

from relulab.subjects.specialization.instruments.overlap_constants import fall_off, lipschitz_constants
from relulab.subjects.specialization.instruments.overlap_ratios import overlap_ratios
from relulab.subjects.specialization.tools.lucky_nodes import LuckyNodes
from relulab.subjects.specialization.tools.pair_overlap import pair_overlap

ROUNDS = 200  # of the iteration
SAME = 1e-13  # relative change of R at which the iteration ends


@dataclass(frozen=True)
class Bounds:
    """What is known of the fan-outs, and chosen for them.

    Args:
        b_v: The smallest ‖v*_j‖.
        B_v: The largest ‖v*_j‖.
        B_dv: Bound on ‖v_j − v*_j‖ in the u-set at the start.
        B_r: Bound on ‖v_j‖ in the r-set at the start.
    """

    b_v: float
    B_v: float
    B_dv: float
    B_r: float


@dataclass(frozen=True)
class Overlapping:
    """Constants of the overlaps of some nodes and of students near them.

    Args:
        theta_0: The angle θ_0.
        m: Number of nodes in the u-set.
        n: Number of all nodes.
        K: K_d and K_l.
        epsilon: ϵ_d and ϵ_l.
        C_0: C_0 of lemma 4, the largest of the u-set.
        own_d: The smallest d*_jj of the u-set at the start.
        own_l: The smallest l*_jj of the u-set and of the r-set at the start.
        most_d: The largest d_jj of the u-set and of the r-set.
        most_l: The largest l_jj.
    """

    theta_0: float
    m: int
    n: int
    K: tuple[float, float]
    epsilon: tuple[float, float]
    C_0: float
    own_d: float
    own_l: tuple[float, float]
    most_d: tuple[float, float]
    most_l: float


@dataclass(frozen=True)
class Rate:
    """The rate of theorem 5: bounds fall by the factor 1 − η λ̄ γ in every step, if γ and λ̄ are positive.

    Args:
        gamma: γ.
        lambda_bar: λ̄.
        R: Bound on how far the r-set moves.
        eta: The learning rate η.
    """

    gamma: float
    lambda_bar: float
    R: float
    eta: float

    @property
    def contraction(self) -> float:
        """1 − η λ̄ γ."""
        return 1 - self.eta * self.lambda_bar * self.gamma


def overlapping(lucky: LuckyNodes, theta_0: float) -> Overlapping:
    """Compute the constants of the overlaps.

    Args:
        lucky: The students and their teacher nodes.
        theta_0: The angle θ_0.
    """
    m, n, b = lucky.m, len(lucky.b), lucky.b
    theta = torch.cat([lucky.theta, torch.zeros(n - m, dtype=b.dtype)])
    start, own = pair_overlap(b, b, theta), pair_overlap(b, b, torch.zeros_like(b))
    ratios = overlap_ratios(lucky.nodes)
    K = lipschitz_constants(lucky.nodes, theta_0)
    d, l = own.D.tolist(), own.L.tolist()
    return Overlapping(
        theta_0, m, n, (float(K.K_d), float(K.K_l)), (float(ratios.epsilon_d), float(ratios.epsilon_l)),
        float(fall_off(lucky.nodes, theta_0)[:m].max()), float(start.D[:m].min()),
        (float(start.L[:m].min()), min(l[m:], default=math.inf)), (max(d[:m]), max(d[m:], default=0.0)), max(l),
    )  # fmt: skip


def largest_eta(of: Overlapping, bounds: Bounds) -> float:
    """Return the largest learning rate η with which no step overshoots: η d_jj B_v B ≤ 1 and η l_jj ≤ 1.

    Args:
        of: Constants of the overlaps.
        bounds: Bounds on the fan-outs.
    """
    return 1 / max(of.most_d[0] * bounds.B_v * (bounds.B_v + bounds.B_dv), of.most_l)


def rate(of: Overlapping, bounds: Bounds, eta: float) -> Rate:
    """Return the largest γ that satisfies the corrected conditions; it is −∞ if the iteration has no limit.

    Args:
        of: Constants of the overlaps.
        bounds: Bounds on the fan-outs.
        eta: The learning rate η.
    """
    none = Rate(-math.inf, 0.0, math.inf, eta)
    if not all(map(math.isfinite, of.K)):
        return none
    R = 0.0
    for _ in range(ROUNDS):
        found = replace(_with_radius(of, bounds, R), eta=eta)
        if not (found.gamma > 0 and found.lambda_bar > 0):
            return found
        speed = found.lambda_bar * found.gamma
        moved = _pushed(of, bounds, R) / (speed * (2 - eta * speed))
        if moved > 2 * math.sin(of.theta_0 / 2):  # K does not hold so far from the start
            return none
        if moved <= R * (1 + SAME):
            return found
        R = moved * (1 + SAME / 2)
    return none


def _factors(of: Overlapping, i: int, R: float) -> tuple[float, float, float, float]:
    """N_uu, N_ur, N_ru and N_rr."""
    u, r = 1 + of.K[i] * 2 * math.sin(of.theta_0 / 2), 1 + of.K[i] * R
    return u**2, u**2 * r, r**2, r**3


def _with_radius(of: Overlapping, bounds: Bounds, R: float) -> Rate:
    """γ and λ̄ if the r-set moves by at most R."""
    S, delta, cosine = math.sin(of.theta_0), 2 * math.sin(of.theta_0 / 2), math.cos(of.theta_0 / 2)
    (K_d, K_l), (epsilon_d, epsilon_l), B = of.K, of.epsilon, bounds.B_v + bounds.B_dv
    others, r = of.m - 1, of.n - of.m
    uu, ur, _, _ = _factors(of, 0, R)
    near = uu * ((1 + K_d) * B / cosine + bounds.B_dv / S)
    pushes = epsilon_d * B * (others * near + r * ur * bounds.B_r / S)
    gammas = [bounds.b_v * (bounds.b_v - bounds.B_dv) * math.cos(of.theta_0) - pushes]
    uu, ur, ru, rr = _factors(of, 1, R)
    of_u = bounds.B_dv + K_l * delta * B
    pulls = of.C_0 * delta**2 * B + epsilon_l * (others * uu * of_u + r * ur * bounds.B_r)
    gammas.append(1 - pulls / bounds.B_dv)
    if r:
        gammas.append(1 - epsilon_l * (of.m * ru * of_u + (r - 1) * rr * bounds.B_r) / bounds.B_r)
    own_u, own_r = of.own_l
    l_bar = min((1 - K_l * delta) * own_u, (1 - K_l * R) * own_r)
    return Rate(min(gammas), min((1 - K_d * delta) * of.own_d, l_bar), R, 0.0)


def _pushed(of: Overlapping, bounds: Bounds, R: float) -> float:
    """ϵ_d max d_jj B_r G, which bounds ‖ẇ_j‖ of the r-set at the start."""
    r = of.n - of.m
    if not r:
        return 0.0
    _, _, ru, rr = _factors(of, 0, R)
    near = (1 + of.K[0]) * (bounds.B_v + bounds.B_dv) * math.sin(of.theta_0) / math.cos(of.theta_0 / 2)
    G = of.m * ru * (near + bounds.B_dv) + (r - 1) * rr * bounds.B_r
    return of.epsilon[0] * of.most_d[1] * bounds.B_r * G
