"""Arguments for the common tests of the instruments of specialization."""

import torch
from battery import LANES, SAMPLES, STUDENTS, TEACHERS, Case, drawn, net, points

from relulab.nets.initial import torch_default
from relulab.subjects.specialization import Nodes, correlation, top_down


def activations(dtype):
    return drawn(0, LANES, SAMPLES, TEACHERS, dtype=dtype).relu(), drawn(
        1, LANES, SAMPLES, STUDENTS, dtype=dtype
    ).relu()


def rho(dtype):
    return correlation(*activations(dtype))


def looks(dtype):
    """Correlations at five looks."""
    return drawn(7, LANES, 5, TEACHERS, STUDENTS, dtype=dtype).sigmoid()


def nodes(dtype, count=STUDENTS, lanes=LANES):
    """Weights and biases of hidden nodes, a node a row."""
    return Nodes(drawn(count, lanes, count, 5, dtype=dtype), drawn(count + 9, lanes, count, dtype=dtype))


def alone(dtype, count=STUDENTS):
    """The same of a single network, which some instruments take alone."""
    return Nodes(*(t[0] for t in nodes(dtype, count, 1)))


def top(dtype):
    return top_down(net(dtype), points(dtype))["1"]


def deep(dtype, seed=0, *, hidden=(STUDENTS, STUDENTS), lanes=LANES):
    """Networks with two hidden layers."""
    return torch_default((5, *hidden, 3), seeds=range(seed, seed + lanes), dtype=dtype)


NODES = (-2, -1)  # the axes of a node in its weights and in its biases
CASES = {
    "correlation": Case(activations, students=(None, -1), permuted=((-1,),)),
    "svcca": Case(activations, students=(None, -1), permuted=((), (), ())),
    "best_match": Case(lambda t: (rho(t),), students=(-1,), permuted=((), None)),
    "rho_mean": Case(lambda t: (rho(t),), students=(-1,), permuted=((),)),
    "recovered": Case(lambda t: (rho(t), 0.5), students=(-1, None), permuted=((),)),
    "winner_ranks": Case(lambda t: (rho(t), rho(t).flip(-1)), students=(-1, -1), permuted=((),)),
    "median_rank": Case(lambda t: (rho(t), rho(t).flip(-1)), students=(-1, -1), permuted=((),)),
    "mean_rank": Case(lambda t: (rho(t), rho(t).flip(-1)), students=(-1, -1), permuted=((),)),
    "fan_out": Case(lambda t: (net(t),)),
    "top_down": Case(lambda t: (net(t), points(t))),
    "modulation": Case(
        lambda t: (top(t), top(t).flip(-1)[..., :TEACHERS]), students=(-1, None), permuted=((-2,), (-2, -1))
    ),
    "layer_means": Case(lambda t: (deep(t), points(t), deep(t, 7, hidden=(TEACHERS, TEACHERS)))),
    "top_down_norms": Case(lambda t: (deep(t), points(t))),
    "expectation_gaps": Case(lambda t: (deep(t, 7, hidden=(TEACHERS, TEACHERS)), deep(t), points(t))),
    "hessian_spectrum": Case(lambda t: (net(t), points(t), drawn(2, SAMPLES, 3, dtype=t))),
    "alignment": Case(lambda t: (nodes(t, TEACHERS), nodes(t)), students=(None, NODES), permuted=((-1,),)),
    "observers": Case(
        lambda t: (alone(t, TEACHERS), alone(t), torch.full((5,), -1, dtype=t), torch.ones(5, dtype=t)),
        lanes=False, students=(None, NODES, None, None), permuted=((-1,),),
    ),
    "band_counts": Case(
        lambda t: (alone(t), points(t), 0.5), lanes=False, students=(NODES, None, None), permuted=((-1,),)
    ),
    "kappa": Case(
        lambda t: (alone(t, TEACHERS), alone(t), points(t), 0.5),
        lanes=False, students=(None, NODES, None, None), permuted=((-1,),),
    ),
    "recovered_at": Case(lambda t: (looks(t), 0.5), students=(-1, None), permuted=((),)),
    "focus": Case(lambda t: (looks(t), 0.3), students=(-1, None), permuted=((-1,),)),
    "focus_shifts": Case(lambda t: (looks(t), 0.3), students=(-1, None), permuted=((-1,),)),
    "tau": Case(
        lambda t: (alone(t), points(t), 0.1, 1.0), lanes=False, students=(NODES, None, None, None), permuted=((-1,),)
    ),
    "negative_share": Case(lambda t: (drawn(8, LANES, STUDENTS, dtype=t),), students=(-1,), permuted=((),)),
    "active_share": Case(
        lambda t: (drawn(8, LANES, STUDENTS, dtype=t), drawn(9, LANES, STUDENTS, dtype=t)),
        students=(-1, -1), permuted=((-1,),),
    ),
    "eta": Case(lambda t: (points(t), 0.1), lanes=False),
    "mu": Case(lambda t: (points(t),), lanes=False),
    "overlaps": Case(
        lambda t: (nodes(t, TEACHERS), nodes(t)), students=(None, NODES), permuted=((-1,), (-1,))
    ),
    "sampled_overlaps": Case(activations, students=(None, -1), permuted=((-1,),) * 4),
    "overlap_ratios": Case(lambda t: (nodes(t),), students=(NODES,), permuted=((), ())),
    "lipschitz_constants": Case(
        lambda t: (alone(t), 0.01), lanes=False, students=(NODES, None), permuted=((), ())
    ),
    "fall_off": Case(lambda t: (alone(t), 0.01), lanes=False, students=(NODES, None), permuted=((-1,),)),
}  # fmt: skip
