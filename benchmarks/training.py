"""Speed of training, side by side with the loop a user would write: run `python benchmarks/training.py`.

Everything is measured in one run, in process time on one core and one thread, best of several. A seed-step is one SGD
step of one network. The loop is a plain `nn.Sequential` with `torch.optim.SGD`, one seed at a time, on the same points
and targets; both draw their batches within the measured time, and ours includes the looks that SS.F7 `quick` takes at
its students. Peak is the best float32 matrix product of the same core.

Then, each in turn with its rival: momentum and weight decay against plain SGD on the same lanes, and `fit` on networks
without lanes against the plain loop of PyTorch on the same batches.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from relulab import Gaussian, Probe, Task, sgd
from relulab.core.alerts import SameBatches
from relulab.core.seeds import Role, stream
from relulab.data.tensor_task import TensorTask
from relulab.lab.run.speed import product_rate
from relulab.nets.initial import small_normal
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import Observer, teacher
from relulab.subjects.specialization.studies.recovery import Recovery
from relulab.train.fit import fit
from relulab.train.optimizers import SGD, Adam

D, C, BATCH, M = 100, 50, 16, 20
POLARITY = (0, 0.5, 1, 1.5, 2, 2.5)
# width: seeds that travel together, six polarities each, and what the project asks for: times the loop, share of peak
WIDTHS = {20: (16, 30, None), 100: (8, 12, 0.35), 200: (8, 8, 0.42)}

OPTIMIZERS = {
    "momentum": SGD(0.01, momentum=0.9),
    "weight decay": SGD(0.01, weight_decay=1e-4),
    "momentum and decay": SGD(0.01, momentum=0.9, weight_decay=1e-4),
    "Nesterov": SGD(0.01, momentum=0.9, nesterov=True),
    "Adam": Adam(1e-3),
}
warnings.simplefilter("ignore", SameBatches)  # networks are trained again only to measure the time
ASKED = ("momentum", "weight decay")  # at most 15 % more than plain


def best(work, repeats: int) -> float:
    """Least process time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def lanes(width: int, seeds: int) -> tuple[Task, MLP]:
    each = [seed for seed in range(seeds) for _ in POLARITY]
    net = teacher((D, M, C), seeds=each, polarity=[*POLARITY] * seeds)
    task = Task(net, Gaussian(D, 1.5), seeds=each)
    task.train()  # the points are made once, before the clock runs
    return task, small_normal((D, width, C), each)


def ours(width: int, seeds: int, steps: int, repeats: int) -> tuple[float, float]:
    """Seed-steps a second of lanes of seeds × polarities, with the looks of SS.F7 `quick`, and the looks' share."""
    task, student = lanes(width, seeds)
    study = Recovery.configured("quick")
    assert isinstance(study, Recovery)
    observer = Observer(task.teacher, task.held_out())
    probe = Probe((0,), lambda net: study.read(observer(net)))
    train = best(lambda: sgd(student, task, epochs=1, steps=steps, batch=BATCH), repeats) / steps
    look = best(lambda: sgd(student, task, epochs=0, probes=[probe]), repeats)
    looks = look * len(study.looks()) / (study.epochs * study.steps)
    return student.lanes / (train + looks), looks / train


