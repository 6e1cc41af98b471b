"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

STUDIES = ("max_margin_limit", "two_layer_rays", "residual_rays", "digit_features")
THEOREMS = (
    "two_extremal_directions",
    "absorbing_sectors",
    "balanced_neurons",
    "max_margin_neurons",
    "learnt_function",
    "kkt_point",
)
INSTRUMENTS = ("separability", "max_margin", "sectors", "extremal", "early_phase", "limit")
