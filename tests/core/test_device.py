"""Moving tensors to the CPU and back, tested with a simulated device."""

from typing import NamedTuple

import torch
from elsewhere import DEVICE, Elsewhere, Watched

from relulab.core.device import by_cpu, device_of, placed
from relulab.flow.trajectory import Trajectory


class Answer(NamedTuple):
    value: torch.Tensor
    note: str


@by_cpu
def doubled(x, *, offset=0.0):
    """Twice x."""
    return Answer(torch.from_numpy(2 * x.numpy() + offset), "by NumPy")


def test_results_return_to_the_device():
    with Watched():
        x = torch.ones(2).to(DEVICE)
        result = doubled(x, offset=1.0)
        assert isinstance(result, Answer) and isinstance(result.value, Elsewhere) and result.value.tolist() == [3, 3]
    assert type(doubled(torch.ones(2)).value) is torch.Tensor and doubled.__doc__ == "Twice x."


def test_tensors_are_found_and_moved_wherever_they_are():
    assert device_of(1, "a", [2.0]) == torch.device("cpu")
    with Watched():
        x = torch.ones(2).to(DEVICE)
        assert device_of(1, [x]) == DEVICE
        path = placed(Trajectory(torch.zeros(2), {"w": torch.ones(2)}, says="done"), DEVICE)
        assert isinstance(path.end, Elsewhere) and isinstance(path.times, Elsewhere) and path.says == "done"
        back = placed((1, [x], {"a": x}), torch.device("cpu"))
        assert type(back[1][0]) is torch.Tensor and type(back[2]["a"]) is torch.Tensor and back[0] == 1
