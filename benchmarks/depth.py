"""Speed of deep fully connected students, side by side with a plain loop: run `python benchmarks/depth.py`.

The teachers of Luck Matters have 20 inputs, hidden layers of 50-75-100-125 nodes and 100 outputs; students have 2 or 10
times as many nodes. A seed-step is one SGD step of one network with a batch of 64. The loop is a plain `nn.Sequential`
with `torch.optim.SGD`, one seed at a time, on the same points and targets; both draw their batches within the measured
time. Process time on one core and one thread, best of several, each in turn with its rival. Peak is the best float32
matrix product of the same core in the same run.
"""

import argparse
import json
import os
import sys
import time

import torch
from torch import nn

from relulab import Gaussian, Task, sgd
from relulab.lab.run.speed import product_rate
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import luck_teacher

D, HIDDEN, C, BATCH = 20, (50, 75, 100, 125), 100, 64
# over: lanes that travel together, steps, and what the project asks for: times the loop, share of peak
OVER = {2: (8, 60, 8, None), 10: (2, 10, 2.5, 0.45)}


def students(over: int, lanes: int) -> tuple[Task, MLP]:
    """Teachers with their tasks, and students of ``over`` times their width."""
    seeds = range(lanes)
    teacher = luck_teacher((D, *HIDDEN, C), seeds=seeds)
    task = Task(teacher, Gaussian(D, 10.0), seeds=seeds, n_held_out=2)
    task.train()  # the points are made once, before the clock runs
    return task, torch_default((D, *(over * n for n in HIDDEN), C), seeds)


def flops(net: MLP) -> float:
    """Of one step of one lane: forward, gradients of the weights, and gradients of all activations but the inputs."""
    sizes = [n * k for n, k in zip(net.widths[:-1], net.widths[1:], strict=True)]
    return 2.0 * BATCH * (3 * sum(sizes) - sizes[0])


def timed(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measured(over: int, repeats: int) -> dict[str, float | None]:
    """Seed-steps a second of lanes and of the loop, in turn."""
    lanes, steps, wanted, share_wanted = OVER[over]
    task, net = students(over, lanes)
    x_all, y_all = task.train().of_lane(0)
    model: nn.Sequential = net.module(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def loop() -> None:
        for _ in range(steps):
            rows = torch.randint(len(x_all), (BATCH,))
            loss = 0.5 * (model(x_all[rows]) - y_all[rows]).square().sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def ours() -> None:
        sgd(net, task, epochs=1, steps=steps, batch=BATCH, lr=1e-4, progress=False, resume=True)

    sgd(net, task, epochs=1, steps=1, batch=BATCH, lr=1e-4, progress=False)  # the first step prepares memory
    turns = [(timed(loop), timed(ours), product_rate(seconds=0.3, fastest=True)) for _ in range(repeats)]
    slow, fast, peaks = zip(*turns, strict=True)
    loops, lanes_rate = steps / min(slow), steps * lanes / min(fast)
    return {
        "over": over, "lanes": lanes, "loop": loops, "relulab": lanes_rate, "times": lanes_rate / loops,
        "times_wanted": wanted, "share_of_peak": lanes_rate * flops(net) / max(peaks), "share_wanted": share_wanted,
        "loop_share_of_peak": loops * flops(net) / max(peaks), "peak": max(peaks),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rows = [measured(over, options.repeats) for over in OVER]
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        return
    print("over  lanes   loop/s  relulab/s   times (wanted)   share of peak (wanted)   of the loop")
    for r in rows:
        wanted = f" ({r['share_wanted']:.0%})" if r["share_wanted"] else ""
        print(
            f"{r['over']:3}× {r['lanes']:6} {r['loop']:8,.1f} {r['relulab']:10,.1f}   {r['times']:5.2f} "
            f"({r['times_wanted']})       {r['share_of_peak']:.0%}{wanted}         {r['loop_share_of_peak']:.0%}"
        )


if __name__ == "__main__":
    main()
