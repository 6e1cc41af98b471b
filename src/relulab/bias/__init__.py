"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES: tuple[str, ...] = ("digit_features",)
THEOREMS: tuple[str, ...] = ()
INSTRUMENTS: tuple[str, ...] = ()
