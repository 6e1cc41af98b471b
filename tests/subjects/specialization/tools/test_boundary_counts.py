"""One pass over the points against the instruments that compute each number alone."""

import pytest
import torch

from relulab import torch_default
from relulab.core.followed import shown_by
from relulab.subjects.specialization import band_counts, kappa
from relulab.subjects.specialization.tools import boundary_counts as module
from relulab.subjects.specialization.tools.boundary_counts import boundary_counts
from relulab.subjects.specialization.tools.creases import gradient_at
from relulab.subjects.specialization.tools.nodes import lowest


@pytest.mark.parametrize("slopes", [(0.0, 0.0), (0.3, 0.1)])
def test_every_number_is_that_of_its_own_instrument(monkeypatch, slopes):
    monkeypatch.setattr(module, "CHUNK", 64)  # several passes
    teacher, student = (
        torch_default((3, n, 2), seeds=[seed], slope=slopes[seed], dtype=torch.float64) for n, seed in ((5, 0), (7, 1))
    )
    teacher.W[0].data[0, :, 4], teacher.b[0].data[0, 0, 4] = 0.0, -0.3  # no hyperplane; a constant output if leaky
    x = torch.randn(300, 3, generator=torch.Generator().manual_seed(2)).double()
    shares: list[float] = []
    with shown_by(lambda doing, share: shares.append(share)):
        counts = boundary_counts(teacher, student, x, 0.25)
    star, nodes = lowest(teacher), lowest(student)
    assert counts.band.tolist() == band_counts(star, x, 0.25).tolist() and counts.band[4] == 0
    torch.testing.assert_close(counts.kappa, kappa(star, nodes, x, 0.25))
    assert abs(counts.gradient - float(gradient_at(teacher, student, x)[0].abs().max())) < 1e-13
    assert shares == [i / 5 for i in range(5)]
