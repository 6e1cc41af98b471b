"""The BatchNorm layers of an exported program, and where each stands."""

from pathlib import Path

from torch import Tensor, nn

from relulab.io.program import Program, load_program
from relulab.io.program_layers import output_names, taken_names
from relulab.nets.batch_norm_layers import BatchNormLayer, Kind, Step, kind_of, places

NORMS = ("batch_norm", "_native_batch_norm_legit_no_training")


def program_norms(path: Path) -> list[BatchNormLayer]:
    """Return every BatchNorm with biases in a program, in the order of its operations. The program is not run.

    Args:
        path: A file written by ``torch.export.save``.
    """
    program = load_program(path, tried=True)
    made = {name: node.name for node in program.nodes for output in node.outputs for name in output_names(output)}
    steps, taken = [], {}
    for node in program.nodes:
        inputs = [name for argument in node.inputs for name in taken_names(argument["arg"])]
        rectifies = isinstance(node.activation(), nn.ReLU | nn.LeakyReLU)
        kind: Kind = "norm" if node.operation in NORMS else "relu" if rectifies else kind_of(node.operation)
        steps.append(Step(node.name, kind, tuple(made[name] for name in inputs if name in made)))
        if kind == "norm":
            taken[node.name] = [argument["arg"].get("as_tensor", {}).get("name") for argument in node.inputs]
    known, layers = places(steps), []
    for name, (_, weight, bias, mean, *_) in taken.items():
        biases = _weights(program, bias)
        if biases is not None:
            title = program.titles[bias].rpartition(".")[0] or name
            own = (biases, _weights(program, weight), _weights(program, mean))
            layers.append(BatchNormLayer(title, *own, known[name], "the program"))
    return layers


def _weights(program: Program, name: str | None) -> Tensor | None:
    return getattr(program, program.bound[name]).detach() if name in program.bound else None
