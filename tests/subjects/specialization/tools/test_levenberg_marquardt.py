"""Levenberg–Marquardt: its matrix compared with the Jacobian by autograd, and gradients of the size of rounding."""

import pytest
import torch
from torch import nn

import relulab as rl
from relulab.subjects.specialization.tools.levenberg_marquardt import _state, levenberg_marquardt, normal_equations


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_the_matrix_equals_that_of_the_jacobian(tau):
    d, n, C, N = 3, 4, 2, 20
    A, U, y = draw(d + 1, n), draw(n + 1, C, seed=1), draw(N, C, seed=2)
    x1 = nn.functional.pad(draw(N, d, seed=3), (0, 1), value=1.0)
    state = _state(A, U, x1, y, tau)
    H, g = normal_equations(state, x1)

    def residuals(a, u):
        z = x1 @ a.T
        f = (z + (z.square() + tau**2).sqrt()) / 2 if tau else z.relu()
        return (nn.functional.pad(f, (0, 1), value=1.0) @ u - y).flatten()

    J = torch.cat([j.flatten(1) for j in torch.autograd.functional.jacobian(residuals, (A.T.contiguous(), U))], 1)
    torch.testing.assert_close(H, J.T @ J)
    torch.testing.assert_close(g, J.T @ residuals(A.T, U))


@pytest.mark.parametrize("seed", [0, 1])
def test_students_reach_gradients_of_rounding_size_on_every_point(seed):
    teacher = rl.specialization.teacher((6, 3, 4), seeds=[seed], polarity=1)
    task = rl.Task(teacher, rl.Gaussian(6, std=1.5), seeds=[seed], n_train=400, n_held_out=10)
    student = rl.small_normal((6, 12, 4), [seed])
    rl.sgd(student, task, epochs=3, steps=1000)
    x = task.train().of_lane(0)[0].double()
    teacher, student = teacher.double(), student.double()
    y = teacher(x)[0].detach()
    fit = levenberg_marquardt(student, x, y)
    with torch.no_grad():
        z, r = (x @ student.W[0][0] + student.b[0][0] > 0).double(), student(x)[0] - y
        g_1 = (r @ student.W[1][0].T * z).abs().max()
    assert float(g_1) < 1e-10 and fit.gradient < 1e-10 and fit.loss == pytest.approx(float(r.square().sum()), abs=1e-20)


def test_the_result_reports_that_all_steps_were_taken():
    net = rl.torch_default((3, 4, 2), seeds=[0], dtype=torch.float64)
    fit = levenberg_marquardt(net, draw(50, 3), draw(50, 2, seed=1), steps=5)  # noise cannot be fitted
    assert fit.steps == 5 and fit.gradient > 1e-3


@pytest.mark.parametrize("net, message", [
    (rl.torch_default((3, 4, 2), seeds=[0]), "float64"),
    (rl.torch_default((3, 4, 2), seeds=[0, 1], dtype=torch.float64), "one two-layer"),
    (rl.torch_default((2, 4, 2), seeds=[0], dtype=torch.float64), "widths"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(net, message):
    with pytest.raises(rl.UserError, match=message):
        levenberg_marquardt(net, draw(5, 3), draw(5, 2))