def loop(width: int, steps: int, repeats: int) -> float:
    """Steps a second of what a user would write."""
    task, students = lanes(width, 1)
    x_all, y_all = task.train().of_lane(0)
    model = students.module(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def work():
        for _ in range(steps):
            rows = torch.randint(len(x_all), (BATCH,))
            loss = 0.5 * (model(x_all[rows]) - y_all[rows]).square().sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return steps / best(work, repeats)


def in_turn(repeats: int, **works) -> dict[str, float]:
    """Least process time of each, taken in turn, so that a slow moment of the machine meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(best(work, 1))
    return {name: min(found) for name, found in times.items()}


def optimizers(width: int, seeds: int, steps: int, repeats: int) -> dict[str, float]:
    """What a step of each optimizer costs, in steps of plain SGD on the same lanes."""
    task, student = lanes(width, seeds)
    works = {
        name: lambda optimizer=optimizer: fit(student, task, epochs=1, steps=steps, batch=BATCH, optimizer=optimizer)
        for name, optimizer in {"plain": SGD(0.01), **OPTIMIZERS}.items()
    }
    found = in_turn(repeats, **works)
    return {name: found[name] / found["plain"] for name in OPTIMIZERS}


def connected() -> nn.Sequential:
    return nn.Sequential(nn.Linear(D, 100), nn.ReLU(), nn.Linear(100, C))


def convolutional() -> nn.Sequential:
    convolutions = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2, padding=1)]
    return nn.Sequential(*convolutions, nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 10))


def squares(f, y):
    return 0.5 * (f - y).square().sum(1).mean()


def without_lanes(repeats: int) -> dict[str, float]:
    """Seconds of `fit` over those of the plain loop, for networks without lanes."""
    vectors = torch.randn(4800, D), torch.randn(4800, C)
    pictures = torch.randn(480, 3, 16, 16), torch.randint(10, (480,))
    rows: dict[str, tuple[Any, ...]] = {
        "100-100-50": (connected, vectors, squares, SGD(0.01), torch.optim.SGD, {"lr": 0.01}),
        "100-100-50, momentum": (
            connected, vectors, squares, SGD(0.01, 0.9), torch.optim.SGD, {"lr": 0.01, "momentum": 0.9},
        ),
        "convolutions": (convolutional, pictures, cross_entropy, SGD(0.01), torch.optim.SGD, {"lr": 0.01}),
        "convolutions, Adam": (convolutional, pictures, cross_entropy, Adam(1e-3), torch.optim.Adam, {"lr": 1e-3}),
    }  # fmt: skip
    found: dict[str, float] = {}
    for name, (make, (X, Y), loss, optimizer, theirs, options) in rows.items():
        net, model = make(), make()

        def plain(model=model, X=X, Y=Y, loss=loss, theirs=theirs, options=options):
            optimizer = theirs(model.parameters(), **options)
            for rows in torch.from_numpy(stream(0, Role.BATCHES, 0, 0).permutation(len(X))).split(BATCH):
                optimizer.zero_grad()
                loss(model(X[rows]), Y[rows]).backward()
                optimizer.step()

        def ours(net=net, X=X, Y=Y, loss=loss, optimizer=optimizer):
            fit(net, TensorTask(X, Y), epochs=1, batch=BATCH, loss=loss, optimizer=optimizer)

        times = in_turn(repeats, ours=ours, plain=plain)
        found[name] = times["ours"] / times["plain"]
    return found


def _work(width: int, seeds: int, steps: int, ready, go, out) -> None:
    torch.set_num_threads(1)
    task, student = lanes(width, seeds)
    sgd(student, task, epochs=1, steps=20)
    ready.release()
    go.wait()
    start = time.perf_counter()
    sgd(student, task, epochs=1, steps=steps)
    out.put(student.lanes * steps / (time.perf_counter() - start))


def processes(count: int, width: int, seeds: int, steps: int) -> float:
    """Seed-steps a second, by the wall clock, of ``count`` processes at once."""
    context = multiprocessing.get_context("spawn")
    ready, go, out = context.Semaphore(0), context.Event(), context.Queue()
    workers = [context.Process(target=_work, args=(width, seeds, steps, ready, go, out)) for _ in range(count)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    go.set()
    rates = [out.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    rows = []
    for width, (seeds, wanted, share_wanted) in WIDTHS.items():
        flops = 2 * BATCH * width * (2 * D + 3 * C)
        # The three are taken in turn, so that a slow moment of the machine meets all of them.
        turns = [
            (loop(width, 300, 2), *ours(width, seeds, 100, 2), product_rate(seconds=0.3))
            for _ in range(options.repeats)
        ]
        loops, fasts, shares, peaks = zip(*turns, strict=True)
        slow, fast, probes, peak = max(loops), max(fasts), min(shares), max(peaks)
        rows.append({
            "width": width, "lanes": seeds * len(POLARITY), "loop": slow, "relulab": fast, "times": fast / slow,
            "times_wanted": wanted, "share_of_peak": fast * flops / peak, "share_wanted": share_wanted, "peak": peak,
            "probes": probes,
        })  # fmt: skip
    costs = {width: optimizers(width, seeds, 100, options.repeats) for width, (seeds, *_) in WIDTHS.items()}
    modules = without_lanes(2 * options.repeats)
    os.sched_setaffinity(0, all_cores)
    pairs = [(processes(1, 100, 4, 400), processes(2, 100, 4, 400)) for _ in range(3)]
    scaling = max(two for _, two in pairs) / max(one for one, _ in pairs)
    report = {
        "widths": rows,
        "optimizers": costs,
        "without_lanes": modules,
        "two_processes": scaling,
        "two_processes_wanted": 1.8,
    }
    json.dump(report, sys.stdout, indent=1) if options.json else show(report)


def show(report: dict) -> None:
    print("width  lanes   loop/s  relulab/s   times (wanted)   probes (at most 10 %)   share of peak (wanted)")
    for r in report["widths"]:
        share = f"{r['share_of_peak']:.0%}" + (f" ({r['share_wanted']:.0%})" if r["share_wanted"] else "")
        print(
            f"{r['width']:5} {r['lanes']:6} {r['loop']:8,.0f} {r['relulab']:10,.0f}   "
            f"{r['times']:5.1f} ({r['times_wanted']})       {r['probes']:6.1%}                 {share}"
        )
    for width, costs in report["optimizers"].items():
        said = ", ".join(f"{name} {cost - 1:+.0%}" for name, cost in costs.items())
        print(f"width {width}, a step against one of plain SGD: {said} (at most +15 %: {', '.join(ASKED)})")
    said = ", ".join(f"{name} {times - 1:+.0%}" for name, times in report["without_lanes"].items())
    print(f"fit without lanes against the plain loop: {said} (at most +10 %)")
    print(f"two processes on two cores: {report['two_processes']:.2f} × one (wanted {report['two_processes_wanted']})")


if __name__ == "__main__":
    main()
