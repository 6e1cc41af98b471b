"""Speed of convolutional students, side by side with a plain loop: run `python benchmarks/convolution.py`.

The teacher of Luck Matters has 64-64-64 channels, images of 16×16 pixels and 100 outputs; the student has 10 times as
many channels, and BatchNorm after the ReLU. The loop is a plain `nn.Sequential` with `torch.optim.SGD` and the default
memory format, which asks the teacher for its outputs at every batch. relulab keeps the outputs of the teacher. After
the steps, the correlations with the teacher in all layers and the loss are measured on held-out images: the loop
collects activations with hooks, multiplies the normalized activations, and computes the loss in a second pass. Process
time on one core and one thread, best of several, each in turn with its rival. Peak is the best float32 product of the
same core in the same run; the operations are those of direct convolutions.
"""

import argparse
import json
import os
import sys
import time
from itertools import pairwise

import torch
from torch import Tensor, nn

from relulab import MSE, SGD, Gaussian, Task, fit
from relulab.lab.run.speed import product_rate
from relulab.nets.conv_net import conv_net
from relulab.subjects.specialization import luck_conv_teacher
from relulab.subjects.specialization.tools.module_observation import ModuleObserver

CHANNELS, SIDE, C, BATCH, HELD_OUT, WANTED = (1, 64, 64, 64), 16, 100, 64, 128, 2.0


def plain(net: nn.Sequential) -> nn.Sequential:
    """Return the same network of PyTorch's own modules in the default memory format."""
    parts = []
    for part in net:
        if isinstance(part, nn.Conv2d):
            part_ = nn.Conv2d(part.in_channels, part.out_channels, 3)
            part_.load_state_dict(part.state_dict())
            part = part_
        parts.append(part)
    return nn.Sequential(*parts).to(memory_format=torch.contiguous_format)  # pyrefly: ignore[no-matching-overload]


def flops(channels: tuple[int, ...]) -> float:
    """Of one step: forward, gradients of the weights, and gradients of all activations but the images."""
    sides = [SIDE - 2 * l for l in range(1, len(channels))]
    first, *others = [9.0 * n * k * side**2 for (n, k), side in zip(pairwise(channels), sides, strict=True)]
    return 2.0 * BATCH * (2 * first + 3 * (sum(others) + channels[-1] * sides[-1] ** 2 * C))


def timed(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@torch.no_grad()
def correlations(teacher: nn.Sequential, student: nn.Sequential, x: Tensor) -> list[Tensor]:
    """As a user would write it: all activations by hooks, normalized, and multiplied."""
    found: list[list[Tensor]] = []
    for net in (teacher, student):
        kept: list[Tensor] = []
        hooks = [
            part.register_forward_hook(lambda _m, _i, f, kept=kept: kept.append(f))
            for part in net if isinstance(part, nn.ReLU)
        ]  # fmt: skip
        net.eval()(x)
        found.append([f.movedim(1, -1).reshape(-1, f.shape[1]) for f in kept])
        for hook in hooks:
            hook.remove()
    centered = [[f - f.mean(0) for f in of_net] for of_net in found]
    unit = [[f / f.norm(dim=0).clamp(min=1e-20) for f in of_net] for of_net in centered]
    return [a.T @ b for a, b in zip(*unit, strict=True)]


def measured(repeats: int, steps: int) -> dict[str, float]:
    """Seconds of a step and of a measurement, of both."""
    teacher = luck_conv_teacher(CHANNELS, SIDE, C)
    wide = (1, *(10 * n for n in CHANNELS[1:]))
    ours = conv_net(wide, SIDE, C, batch_norm="after")
    images = Gaussian(SIDE**2, 10.0)
    task = Task(teacher, images, seeds=[0], n_train=1000, n_held_out=HELD_OUT, shape=(1, SIDE, SIDE))
    points, held_out = task.train(), task.held_out()
    theirs, their_teacher = plain(ours), plain(teacher).eval()
    optimizer, observe = torch.optim.SGD(theirs.parameters(), lr=1e-3), ModuleObserver(teacher, held_out)

    def loop() -> None:
        theirs.train()
        for _ in range(steps):
            x = points.X[0, torch.randint(points.X.shape[1], (BATCH,))]
            with torch.no_grad():
                y = their_teacher(x)
            loss = 0.5 * (theirs(x) - y).square().sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def second_pass() -> None:
        x, y = held_out.of_lane(0)
        correlations(their_teacher, theirs, x)
        with torch.no_grad():
            (theirs.eval()(x) - y).square().mean()

    def steps_of_ours() -> None:
        fit(ours, task, epochs=1, steps=steps, batch=BATCH, optimizer=SGD(lr=1e-3), loss=MSE(), progress=False)

    turns = [
        (
            timed(loop),
            timed(steps_of_ours),
            timed(second_pass),
            timed(lambda: observe(ours)),
            product_rate(seconds=0.5, fastest=True),
        )
        for _ in range(repeats)
    ]
    slow, fast, slow_look, fast_look, _ = (min(times) for times in zip(*turns, strict=True))
    best = max(rate for *_, rate in turns)
    return {
        "loop": slow / steps, "relulab": fast / steps, "times": slow / fast, "times_wanted": WANTED,
        "loop_look": slow_look, "relulab_look": fast_look, "times_look": slow_look / fast_look,
        "share_of_peak": flops(wide) * steps / fast / best, "loop_share_of_peak": flops(wide) * steps / slow / best,
        "peak": best,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    row = measured(options.repeats, options.steps)
    if options.json:
        json.dump(row, sys.stdout, indent=1)
        return
    print(f"a step:        loop {row['loop']:.2f} s, relulab {row['relulab']:.2f} s: {row['times']:.2f} times as fast "
          f"({row['times_wanted']:g} asked for)")  # fmt: skip
    print(f"a measurement: loop {row['loop_look']:.2f} s, relulab {row['relulab_look']:.2f} s: "
          f"{row['times_look']:.2f} times as fast")  # fmt: skip
    print(f"share of the peak of {row['peak'] / 1e9:.0f} GFLOP/s, counted as direct convolutions: loop "
          f"{row['loop_share_of_peak']:.0%}, relulab {row['share_of_peak']:.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
