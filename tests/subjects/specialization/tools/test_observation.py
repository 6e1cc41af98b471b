"""The single pass of the observer over the points compared with the instruments on all points at once."""

import pytest
import torch

import relulab


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def scene(request):
    seeds = [0, 0, 5]
    teacher = relulab.specialization.teacher((12, 4, 3), seeds=seeds, polarity=[0, 1, 1])
    inputs = relulab.Gaussian(12, 1.5)
    task = relulab.Task(teacher, inputs, seeds=seeds, n_train=400, n_held_out=3001, dtype=request.param)
    student = relulab.small_normal((12, 9, 3), seeds, dtype=request.param)
    relulab.sgd(student, task, epochs=1, steps=200)
    return teacher, student, task.held_out(), 5e-5 if request.param is torch.float32 else 1e-12


def test_correlation_loss_and_fan_out(scene):
    teacher, student, points, tolerance = scene
    observed = relulab.specialization.Observer(teacher, points)(student)
    for i in range(3):
        x, y = points.of_lane(i)
        module = student.module(i)
        expected = relulab.specialization.layer_correlations(teacher.module(i), module.double(), x.double())["1"]
        torch.testing.assert_close(observed.rho[i].double(), expected, atol=tolerance, rtol=0)
        loss = torch.nn.functional.mse_loss(module(x.double()), y.double())
        torch.testing.assert_close(observed.loss[i].double(), loss.detach(), rtol=max(tolerance, 1e-9), atol=0)
        torch.testing.assert_close(observed.fan_out[i], student.W[1].data[i].norm(dim=1))


def test_a_dead_and_a_constant_student_have_correlation_zero(scene):
    teacher, student, points, _ = scene
    student.W[0].data[:, :, 0] = 0
    student.b[0].data[:, 0, 0] = -1
    student.W[0].data[:, :, 1] = 0
    student.b[0].data[:, 0, 1] = 0.3
    assert relulab.specialization.Observer(teacher, points)(student).rho[:, :, :2].abs().max() == 0


def test_a_student_with_a_large_offset_keeps_its_correlation(scene):
    """Mean 100 and spread 1: sums of squares without the shift would leave few digits in float32."""
    teacher, student, points, tolerance = scene
    student.b[0].data[:, 0, 0] = 100
    x, _ = points.of_lane(1)
    observed = relulab.specialization.Observer(teacher, points)(student)
    expected = relulab.specialization.layer_correlations(teacher.module(1), student.module(1).double(), x.double())["1"]
    torch.testing.assert_close(observed.rho[1, :, 0].double(), expected[:, 0], atol=100 * tolerance, rtol=0)


def test_cross_entropy_can_be_reported(scene):
    teacher, student, points, _ = scene
    observed = relulab.specialization.Observer(teacher, points, relulab.CrossEntropy())(student)
    x, y = points.of_lane(2)
    expected = torch.nn.functional.cross_entropy(student.module(2)(x), y.argmax(1))
    torch.testing.assert_close(observed.loss[2], expected.detach(), rtol=1e-5, atol=0)


def test_teachers_and_students_of_different_dtypes_can_be_compared():
    teacher, student = relulab.specialization.teacher((5, 4, 2), seeds=[0]), relulab.small_normal((5, 6, 2), [0])
    rho = relulab.specialization.layer_correlations(teacher, student, torch.randn(20, 5))["1"]
    assert rho.shape == (1, 4, 6) and rho.dtype == torch.float64


def test_lanes_must_agree(scene):
    teacher, student, points, _ = scene
    with pytest.raises(relulab.UserError, match="1 lanes"):
        relulab.specialization.Observer(teacher, points)(student.lane(0))


def test_a_student_that_diverged_has_correlations_of_nan_and_changes_no_other():
    star = relulab.specialization.teacher((4, 3, 2), seeds=[0, 1])
    task = relulab.Task(star, relulab.Gaussian(4), seeds=[0, 1], n_train=10, n_held_out=50)
    observe, student = (
        relulab.specialization.Observer(star, task.held_out()),
        relulab.torch_default((4, 5, 2), seeds=[0, 1]),
    )
    before = observe(student)
    student.W[0].data[1] = torch.inf
    after = observe(student)
    assert torch.equal(before.rho[0], after.rho[0]) and torch.equal(before.loss[0], after.loss[0])
    assert after.rho[1].isnan().all() and not after.loss[1].isfinite()
