"""What pruning a large layer costs: 2,000 units, 100 inputs, 50,000 points, one thread. python benchmarks/pruning.py"""

import resource
import time

import torch

import relulab as rl

N, D, UNITS, OUTPUTS, COPIES, SPARE = 50_000, 100, 2_000, 10, 200, 300


def layer() -> rl.MLP:
    """A random layer in which some units are copies of others at twice the scale, and some add next to nothing."""
    net = rl.torch_default((D, UNITS, OUTPUTS), seeds=[0])
    net.W[0].data[..., -COPIES:], net.b[0].data[..., -COPIES:] = (
        2 * net.W[0].data[..., :COPIES],
        2 * net.b[0].data[..., :COPIES],
    )
    net.W[1].data[:, COPIES : COPIES + SPARE] *= 1e-9
    return net


def naive(net: rl.MLP, x: torch.Tensor) -> float:
    """What one would write instead: drop units one by one by their norms, looking at the outputs each time."""
    module = net.module()
    with torch.no_grad():
        y = module(x)
        top = module[2]
        assert isinstance(top, torch.nn.Linear)
        order = top.weight.norm(dim=0).argsort()
        start = time.process_time()
        for unit in order[:5]:
            top.weight[:, unit] = 0
            (module(x) - y).square().mean()
    return (time.process_time() - start) / 5


def main() -> None:
    torch.set_num_threads(1)
    x, net = torch.randn(N, D, generator=torch.Generator().manual_seed(0)), layer()
    start = time.process_time()
    found = rl.specialization.prune(net, x, tolerance=1e-6)
    spent = time.process_time() - start
    assert isinstance(found.net, rl.MLP)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"prune: {UNITS} units to {found.net.widths[1]}, {found.lost:.1e} of the variance lost")
    print(f"       {spent:.1f} s of processor time, {memory:.2f} GB at most, with the data")
    one = naive(net, x)
    print(f"one by one: {one:.2f} s a unit in float32, {one * (UNITS - found.net.widths[1]) / 60:.1f} min for as many")


if __name__ == "__main__":
    main()
