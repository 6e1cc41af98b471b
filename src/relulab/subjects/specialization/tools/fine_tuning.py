"""A little more training of a pruned network."""

from copy import deepcopy

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from relulab.core.ranges import at_least
from relulab.data.tensor_task import TensorTask
from relulab.nets.hooks import fitted
from relulab.train.fit import fit
from relulab.train.optimizers import Adam
from relulab.train.schedules import Cosine, by_step


def fine_tuned(
    net: nn.Module,
    x: Float[Tensor, "N *x"],
    y: Shaped[Tensor, "N *y"],
    *,
    steps: int,
    batch: int = 64,
    lr: float = 1e-3,
    seed: int = 0,
) -> nn.Module:
    """Return a copy of a network after some training steps with Adam: on classes, or on the outputs of another network.

    Args:
        net: A module without lanes. It is not changed.
        x: Training points, (N, …).
        y: Classes, (N,), for cross-entropy, or outputs, (N, C), for the mean squared error.
        steps: Number of training steps.
        batch: Points per step.
        lr: Learning rate. It falls to 0 along a cosine.
        seed: Seed of the batches.
    """
    at_least(1, batch=batch)
    at_least(0, steps=steps)
    net = deepcopy(net)
    for p in net.parameters():
        p.requires_grad_(p.is_floating_point())
    x = fitted(net, x)
    y = y.to(x.dtype) if y.is_floating_point() else y
    odd = len(x) > 1 and len(x) % batch == 1  # BatchNorm cannot train on a last batch of a single point
    task = TensorTask(x[: len(x) - odd], y[: len(y) - odd], seed=seed)
    each, cosine = task.steps(batch), Cosine(max(steps, 1))
    passes, rest = divmod(steps, each)
    if passes:
        fit(net, task, epochs=passes, batch=batch, optimizer=Adam(lr), schedule=by_step(cosine))
    if rest:  # a part of a pass
        ahead = passes * (each - rest)  # the schedule counts all epochs as if they were as short as this one
        fit(
            net, task, epochs=1, steps=rest, batch=batch, resume=passes > 0, optimizer=Adam(lr),
            schedule=by_step(lambda step: cosine(step + ahead)),
        )  # fmt: skip
    return net.eval()
