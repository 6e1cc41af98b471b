"""relulab: a laboratory for what ReLU networks learn.

The names that every user needs, and each subject as a namespace: ``relulab.bias.max_margin``. They are imported when
first used, so that ``import relulab`` costs nothing.
"""

from typing import TYPE_CHECKING

from relulab.core.door import opened

if TYPE_CHECKING:
    # networks
    # the laboratory
    from relulab.core.errors import RunStopped as RunStopped
    from relulab.core.errors import UserError as UserError

    # data
    from relulab.data.inputs import Gaussian as Gaussian
    from relulab.data.inputs import Uniform as Uniform
    from relulab.data.labelled import Labelled as Labelled
    from relulab.data.labelled import labelled as labelled
    from relulab.data.labelled_task import LabelledTask as LabelledTask
    from relulab.data.mnist import mnist as mnist
    from relulab.data.task import Task as Task

    # training
    from relulab.flow.gradient_flow import gradient_flow as gradient_flow
    from relulab.io.network import load as load
    from relulab.io.network import save as save
    from relulab.io.points import read_points as read_points
    from relulab.io.tables import read_table as read_table
    from relulab.lab.catalogue import find_study as find_study
    from relulab.lab.catalogue import find_theorem as find_theorem
    from relulab.lab.run.engines.dask import Dask as Dask
    from relulab.lab.run.engines.local import Local as Local
    from relulab.lab.run.runner import run_study as run_study
    from relulab.lab.theorem import Check as Check
    from relulab.lab.theorem import Finding as Finding
    from relulab.lab.theorem import Verdict as Verdict
    from relulab.nets.hooks import hidden as hidden
    from relulab.nets.initial import balanced as balanced
    from relulab.nets.initial import residual_default as residual_default
    from relulab.nets.initial import small_normal as small_normal
    from relulab.nets.initial import torch_default as torch_default
    from relulab.nets.mlp import MLP as MLP
    from relulab.nets.residual import Residual as Residual

    # subjects
    from relulab.subjects import bias as bias
    from relulab.subjects import distillation as distillation
    from relulab.subjects import specialization as specialization
    from relulab.train.losses import MSE as MSE
    from relulab.train.losses import CrossEntropy as CrossEntropy
    from relulab.train.losses import Logistic as Logistic
    from relulab.train.probe import Probe as Probe
    from relulab.train.sgd import sgd as sgd
else:
    __getattr__, __dir__, __all__ = opened(__name__)
