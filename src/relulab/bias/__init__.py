"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES: tuple[str, ...] = ()
THEOREMS: tuple[str, ...] = ()
INSTRUMENTS: tuple[str, ...] = ("separability", "max_margin")
