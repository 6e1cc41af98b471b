"""LM section 1, figure 3: lottery tickets as lucky nodes."""

from copy import deepcopy
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Gt, Len
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from pydantic import AfterValidator, PositiveFloat, PositiveInt, model_validator
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit, blocks, distinct
from relulab.lab.trained_study import TrainedStudy
from relulab.nets.hooks import hidden
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.top_down_norms import top_down_norms
from relulab.subjects.specialization.studies.deep_students import Hidden, weights_of
from relulab.subjects.specialization.studies.lottery_tickets.claims import exchanged, statements
from relulab.subjects.specialization.studies.lottery_tickets.drawing import courses, luck, sizes
from relulab.subjects.specialization.studies.shuffled import shuffled
from relulab.subjects.specialization.studies.statements import claimed
from relulab.subjects.specialization.studies.two_layer_students import STEP, Correlation, unstacked
from relulab.subjects.specialization.tools.layer_observation import LayerObserver
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
from relulab.subjects.specialization.tools.rewinding import rewind
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

Multiple = Annotated[float, Gt(0)]
Multiples = Annotated[tuple[Multiple, ...], Len(min_length=1), AfterValidator(distinct)]
ARMS = {
    "modulation": "winners by modulation", "norm": "winners by weight norm", "late": "winners, from a later epoch",
    "random": "random nodes", "redrawn": "winners, weights drawn again",
}  # fmt: skip
CRITERIA = ("modulation", "norm", "random")
BLOCK = 4  # seeds per unit
AGAIN = 1_000_000  # added to the seeds of students whose weights are drawn again
SCORED = 1000  # points at which nodes are scored; training does not see them
SMALL = 1.6  # small products cost so many times their flops


