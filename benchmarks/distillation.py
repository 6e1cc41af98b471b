"""Linear students, side by side with what one would write instead. python benchmarks/distillation.py

How far gradient flow ends from its exact limit, and the time of a whole risk curve by one factorization beside a
pseudo-inverse for every n. One thread; time of the processor, the best of three turns for the curve.
"""

import os
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import relulab as rl

D, DEPTHS, START = 50, (1, 2, 3, 4, 5), 1e-4


def flows() -> None:
    rng = np.random.default_rng(0)
    w_star = rng.standard_normal(D)
    print(f"‖w(t) − limit‖ of gradient flow in R^{D}, depths {DEPTHS}, ‖w(0)‖ = {START:g} (0 for one layer), seconds")
    for n in (D // 2, D, 2 * D):
        X, row = rng.standard_normal((n, D)), []
        for depth in DEPTHS:
            start = rl.distillation.balanced_start(X, w_star, rng, depth=depth, norm=START) if depth > 1 else None
            limit = (
                rl.distillation.deep_limit(X, w_star, start, depth).w
                if start
                else rl.distillation.distilled(X, w_star).w
            )
            began = time.process_time()
            path = rl.distillation.distillation_flow(X, w_star, start)
            row.append(f"{float((path.end - limit).norm()):.1e} {time.process_time() - began:.1f} s")
        print(f"  n = {n:3}: " + " | ".join(row), flush=True)


def curve() -> None:
    rng = np.random.default_rng(1)
    task, sets, n = rl.distillation.Angular(200, rl.distillation.PolynomialAngles(1)), 20, list(range(1, 200, 6))
    X, test = task.draw(rng, sets * 200).reshape(sets, 200, 200), task.draw(rng, 2000)

    def fast():
        students = rl.distillation.nested_students(X, task.e1).students().numpy()
        return [((students[:, k - 1] @ test.T >= 0) != (test[:, 0] >= 0)).mean() for k in n]

    def naive():
        students = [[np.linalg.pinv(x[:k]) @ x[:k, 0] for x in X] for k in n]
        return [((np.stack(w) @ test.T >= 0) != (test[:, 0] >= 0)).mean() for w in students]

    times, found = {}, {}
    for work in (fast, naive) * 3:
        began = time.process_time()
        found[work.__name__] = work()
        times[work.__name__] = min(times.get(work.__name__, np.inf), time.process_time() - began)
    assert np.allclose(found["fast"], found["naive"], atol=2e-4)
    print(
        f"risk at {len(n)} numbers of points, {sets} transfer sets in R^200: {times['fast']:.2f} s by one QR of "
        f"each set, {times['naive']:.2f} s by pseudo-inverses, {times['naive'] / times['fast']:.0f} ×"
    )


if __name__ == "__main__":
    flows()
    curve()
