"""Speed of training, side by side with the loop a user would write: run `python benchmarks/training.py`.

Everything is measured in one run, in process time on one core and one thread, best of several. A seed-step is one SGD
step of one network. The loop is a plain `nn.Sequential` with `torch.optim.SGD`, one seed at a time, on the same points
and targets; both draw their batches within the measured time, and ours includes the looks that SS.F7 `quick` takes at
its students. Peak is the best float32 matrix product of the same core.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time

import torch

from relulab import Gaussian, Probe, Task, sgd, small_normal
from relulab.lab.run.speed import product_rate
from relulab.subjects.specialization import Observer, teacher
from relulab.subjects.specialization.studies.recovery import Recovery

D, C, BATCH, M = 100, 50, 16, 20
POLARITY = (0, 0.5, 1, 1.5, 2, 2.5)
# width: seeds that travel together, six polarities each, and what the project asks for: times the loop, share of peak
WIDTHS = {20: (16, 30, None), 100: (8, 12, 0.35), 200: (8, 8, 0.42)}


def best(work, repeats: int) -> float:
    """Least process time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def lanes(width: int, seeds: int) -> tuple[Task, object]:
    each = [seed for seed in range(seeds) for _ in POLARITY]
    net = teacher((D, M, C), seeds=each, polarity=[*POLARITY] * seeds)
    task = Task(net, Gaussian(D, 1.5), seeds=each)
    task.train()  # the points are made once, before the clock runs
    return task, small_normal((D, width, C), each)


def ours(width: int, seeds: int, steps: int, repeats: int) -> tuple[float, float]:
    """Seed-steps a second of lanes of seeds × polarities, with the looks of SS.F7 `quick`, and the looks' share."""
    task, student = lanes(width, seeds)
    study = Recovery.configured("quick")
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
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)

    def work():
        for _ in range(steps):
            rows = torch.randint(len(x_all), (BATCH,))
            loss = 0.5 * (model(x_all[rows]) - y_all[rows]).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return steps / best(work, repeats)


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
    os.sched_setaffinity(0, all_cores)
    pairs = [(processes(1, 100, 4, 400), processes(2, 100, 4, 400)) for _ in range(3)]
    scaling = max(two for _, two in pairs) / max(one for one, _ in pairs)
    report = {"widths": rows, "two_processes": scaling, "two_processes_wanted": 1.8}
    json.dump(report, sys.stdout, indent=1) if options.json else show(report)


def show(report: dict) -> None:
    print("width  lanes   loop/s  relulab/s   times (wanted)   probes (at most 10 %)   share of peak (wanted)")
    for r in report["widths"]:
        share = f"{r['share_of_peak']:.0%}" + (f" ({r['share_wanted']:.0%})" if r["share_wanted"] else "")
        print(
            f"{r['width']:5} {r['lanes']:6} {r['loop']:8,.0f} {r['relulab']:10,.0f}   "
            f"{r['times']:5.1f} ({r['times_wanted']})       {r['probes']:6.1%}                 {share}"
        )
    print(f"two processes on two cores: {report['two_processes']:.2f} × one (wanted {report['two_processes_wanted']})")


if __name__ == "__main__":
    main()
