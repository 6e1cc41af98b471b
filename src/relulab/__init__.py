"""relulab: a laboratory for what ReLU networks learn.

The names that every user needs, and each subject as a namespace: ``relulab.bias.max_margin``. They are imported when
first used, so that ``import relulab`` costs nothing. Nothing is imported here: the command line must handle Ctrl-C from
its first moment, and this file runs before it.
"""

TYPE_CHECKING = False  # as in typing, which takes 20 ms to import

# isort: off
if TYPE_CHECKING:
    # networks
    from relulab.nets.mlp import MLP as MLP
    from relulab.nets.batch_norm_mlp import BatchNormMLP as BatchNormMLP
    from relulab.nets.residual import Residual as Residual
    from relulab.nets.initial import small_normal as small_normal
    from relulab.nets.initial import torch_default as torch_default
    from relulab.nets.conv_net import conv_net as conv_net
    from relulab.nets.initial import balanced as balanced
    from relulab.nets.initial import residual_default as residual_default
    from relulab.nets.hooks import hidden as hidden
    from relulab.nets.multiply_adds import multiply_adds as multiply_adds
    from relulab.io.network import load as load
    from relulab.io.network import save as save

    # data
    from relulab.data.inputs import Gaussian as Gaussian
    from relulab.data.inputs import Uniform as Uniform
    from relulab.data.task import Task as Task
    from relulab.data.task import Points as Points
    from relulab.data.tensor_task import TensorTask as TensorTask
    from relulab.data.labeled import labeled as labeled
    from relulab.data.labeled_task import LabeledTask as LabeledTask
    from relulab.data.mnist import mnist as mnist
    from relulab.data.cifar import cifar as cifar
    from relulab.io.data_file import read_data as read_data
    from relulab.io.points import read_points as read_points
    from relulab.io.tables import read_table as read_table

    # training
    from relulab.train.fit import fit as fit
    from relulab.train.sgd import sgd as sgd
    from relulab.train.optimizers import SGD as SGD
    from relulab.train.optimizers import Adam as Adam
    from relulab.train.schedules import StepDecay as StepDecay
    from relulab.train.schedules import Cosine as Cosine
    from relulab.train.losses import MSE as MSE
    from relulab.train.losses import CrossEntropy as CrossEntropy
    from relulab.train.losses import Logistic as Logistic
    from relulab.train.probe import Probe as Probe
    from relulab.flow.gradient_flow import gradient_flow as gradient_flow

    # the laboratory
    from relulab.lab.study import Study as Study
    from relulab.lab.study import Unit as Unit
    from relulab.lab.trained_study import TrainedStudy as TrainedStudy
    from relulab.lab.claim import claim as claim
    from relulab.lab.claim import Claim as Claim
    from relulab.lab.control import Control as Control
    from relulab.lab.claim import rank_correlation as rank_correlation
    from relulab.lab.interval import interval as interval
    from relulab.lab.show.figure import panels as panels
    from relulab.core.seeds import stream as stream
    from relulab.core.seeds import Role as Role
    from relulab.lab.theorem import Verdict as Verdict
    from relulab.lab.theorem import Check as Check
    from relulab.lab.theorem import Finding as Finding
    from relulab.lab.catalog import find_study as find_study
    from relulab.lab.catalog import find_theorem as find_theorem
    from relulab.lab.run.runner import run_study as run_study
    from relulab.lab.run.engines.local import Local as Local
    from relulab.lab.run.engines.dask import Dask as Dask
    from relulab.core.errors import UserError as UserError
    from relulab.core.errors import RunStopped as RunStopped
    from relulab.core.alerts import Diverged as Diverged

    # subjects
    from relulab.subjects import bias as bias
    from relulab.subjects import distillation as distillation
    from relulab.subjects import specialization as specialization
else:

    def __getattr__(name):
        from relulab.core.door import opened

        door = dict(zip(("__getattr__", "__dir__", "__all__"), opened(__name__), strict=True))
        globals().update(door)
        return door[name] if name in door else door["__getattr__"](name)

    def __dir__():
        return sorted(__getattr__("__all__"))
