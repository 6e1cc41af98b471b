"""LM figure 7: which fan-outs grow, and which vanish, if some students start near the nodes of their teacher."""

from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge, Len
from matplotlib.figure import Figure
from pydantic import AfterValidator, NonNegativeFloat, PositiveFloat, PositiveInt

from relulab.data.inputs import Gaussian
from relulab.data.task import Task
from relulab.lab.claim import Claim
from relulab.lab.control import Control
from relulab.lab.study import Tick, Unit, blocks, distinct
from relulab.lab.trained_study import TrainedStudy
from relulab.subjects.specialization.studies.lucky_start.claims import statements
from relulab.subjects.specialization.studies.lucky_start.drawing import courses, separations
from relulab.subjects.specialization.studies.shuffled import before_training, shuffled
from relulab.subjects.specialization.studies.statements import claimed
from relulab.subjects.specialization.studies.two_layer_students import step_flops, unstacked
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
from relulab.subjects.specialization.tools.observation import Observation, Observer
from relulab.subjects.specialization.tools.start_near import start_near
from relulab.train.fit import fit
from relulab.train.probe import Probe, Reading

Over = Annotated[int, Ge(2)]
Widths = Annotated[tuple[Over, ...], Len(min_length=1), AfterValidator(distinct)]
Factors = Annotated[tuple[NonNegativeFloat, ...], Len(min_length=2), AfterValidator(distinct)]
BLOCK = 4  # seeds per unit
SMALL, LANE_STEP = 1.6, 2.5e5  # small products cost so many times their flops, and a step of a lane so many more


