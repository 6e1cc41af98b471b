"""Slots of a network: the weights of a smaller network put into some of its nodes, and nodes moved to other slots."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from relulab.nets.stages import Structure

State = dict[str, Tensor]
"""weights and buffers by name, as in a state dict"""
Slots = Mapping[str, Int[Tensor, " k"]]
"""for each stage, by its name, the places of some of its nodes"""


class Place(NamedTuple):
    """Where a tensor belongs: the nodes that its rows make, and those that its columns read.

    Attributes:
        rows: Name of the stage of the rows and the number of rows per node; None for inputs or outputs of the network.
        columns: The same for the columns; None if the tensor has no columns that belong to nodes.
    """

    rows: tuple[str, int] | None
    columns: tuple[str, int] | None


def state_of(net: nn.Module) -> State:
    """Return copies of all real weights and buffers of a network.

    Args:
        net: The network.
    """
    return {name: t.detach().clone() for name, t in net.state_dict().items() if t.is_floating_point()}


def places(of: Structure) -> dict[str, Place]:
    """Return for every tensor of a network which nodes its rows and columns belong to.

    Args:
        of: The structure of the network.
    """
    rows: dict[str, tuple[str, int]] = {}
    columns: dict[str, tuple[str, int]] = {}
    for stage in of.stages:
        rows |= {layer: (stage.name, 1) for layer in stage.makers}
        rows |= {layer: (stage.name, block) for layer, block in stage.carriers}
        columns |= {reader.layer: (stage.name, reader.block) for reader in stage.readers}
    found = {}
    for name, tensor in state_of(of.net).items():
        layer, _, kind = name.rpartition(".")
        reads = columns.get(layer) if kind == "weight" and tensor.dim() > 1 else None
        found[name] = Place(rows.get(layer), reads)
    return found


def embedded(base: State, small: State, slots: Slots, at: Mapping[str, Place]) -> State:
    """Return the state of a network that computes in some of its nodes what a smaller network computes.

    These nodes read each other only, and the outputs read nothing else. All other nodes keep their weights.

    Args:
        base: The state of the network.
        small: The state of the smaller network, whose layers have the same names.
        slots: The places of its nodes.
        at: Where the tensors of the network belong.
    """
    state = {}
    for name, tensor in base.items():
        rows, columns = (_index(of, slots) for of in at[name])
        wide = tensor.clone()
        if rows is None and columns is None:
            wide = small[name].clone()
        elif columns is None:
            wide[rows] = small[name]
        else:
            rows = torch.arange(len(wide)) if rows is None else rows
            wide[rows] = 0
            wide[rows[:, None], columns] = small[name]
        state[name] = wide
    return state


def copied(state: State, moves: Mapping[str, list[tuple[int, int]]], at: Mapping[str, Place]) -> State:
    """Copy nodes into other slots: these get the same weights and the same activation. Nothing reads them yet.

    Args:
        state: The state of a network.
        moves: For each stage, the slots of nodes and their new slots.
        at: Where the tensors of the network belong.
    """
    state = {name: tensor.clone() for name, tensor in state.items()}
    for name, place in at.items():
        for old, new in _moved(place.rows, moves):
            state[name][new] = state[name][old]
    return state


def handed_over(state: State, moves: Mapping[str, list[tuple[int, int]]], at: Mapping[str, Place]) -> State:
    """Let all that read a node read its copy instead.

    Args:
        state: The state of a network in which nodes were copied.
        moves: For each stage, the slots of nodes and those of their copies.
        at: Where the tensors of the network belong.
    """
    state = {name: tensor.clone() for name, tensor in state.items()}
    for name, place in at.items():
        for old, new in _moved(place.columns, moves):
            state[name][:, new] = state[name][:, old]
            state[name][:, old] = 0
    return state


def _moved(
    of: tuple[str, int] | None, moves: Mapping[str, list[tuple[int, int]]]
) -> Iterator[tuple[slice, slice]]:  # fmt: skip
    stage, block = of or ("", 1)
    for old, new in moves.get(stage, []):
        yield slice(old * block, (old + 1) * block), slice(new * block, (new + 1) * block)


def _index(of: tuple[str, int] | None, slots: Slots) -> Int[Tensor, " rows"] | None:
    if of is None:
        return None
    stage, block = of
    return (slots[stage][:, None] * block + torch.arange(block)).flatten()
