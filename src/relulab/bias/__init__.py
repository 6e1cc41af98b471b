"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES: tuple[str, ...] = ()
THEOREMS: tuple[str, ...] = ("two_extremal_directions",)
INSTRUMENTS: tuple[str, ...] = (
    "separability",
    "max_margin",
    "sectors",
    "extremal",
    "early_phase",
)
