"""Studies that train networks: the settings of the optimizer as fields, so that each of them can be changed."""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from relulab.lab.study import Study
from relulab.train.optimizers import SGD, Adam
from relulab.train.schedules import Cosine, StepDecay

Share = Annotated[float, Ge(0), Lt(1)]
Slope = Share
"""slope of a leaky ReLU for negative inputs; 0 is a plain ReLU"""


class TrainedStudy(Study):
    """Base class of studies that train networks with ``fit``. By default, plain SGD with a constant learning rate.

    A subclass adds a field ``epochs`` and passes ``**self.training()`` to ``fit``.
    """

    lr: PositiveFloat = 0.01
    """learning rate"""
    optimizer: Literal["sgd", "adam"] = "sgd"
    """optimizer: SGD, or Adam with its usual constants"""
    momentum: Share = 0
    """momentum of SGD"""
    nesterov: bool = False
    """use Nesterov momentum"""
    weight_decay: NonNegativeFloat = 0
    """weight decay: this multiple of the weights is added to the gradient"""
    schedule: Literal["constant", "cosine", "step"] = "constant"
    """learning rate over the epochs: constant, half a cosine down to 0, or divided at regular steps"""
    decay_every: PositiveInt = 10
    """with schedule=step: epochs after which the learning rate is multiplied by decay_factor"""
    decay_factor: PositiveFloat = 0.1
    """with schedule=step: factor of the learning rate"""
    label_noise: NonNegativeFloat = 0
    """standard deviation of noise on the targets; for classes and labels ±1, the fraction of wrong labels"""

    @model_validator(mode="after")
    def _fitting(self):
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov=true needs a momentum above 0: set momentum=0.9")
        if self.optimizer == "adam" and self.momentum:
            raise ValueError("momentum is a setting of SGD, and Adam has its own: set momentum=0 or optimizer=sgd")
        return self

    def training(self, parts: int = 1) -> dict[str, Any]:
        """Return the arguments of ``fit`` that these fields determine.

        Args:
            parts: Number of epochs of ``fit`` that make up one epoch of the study.
        """
        if self.optimizer == "adam":
            optimizer: SGD | Adam = Adam(self.lr, weight_decay=self.weight_decay)
        else:
            optimizer = SGD(self.lr, self.momentum, self.nesterov, self.weight_decay)
        schedule: Cosine | StepDecay | None = None
        if self.schedule == "cosine":
            schedule = Cosine(length=getattr(self, "epochs") * parts)  # noqa: B009 - a field of the subclass
        elif self.schedule == "step":
            schedule = StepDecay(self.decay_every * parts, self.decay_factor)
        return {"optimizer": optimizer, "schedule": schedule, "label_noise": self.label_noise}
