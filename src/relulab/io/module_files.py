"""The bytes of files with a module: its state dict, or an exported program."""

from io import BytesIO

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.io.guard import one_line


def module_state_bytes(net: nn.Module) -> bytes:
    """Return the bytes of a PyTorch file with the state dict of a module, under the names of the module.

    Args:
        net: The module.
    """
    content = BytesIO()
    torch.save(net.state_dict(), content)
    return content.getvalue()


def module_tensor_bytes(net: nn.Module) -> bytes:
    """Return the bytes of a safetensors file with the state dict of a module, under the names of the module.

    Args:
        net: The module.
    """
    from safetensors.torch import save

    tensors = {name: t.detach().clone().contiguous() for name, t in net.state_dict().items()}
    return save(tensors, {"format": "pt", "written by": "relulab"})


def program_bytes(net: nn.Module, x: Tensor) -> bytes:
    """Return the bytes of a file with a module as an exported program, for any number of points.

    Args:
        net: The module.
        x: Points that it takes, (N, …), at least 2.
    """
    floats = [p.dtype for p in net.parameters() if p.is_floating_point()]
    example = x[:2].to(floats[0]) if floats and x.is_floating_point() else x[:2]
    try:
        program = torch.export.export(net.eval(), (example,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    except Exception as error:  # the compiler of PyTorch may raise anything on a user's own forward
        raise UserError(
            f"the {type(net).__name__} cannot be exported as a program ({one_line(error)}): write its state dict with "
            "--out FILE.pt"
        ) from None
    content = BytesIO()
    torch.export.save(program, content)
    return content.getvalue()
