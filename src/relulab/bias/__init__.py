"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES: tuple[str, ...] = ()
THEOREMS: tuple[str, ...] = ("two_extremal_directions",)
INSTRUMENTS: tuple[str, ...] = (
    "sectors",
    "extremal",
    "early_phase",
)
