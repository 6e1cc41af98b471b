"""Networks in files: safetensors, npz, PyTorch state dicts, exported programs. Nothing is ever unpickled."""

from relulab.nets.files.network import load, save

__all__ = ["load", "save"]