class LuckyStart(TrainedStudy):
    """Do the fan-outs of students that start near teacher nodes grow, while those of all others vanish?

    The first m students, the u-set, start near the m teacher nodes: p_W says how near their input weights are, and p_V
    how near their fan-outs are. All others, the r-set, start at random. LM says that the norms of the fan-outs of both
    sets separate if p_W is large, whatever p_V is, and that with a small p_W the gap between them does not widen, even
    if p_V is large.
    """

    name: ClassVar = "lucky-start"
    ids: ClassVar = ("LM.F7",)
    title: ClassVar = "Students that start near teacher nodes"
    source: ClassVar = "LM section 4.2, figure 7"
    remarks: ClassVar = (
        "Not printed, so our choice: the values of p_W and p_V, the standard deviation of the inputs (1, as the "
        "theorems assume whitened inputs), the learning rate, the batch size and the number of steps. Teachers are "
        "those of LM section 5.1, with biases between −0.5 and 0.5; the biases of students start at 0 and are "
        "trained. Inputs are drawn anew in every epoch."
    )
    symbols: ClassVar = {
        "p_W": "how near the input weights of the u-set start to those of the teacher nodes",
        "p_V": "how near the fan-outs of the u-set start to those of the teacher nodes",
        "‖v_j‖": "norm of the fan-out of student j",
        "V_u": "fan-outs of the u-set",
        "V_r": "fan-outs of the r-set",
        "m": "number of hidden nodes of the teacher",
    }  # fmt: skip
    presets: ClassVar = {
        "smoke": {
            "d": 5, "m": 4, "C": 6, "over": (2,), "p_W": (0.1, 3.0), "p_V": (0.1, 3.0), "seeds": 2, "epochs": 3,
            "n_held_out": 200,
        },
        "quick": {"seeds": 8, "epochs": 60},
    }  # fmt: skip
    captions: ClassVar = {
        "courses": "Norms of the fan-outs ‖v_j‖ over the epochs of training, one row per student width, one column per "
        "choice of p_W and p_V. Blue with circles: the u-set; red with squares: the r-set. Lines are means over "
        "nodes and seeds, shaded areas one standard deviation of the means of the seeds. With a large p_W, the sets "
        "separate; with a small one, a gap at the start does not widen. Answers figure 7 of LM.",
        "separation": "Separation of the two sets at the end of training versus p_W, one panel per student width, one "
        "line and marker per p_V: the share of pairs of one node of each set in which the node of the u-set has the "
        "larger fan-out. 1 is complete separation, and 0.5 is chance. Lines are means over seeds, shaded areas two "
        "standard errors. Not in the paper.",
    }

    d: PositiveInt = 10
    """input dimension"""
    m: PositiveInt = 20
    """number of hidden nodes of the teacher"""
    C: PositiveInt = 30
    """number of outputs"""
    over: Widths = (2, 5, 10)
    """student widths, as multiples of the teacher width"""
    p_W: Factors = (0.1, 0.3, 1.0, 3.0)
    """how near input weights of the u-set start: a factor of the teacher's weights, beside noise of the same norm"""
    p_V: Factors = (0.1, 0.3, 1.0, 3.0)
    """the same for the fan-outs"""
    seeds: PositiveInt = 32
    """number of seeds: teachers, each with students of all widths and starts"""
    epochs: PositiveInt = 160
    """number of epochs, with new inputs each"""
    steps: PositiveInt = 100
    """SGD steps per epoch"""
    batch: PositiveInt = 16
    """points per step"""
    sigma: PositiveFloat = 1.0
    """standard deviation of the inputs"""
    n_held_out: Annotated[int, Ge(2)] = 2000
    """number of held-out points, for the evaluation loss"""

    def units(self) -> list[Unit]:
        units = []
        for over in self.over:
            for seeds in blocks(self.seeds, BLOCK):
                steps = len(seeds) * len(self.p_W) * len(self.p_V) * self.epochs * self.steps
                flops = steps * (SMALL * step_flops(self.batch, self.d, over * self.m, self.C) + LANE_STEP)
                name = f"over{over}-seeds{seeds[0]}-{seeds[-1]}"
                units.append(Unit(name, {"over": over, "seeds": seeds}, steps, flops))
        return units

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        over, seeds = unit.values["over"], unit.values["seeds"]
        starts = list(product(self.p_W, self.p_V))
        lanes = [seed for seed in seeds for _ in starts]
        p_W, p_V = (list(p) * len(seeds) for p in zip(*starts, strict=True))
        teachers = luck_teacher((self.d, self.m, self.C), seeds=lanes, root=self.root)
        task = Task(
            teachers, Gaussian(self.d, self.sigma), seeds=lanes, n_train=self.steps * self.batch,
            n_held_out=self.n_held_out, fresh=True, root=self.root,
        )  # fmt: skip
        students = start_near(teachers, over * self.m, p_W=p_W, p_V=p_V, seeds=lanes, root=self.root)
        observe = Observer(teachers, task.held_out())
        course = fit(
            students, task, epochs=self.epochs, steps=self.steps, batch=self.batch, tick=tick, **self.training(),
            probes=[Probe(self.looks(), lambda net: self.read(observe(net)))],
        )  # fmt: skip
        data = unstacked(course, seed=lanes, p_W=p_W, p_V=p_V)
        return data.assign_coords(over=over).expand_dims("over")

    def looks(self) -> tuple[int, ...]:
        """The epochs at which students are measured: spaced geometrically."""
        epochs = np.geomspace(1, self.epochs, min(self.epochs, 9)).round().astype(int).tolist()
        return tuple(sorted({0, *epochs}))

    def read(self, snapshot: Observation) -> Reading:
        """Norms of the fan-outs of both sets, and how often one of the u-set is larger than one of the r-set."""
        u, r = snapshot.fan_out[:, : self.m], snapshot.fan_out[:, self.m :]
        larger = (u[:, :, None] > r[:, None, :]).double().mean((1, 2))
        lost = ~torch.isfinite(snapshot.loss)
        return {
            "u": (("lane",), u.mean(1)), "r": (("lane",), r.mean(1)),
            "larger": (("lane",), larger.masked_fill(lost, torch.nan)), "loss": (("lane",), snapshot.loss),
        }  # fmt: skip

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        ordered = self._ordered(result)
        return {"courses": courses(ordered), "separation": separations(ordered, self.epochs)}

    def _ordered(self, result: xr.Dataset) -> xr.Dataset:
        return result.sortby(["over", "p_W", "p_V"])

    def statistics(self, result: xr.Dataset) -> dict[str, xr.DataArray]:
        mean = result.mean(("over", "p_W", "p_V"), skipna=False)
        last = mean.sel(epoch=self.epochs, drop=True)
        return {
            "norm of the fan-outs of the u-set": mean.u,
            "norm of the fan-outs of the r-set": mean.r,
            f"share of pairs with a larger fan-out in the u-set after {self.epochs} epochs": last.larger,
            f"log₁₀ evaluation loss after {self.epochs} epochs": np.log10(last.loss),
        }

    def controls(self, result: xr.Dataset) -> list[Control]:
        result = self._ordered(result)
        # The largest p_W in the place of the smallest one, and so on.
        turned = result.isel(p_W=slice(None, None, -1)).assign_coords(p_W=result.p_W)
        return [
            Control("students before training", ("LM.F7.separate", "LM.F7.widens"), before_training(result)),
            Control("the values of p_W in reverse order", ("LM.F7.small-p_W",), turned),
            Control("values of p_W assigned to the students at random", ("LM.F7.closer-weights",),
                    shuffled(result, "p_W", root=self.root)),
            Control("values of p_V assigned to the students at random", ("LM.F7.closer-fan-outs",),
                    shuffled(result, "p_V", root=self.root)),
        ]  # fmt: skip

    def claims(self, result: xr.Dataset) -> list[Claim]:
        result = self._ordered(result).transpose("seed", ...)
        finite = np.isfinite(result.loss.sel(epoch=self.epochs))
        lost = ~finite.all([dim for dim in finite.dims if dim != "seed"]).values
        return claimed(statements(result, self.epochs), lost)


STUDY = LuckyStart
