"""Theorems 4 and 5 of Luck Matters: the dynamics by loops and samples, one step from many starts, and the constants."""

import math

import numpy as np
import pytest
import torch

from relulab import UserError, Verdict
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import Nodes, equal_width_recovery, over_realized_recovery
from relulab.subjects.specialization.tools.lucky_examples import lucky_pair, near_nodes
from relulab.subjects.specialization.tools.lucky_nodes import lucky_nodes
from relulab.subjects.specialization.tools.lucky_students import lucky_students
from relulab.subjects.specialization.tools.printed_rate import printed_rate
from relulab.subjects.specialization.tools.projected_dynamics import two_layer_dynamics, uniform_dynamics
from relulab.subjects.specialization.tools.recovery_rate import Bounds, largest_eta, overlapping, rate


def kernels(W: np.ndarray, W_star: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often two nodes without biases are active together, and the mean product of their activations."""
    theta = np.arccos(np.clip(W @ W_star.T, -1, 1))
    return (np.pi - theta) / (2 * np.pi), (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)


def naive(W, V, W_star, V_star, eta, steps):
    """The dynamics node by node, without biases."""
    for _ in range(steps):
        (d_star, l_star), (d, l) = kernels(W, W_star), kernels(W, W)
        new_W, new_V = W.copy(), V.copy()
        for j in range(len(W)):
            pull = sum(W_star[k] * d_star[j, k] * (V[j] @ V_star[k]) for k in range(len(W_star)))
            pull = pull - sum(W[k] * d[j, k] * (V[j] @ V[k]) for k in range(len(W)))
            moved = W[j] + eta * (np.eye(W.shape[1]) - np.outer(W[j], W[j])) @ pull
            new_W[j] = moved / np.linalg.norm(moved)
            new_V[j] = V[j] + eta * (sum(l_star[j, k] * V_star[k] for k in range(len(W_star)))
                                     - sum(l[j, k] * V[k] for k in range(len(W))))  # fmt: skip
        W, V = new_W, new_V
    return W, V


def test_both_layers_follow_the_dynamics_by_loops():
    teacher, student = lucky_pair(0.0, angle=0.3, off=0.5)
    pair = lucky_students(teacher, student)
    *_, last = two_layer_dynamics(pair.lucky, pair.v_star, pair.v, 0.05, 20)
    W, V = naive(pair.lucky.u.numpy(), pair.v.numpy(), pair.lucky.star[:3].numpy(), pair.v_star.numpy(), 0.05, 20)
    np.testing.assert_allclose(last.u.numpy(), W, atol=1e-12)
    np.testing.assert_allclose(last.v.numpy(), V, atol=1e-12)


def test_with_a_uniform_signal_fan_outs_are_one_and_stay():
    lucky = lucky_nodes(*near_nodes(3, bias=0.0, angle=0.4))
    *_, last = uniform_dynamics(lucky, 0.1, 15)
    one, eye = np.ones((3, 1)), lucky.star.numpy()
    expected = lucky.u.numpy()
    for _ in range(15):  # V is put back after every step
        expected, _ = naive(expected, one, eye, one, 0.1, 1)
    np.testing.assert_allclose(last.u.numpy(), expected, atol=1e-12)


def test_the_fan_outs_follow_the_gradient_of_sampled_inputs():
    """V̇ is minus the gradient of the loss; the inputs are sampled, and the nodes have biases."""
    teacher, student = lucky_pair(-0.5, angle=0.3, off=0.5)
    pair, x = lucky_students(teacher, student), torch.from_numpy(np.random.default_rng(0).standard_normal((200_000, 6)))
    first, second = list(two_layer_dynamics(pair.lucky, pair.v_star, pair.v, 1.0, 1))
    f = (x @ pair.lucky.u.T + pair.lucky.b).relu()
    f_star = (x @ pair.lucky.star[:3].T + pair.lucky.b[:3]).relu()
    residue = f_star @ pair.v_star - f @ pair.v
    samples = f[:, :, None] * residue[:, None]
    error = samples.std(0) / math.sqrt(len(x))
    assert ((second.v - first.v - samples.mean(0)).abs() < 4.5 * error).all()


def test_the_numbers_without_biases_that_show_the_printed_d_bar_to_be_wrong():
    star = Nodes(torch.eye(2).double(), torch.zeros(2).double())
    turn = torch.tensor([[math.cos(0.3), math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]]).double()
    d_star = 0.5 * (1 - 0.3 / math.pi)
    assert next(uniform_dynamics(lucky_nodes(star, Nodes(turn, star.b)), 0.0, 0)).to_star.D[0, 0] == pytest.approx(
        d_star
    )
    K = 1 / (math.pi - 0.3)  # the slope of d*_jj = (π − θ)/2π at the angle 0.3, relative to d*_jj
    assert round(d_star, 3) == 0.452 and (1 + 2 * K * math.sin(0.15)) * d_star == pytest.approx(0.4998, abs=3e-4)
    assert (1 - 2 * K * math.sin(0.15)) * d_star < d_star


@pytest.mark.parametrize(("m", "bias", "angle"), [(2, 0.0, 0.02), (5, -2.5, 0.01), (4, -4.0, 0.01)])
def test_theorem_4_holds_from_many_starts(m, bias, angle):
    for index in range(20, 23):
        finding = equal_width_recovery(*near_nodes(m, bias=bias, angle=angle, index=index), steps=30)
        assert finding.verdict is Verdict.HOLDS, finding


def test_students_in_another_order_with_other_lengths_and_inputs_of_another_scale():
    star, near = near_nodes()
    plain = equal_width_recovery(star, near, steps=5)
    order = torch.tensor([2, 0, 3, 1])
    length = torch.tensor([[2.0], [0.5], [3.0], [1.0]]).double()
    other = Nodes(near.w[order] * length / 4, near.b[order] * length[:, 0])
    moved = equal_width_recovery(Nodes(star.w / 4, star.b), other, std=4.0, steps=5)
    for a, b in zip((*plain.conditions, *plain.conclusion), (*moved.conditions, *moved.conclusion), strict=True):
        assert b.holds is True and b.measured == pytest.approx(a.measured, rel=1e-6, abs=1e-12)


def test_conditions_of_theorem_4():
    star, near = near_nodes()
    wider = Nodes(torch.cat([near.w, -near.w[:1]]), torch.cat([near.b, near.b[:1]]))
    biased = Nodes(near.w, near.b + 0.01)
    for nodes in (wider, biased, star):
        assert equal_width_recovery(star, nodes).verdict is Verdict.NOT_APPLICABLE
    assert equal_width_recovery(star, near, theta_0=0.01).verdict is Verdict.NOT_APPLICABLE
    assert equal_width_recovery(star, near, theta_0=0.03).verdict is Verdict.HOLDS
    assert equal_width_recovery(star, Nodes(-near.w, near.b)).verdict is Verdict.NOT_APPLICABLE
    with pytest.raises(UserError, match="at least as many nodes"):
        equal_width_recovery(star, Nodes(near.w[:2], near.b[:2]))
    with pytest.raises(UserError, match="above 0 and at least one step"):
        equal_width_recovery(star, near, eta=-1.0)


def starts_on_the_bounds(pair, of, bounds, rng):
    """Students at the angle θ_0, with fan-outs as far away as the bounds allow, in random directions."""
    m, u, v = pair.lucky.m, pair.lucky.star.clone(), torch.cat([pair.v_star, pair.v[pair.lucky.m :]])
    across = torch.from_numpy(rng.standard_normal(u[:m].shape))
    if rng.random() < 0.5:  # toward or away from another node
        across = rng.choice([-1, 1]) * u.roll(1, 0)[:m]
    across -= (across * u[:m]).sum(1, keepdim=True) * u[:m]
    across /= across.norm(dim=1, keepdim=True)
    angle = of.theta_0 * rng.choice([0.2, 1.0], (m, 1))
    u[:m] = torch.from_numpy(np.cos(angle)) * u[:m] + torch.from_numpy(np.sin(angle)) * across
    off = torch.from_numpy(rng.standard_normal(v.shape))
    off /= off.norm(dim=1, keepdim=True)
    v[:m] += bounds.B_dv * off[:m] * torch.from_numpy(rng.choice([0.2, 1.0], (m, 1)))
    v[m:] = bounds.B_r * off[m:]
    return pair._replace(lucky=pair.lucky._replace(u=u), v=v)


@pytest.mark.parametrize(
    ("bias", "spread", "chosen"),
    [(-4.0, True, (0.005, 0.05, 0.5)), (-4.0, True, (0.003, 0.3, 1.0)), (-3.0, False, (0.005, 0.1, 0.7))],
)
def test_bounds_of_theorem_5_hold_after_a_step_from_any_start_within_them(bias, spread, chosen):
    theta_0, B_dv, B_r = chosen
    m, r = (3, 3) if spread else (2, 1)
    pair, rng = lucky_students(*lucky_pair(bias, m, r, spread=spread)), np.random.default_rng(0)
    of, bounds = overlapping(pair.lucky, theta_0), Bounds(1.0, 1.0, B_dv, B_r)
    found = rate(of, bounds, largest_eta(of, bounds))
    assert found.gamma > 0 and found.lambda_bar > 0
    for _ in range(60):
        start = starts_on_the_bounds(pair, of, bounds, rng)
        _, after = two_layer_dynamics(start.lucky, start.v_star, start.v, found.eta, 1)
        c = found.contraction * (1 + 1e-9)
        assert start.lucky._replace(u=after.u).theta.sin().max() <= c * math.sin(theta_0)
        assert (after.v[:m] - pair.v_star).norm(dim=1).max() <= c * B_dv
        assert after.v[m:].norm(dim=1).max() <= c * B_r
        assert (after.u - start.lucky.u)[m:].norm(dim=1).max() <= found.R


def test_gamma_solves_the_equations_and_a_larger_one_does_not():
    pair = lucky_students(*lucky_pair())
    of, bounds = overlapping(pair.lucky, 0.005), Bounds(1.0, 1.0, 0.05, 0.5)
    found = rate(of, bounds, 1000.0)
    S, delta, half = math.sin(0.005), 2 * math.sin(0.0025), math.cos(0.0025)
    (K_d, K_l), (e_d, e_l), B = of.K, of.epsilon, 1.05
    u_d, u_l, r_d, r_l = 1 + K_d * delta, 1 + K_l * delta, 1 + K_d * found.R, 1 + K_l * found.R
    near, off = (1 + K_d) * B / half, 0.05 + K_l * delta * B
    of_w = 0.95 * math.cos(0.005) - e_d * B * (2 * u_d**2 * (near + 0.05 / S) + 3 * u_d**2 * r_d * 0.5 / S)
    of_u = 1 - (of.C_0 * delta**2 * B + e_l * (2 * u_l**2 * off + 3 * u_l**2 * r_l * 0.5)) / 0.05
    of_r = 1 - e_l * (3 * r_l**2 * off + 2 * r_l**3 * 0.5) / 0.5
    assert found.gamma == pytest.approx(min(of_w, of_u, of_r), rel=1e-12)
    speed = found.gamma * found.lambda_bar
    G = 3 * r_d**2 * (near * S + 0.05) + 2 * r_d**3 * 0.5
    assert e_d * of.most_d[1] * 0.5 * G / (speed * (2 - 1000 * speed)) == pytest.approx(found.R, rel=1e-9)


def test_there_is_no_rate_without_biases_from_three_orthogonal_nodes_on():
    for m in (3, 4):
        finding = over_realized_recovery(*lucky_pair(0.0, m, 1, angle=1e-3))
        failed = [c.says for c in finding.conditions if c.holds is False]
        assert failed == ["The conditions on γ have a positive solution"]


def test_the_printed_conditions_allow_a_rate_that_the_true_ones_do_not():
    pair = lucky_students(*lucky_pair(-3.0, 2, 1, 1e-4, fan_out=0.05, spread=False))
    of, bounds = overlapping(pair.lucky, 1.01e-4), Bounds(0.05, 0.05, 0.0025, 0.025)
    eta = largest_eta(of, bounds) / 2
    printed, true = printed_rate(of, bounds, eta), rate(of, bounds, eta)
    assert 0 < true.gamma < 0.06 * printed.gamma


def test_conditions_of_theorem_5():
    teacher, student = lucky_pair()
    assert over_realized_recovery(teacher, teacher).verdict is Verdict.NOT_APPLICABLE
    assert over_realized_recovery(teacher, student, theta_0=0.001).verdict is Verdict.NOT_APPLICABLE
    assert over_realized_recovery(teacher, student, B_r=0.1).verdict is Verdict.NOT_APPLICABLE
    assert over_realized_recovery(teacher, student, B_dv=0.01).verdict is Verdict.NOT_APPLICABLE
    assert over_realized_recovery(teacher, student, eta=1e6).verdict is Verdict.NOT_APPLICABLE
    _, far = lucky_pair(angle=1.7)
    assert over_realized_recovery(teacher, far).verdict is Verdict.NOT_APPLICABLE
    student.b[1].data += 0.1
    assert over_realized_recovery(teacher, student).verdict is Verdict.NOT_APPLICABLE
    for wrong, message in (
        (MLP((6, 6, 4), slope=0.1), "plain ReLUs"), (MLP((6, 6, 6, 4)), "two layers"),
        (MLP((6, 6, 5)), "equal outputs"), (MLP((5, 6, 4)), "same inputs"), (MLP((6, 2, 4)), "wider student"),
    ):  # fmt: skip
        for p in wrong.parameters():
            p.data += 1
        with pytest.raises(UserError, match=message):
            over_realized_recovery(teacher, wrong)


def test_a_student_without_r_set_and_one_with_zero_fan_outs():
    assert over_realized_recovery(*lucky_pair(r=0), steps=20).verdict is Verdict.HOLDS
    teacher, student = lucky_pair()
    student.W[1].data[0, 3:] = 0
    finding = over_realized_recovery(teacher, student, steps=20)
    assert finding.verdict is Verdict.HOLDS
