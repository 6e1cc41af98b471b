"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES: tuple[str, ...] = (
    "max_margin_limit",
    "two_layer_rays",
    "residual_rays",
)
THEOREMS: tuple[str, ...] = (
    "two_extremal_directions",
    "absorbing_sectors",
    "balanced_neurons",
    "max_margin_neurons",
    "learnt_function",
    "kkt_point",
)
INSTRUMENTS: tuple[str, ...] = (
    "separability",
    "max_margin",
    "sectors",
    "extremal",
    "early_phase",
    "limit",
)