class LotteryTickets(TrainedStudy):
    """Do the winners of an over-realized student, trained again from their initial weights, do as well as the student?

    LM explains lottery tickets by luck: nodes that happen to start near teacher nodes win. A student is trained, and
    its winners are the nodes with the largest top-down modulation √E[β_kk] times the size of their activation. All
    others are removed. The winners get back their initial weights and are trained again, on the same batches. The same
    is done with winners by the norm of their input weights, with random nodes, with winners whose initial weights are
    drawn again, and with the weights that winners had after a few epochs (late resetting).
    """

    name: ClassVar = "lottery-tickets"
    ids: ClassVar = ("LM.LT",)
    title: ClassVar = "Lottery tickets as lucky nodes"
    source: ClassVar = "LM section 1, figure 3, and section 3.3"
    remarks: ClassVar = (
        "LM has no experiment for figure 3. The teachers are those of LM section 4.2 (10-20-30), with the weights of "
        "section 5.1. All else is our choice: students of 5 times the width with PyTorch's initialization, inputs of "
        "standard deviation 1, the learning rate, and how many nodes are kept. hidden=10,15 has two hidden layers. "
        "The claim that winners do better than random nodes was added after a first run, in which random nodes did as "
        "well as the full student, too."
    )
    symbols: ClassVar = {
        "√E[β_kk]": "top-down modulation of a node: the root mean square of the gradient of the outputs with respect "
        "to its activation",
        "m": "number of nodes of a hidden layer of the teacher",
    }  # fmt: skip
    presets: ClassVar = {
        "smoke": {
            "d": 4, "hidden": (3,), "C": 4, "over": 4, "keep": (1.0, 2.0), "seeds": 2, "epochs": 3, "steps": 50,
            "n_held_out": 200,
        },
        "quick": {"seeds": 16, "epochs": 20},
    }  # fmt: skip
    captions: ClassVar = {
        "courses": "Evaluation loss over the epochs, one panel per number of nodes that are kept, as a multiple of the "
        "teacher's. Black: the full student. Others: its winners, trained again from their initial weights, with a "
        "marker each; controls are dashed. Lines are means over seeds of log₁₀ of the share of the variance that is "
        "not explained, shaded areas two standard errors. Illustrates figure 3 of LM, which shows no measurement.",
        "sizes": "Left: the same at the end of training, versus the number of nodes that are kept. Right: directly "
        "after pruning the trained student, without further training, for three ways to choose the nodes. Lines with "
        "markers are means over seeds, shaded areas two standard errors. Colors are as in the other figure.",
        "luck": "Mean best correlation with a teacher node before training, of the nodes that are kept and of all "
        "others on the horizontal axis. Each symbol is a seed; the line is the diagonal. Above it, the nodes that are "
        "kept were lucky: they started nearer to teacher nodes than the others.",
    }

    d: PositiveInt = 10
    """input dimension"""
    hidden: Hidden = (20,)
    """numbers of nodes of the teacher's hidden layers"""
    C: PositiveInt = 30
    """number of outputs"""
    over: Annotated[int, Ge(2)] = 5
    """width of the full student, as a multiple of the teacher's"""
    keep: Multiples = (1.0, 1.5, 2.0)
    """numbers of nodes that are kept in each hidden layer, as multiples of the teacher's"""
    late: PositiveInt = 1
    """epoch from which the weights of late resetting are taken"""
    seeds: PositiveInt = 32
    """number of seeds: teachers, each with one full student and its tickets"""
    epochs: Annotated[int, Ge(2)] = 80
    """number of epochs, with new inputs each"""
    steps: PositiveInt = 500
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step"""
    sigma: PositiveFloat = 1.0
    """standard deviation of the inputs"""
    n_held_out: Annotated[int, Ge(2)] = 2000
    """number of held-out points, for the evaluation loss"""
    threshold: Correlation = 0.95
    """correlation above which a teacher node counts as recovered"""
    lr: PositiveFloat = 0.02
    """learning rate"""

    @model_validator(mode="after")
    def _smaller(self):
        if self.late >= self.epochs:
            raise ValueError(f"late = {self.late} is not before the last epoch, {self.epochs}: choose a smaller one")
        if max(self.keep) >= self.over:
            raise ValueError(f"keep = {max(self.keep):g} is not below over = {self.over}: keep fewer nodes")
        return self

    def kept(self, keep: float) -> list[int]:
        """The number of nodes that are kept in each hidden layer."""
        return [max(1, round(keep * m)) for m in self.hidden]

    def widths(self, hidden: list[int]) -> tuple[int, ...]:
        """The numbers of units of students with these hidden layers."""
        return (self.d, *hidden, self.C)

    def units(self) -> list[Unit]:
        units, shapes = [], [[self.over * m for m in self.hidden], *map(self.kept, self.keep)]
        for seeds in blocks(self.seeds, BLOCK):
            lanes, steps = [len(seeds), *[len(seeds) * len(ARMS)] * len(self.keep)], self.epochs * self.steps
            weights = [weights_of(self.widths(shape)) for shape in shapes]
            flops = sum(n * 2.0 * self.batch * (3 * sum(w) - w[0]) * SMALL for n, w in zip(lanes, weights, strict=True))
            cost = steps * (flops + STEP * len(shapes))
            units.append(Unit(f"seeds{seeds[0]}-{seeds[-1]}", {"seeds": seeds}, sum(lanes) * steps, cost))
        return units

    def task(self, lanes: list[int]) -> Task:
        """The learning task, with one lane per given seed."""
        teachers = luck_teacher(self.widths(list(self.hidden)), seeds=lanes, root=self.root)
        return Task(
            teachers, Gaussian(self.d, self.sigma), seeds=lanes, n_train=self.steps * self.batch,
            n_held_out=self.n_held_out, fresh=True, root=self.root,
        )  # fmt: skip

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        seeds = list(unit.values["seeds"])
        task = self.task(seeds)
        wide = self.widths([self.over * m for m in self.hidden])
        start, again = (torch_default(wide, [s + a for s in seeds], root=self.root) for a in (0, AGAIN))
        observe = LayerObserver(task.teacher, task.held_out())
        variance = _variance(observe.points.Y)
        full = deepcopy(start)
        first = self._trained(full, task, observe, 0, self.late, tick)
        early = deepcopy(full)
        second = self._trained(full, task, observe, self.late, self.epochs, tick)
        course = xr.concat([first.drop_vars("diverged_at"), second.drop_vars("diverged_at")], "epoch")
        course = course.rename(lane="seed", loss="full", recovered="full_recovered")
        data = course.assign_coords(seed=seeds)
        nearest = [rho.amax(1) for rho in observe(start).rho]
        scores = self.scores(full, seeds)
        many = self.task(seeds * len(ARMS))
        watch = LayerObserver(many.teacher, many.held_out())
        sizes = []
        for keep in self.keep:
            nodes = {by: _largest(scores[by], self.kept(keep)) for by in CRITERIA}
            cut = torch.stack([observe(_ticket(full, full, nodes[by])).loss for by in CRITERIA])
            lucky = torch.stack([_luck(nearest, nodes[by]) for by in CRITERIA])
            tickets = _joined([
                _ticket(full, early if arm == "late" else again if arm == "redrawn" else start,
                        nodes[arm if arm in CRITERIA else "modulation"])
                for arm in ARMS
            ])  # fmt: skip
            trained = self._trained(tickets, many, watch, 0, self.epochs, tick).drop_vars("diverged_at")
            lanes = {"arm": [arm for arm in ARMS for _ in seeds], "seed": seeds * len(ARMS)}
            one = unstacked(trained, **lanes).assign(
                cut=(("by", "seed"), cut.numpy()), lucky=(("by", "seed", "side"), lucky.numpy())
            )
            sizes.append(one.assign_coords(by=list(CRITERIA), side=["kept", "other"], keep=keep))
        data = data.merge(xr.concat(sizes, "keep"), compat="no_conflicts", join="exact")
        return data.assign(variance=("seed", variance.numpy()))

    def _trained(self, net: MLP, task: Task, observe: LayerObserver, start: int, end: int, tick: Tick) -> xr.Dataset:
        """Train from one epoch to another."""
        looks = [epoch for epoch in self.looks() if start < epoch <= end or epoch == start == 0]
        return fit(
            net, task, epochs=end - start, steps=self.steps, batch=self.batch, resume=start > 0, tick=tick,
            **self.training(), probes=[Probe(looks, lambda net: self.read(observe, net))],
        )  # fmt: skip

    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are measured: spaced geometrically."""
        epochs = np.geomspace(1, self.epochs, min(self.epochs, 9)).round().astype(int).tolist()
        return tuple(sorted({0, self.late, *epochs}))

    def read(self, observe: LayerObserver, net: MLP) -> Reading:
        """The evaluation loss, and the share of teacher nodes that are recovered."""
        seen = observe(net)
        alive = torch.cat(observe.alive, 1)
        found = torch.cat([rho.amax(-1) > self.threshold for rho in seen.rho], 1)
        share = (found & alive).double().sum(1) / alive.double().sum(1)
        return {"loss": (("lane",), seen.loss), "recovered": (("lane",), share)}

    def scores(self, net: MLP, seeds: list[int]) -> dict[str, list[Float[Tensor, "lane n"]]]:
        """What each criterion says of the nodes of a trained student, layer by layer; the largest are kept."""
        draws = [Gaussian(self.d, self.sigma).draw(stream(self.root, Role.TRAIN, s, AGAIN), SCORED) for s in seeds]
        x = torch.from_numpy(np.stack(draws)).to(net.dtype)
        f = hidden(net, x).values()
        modulation = top_down_norms(net, x).values()
        order = [stream(self.root, Role.CHANCE, s) for s in seeds]
        return {
            "modulation": [b * f_l.square().mean(1).sqrt() for b, f_l in zip(modulation, f, strict=True)],
            "norm": [W.data.norm(dim=1) for W in net.W[:-1]],
            "random": [torch.from_numpy(np.stack([rng.random(n) for rng in order])) for n in net.widths[1:-1]],
        }

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        result = explained(result)
        return {"courses": courses(result, ARMS), "sizes": sizes(result, ARMS), "luck": luck(result)}

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        end = explained(result).sel(epoch=self.epochs, drop=True)
        found = {"log₁₀ loss of the full student": np.log10(end.full)}
        for arm, words in ARMS.items():
            found[f"log₁₀ loss, {words}"] = np.log10(end.loss.sel(arm=arm, drop=True)).mean("keep", skipna=False)
        return found

    def controls(self, result: xr.Dataset) -> list[Control]:
        chance = exchanged(result, modulation="random")
        pair = shuffled(result.sel(arm=["modulation", "norm"]), "arm", "loss", root=self.root)
        cut = shuffled(result.sel(by=["modulation", "norm"]), "by", "cut", root=self.root)
        random = "random nodes in the place of winners"
        return [
            Control(random, ("LM.LT.same", "LM.LT.winners", "LM.LT.redrawn", "LM.LT.lucky"), chance),
            Control("criteria that are interchanged at random", ("LM.LT.tickets",),
                    result.assign(loss=pair.loss.reindex(arm=result.arm).fillna(result.loss))),
            Control("criteria that are interchanged at random", ("LM.LT.prune",),
                    result.assign(cut=cut.cut.reindex(by=result.by).fillna(result.cut))),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        result = explained(result).transpose("seed", ...)
        end = result.sel(epoch=self.epochs, drop=True)
        lost = ~(np.isfinite(end.full) & np.isfinite(end.loss).all(("arm", "keep"))).values
        return claimed(statements(end, self.epochs), lost)


def explained(result: xr.Dataset) -> xr.Dataset:
    """Return a result with losses as shares of the variance of the outputs, sorted by the numbers of nodes.

    Args:
        result: The result of the study.
    """
    share = {name: result[name] / result.variance for name in ("full", "loss", "cut")}
    return result.assign(share).sortby("keep")


def _variance(Y: Float[Tensor, "lane N C"]) -> Float[Tensor, " lane"]:
    """The loss of the best constant output."""
    return (Y - Y.mean(1, keepdim=True)).square().mean((1, 2))


def _largest(scores: list[Float[Tensor, "lane _"]], counts: list[int]) -> list[Int[Tensor, "lane _"]]:
    """Return the nodes with the largest scores in each layer, in ascending order."""
    return [s.topk(k, dim=1).indices.sort(1).values for s, k in zip(scores, counts, strict=True)]


def _luck(nearest: list[Float[Tensor, "lane _"]], nodes: list[Int[Tensor, "lane _"]]) -> Float[Tensor, "lane 2"]:
    """Return the mean best correlation at the start of the nodes that are kept and of all others, over all layers."""
    kept, other = [], []
    for best, index in zip(nearest, nodes, strict=True):
        chosen = torch.zeros_like(best).scatter_(1, index, 1.0)
        kept.append((best * chosen).sum(1) / chosen.sum(1))
        other.append((best * (1 - chosen)).sum(1) / (1 - chosen).sum(1))
    return torch.stack([torch.stack(kept).mean(0), torch.stack(other).mean(0)], 1)


def _ticket(full: MLP, start: MLP, nodes: list[Tensor]) -> MLP:
    ticket = rewind(full, start, nodes)
    assert isinstance(ticket, MLP)  # as the network that it comes from
    return ticket


def _joined(nets: list[MLP]) -> MLP:
    """Return networks of one shape as the lanes of one network, one network after the other."""
    first = nets[0]
    joined = MLP(
        first.widths, lanes=sum(net.lanes for net in nets), bias=first.bias, slope=first.slope, dtype=first.dtype
    )
    for parameters in zip(joined.parameters(), *(net.parameters() for net in nets), strict=True):
        parameters[0].data.copy_(torch.cat([p.data for p in parameters[1:]]))
    return joined


STUDY = LotteryTickets
