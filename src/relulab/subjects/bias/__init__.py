"""The inductive bias of ReLU networks on orthogonally separable data (IB)."""

from typing import TYPE_CHECKING

from relulab.core.door import opened

if TYPE_CHECKING:
    from relulab.subjects.bias.instruments.early_phase import neuron_sectors as neuron_sectors
    from relulab.subjects.bias.instruments.extremal import extremal_directions as extremal_directions
    from relulab.subjects.bias.instruments.limit import limit_distance as limit_distance
    from relulab.subjects.bias.instruments.max_margin import hard_margin as hard_margin
    from relulab.subjects.bias.instruments.max_margin import max_margin as max_margin
    from relulab.subjects.bias.instruments.sectors import extremal_sectors as extremal_sectors
    from relulab.subjects.bias.instruments.sectors import sector as sector
    from relulab.subjects.bias.instruments.sectors import sector_gain as sector_gain
    from relulab.subjects.bias.instruments.separability import separability as separability
    from relulab.subjects.bias.theorems.absorbing_sectors import absorbing_sectors as absorbing_sectors
    from relulab.subjects.bias.theorems.balanced_neurons import balanced_neurons as balanced_neurons
    from relulab.subjects.bias.theorems.extremal_gradient import extremal_gradient as extremal_gradient
    from relulab.subjects.bias.theorems.gain_near_a_direction import gain_near_a_direction as gain_near_a_direction
    from relulab.subjects.bias.theorems.kkt_point import kkt_point as kkt_point
    from relulab.subjects.bias.theorems.lasting_activations import lasting_activations as lasting_activations
    from relulab.subjects.bias.theorems.learned_function import learned_function as learned_function
    from relulab.subjects.bias.theorems.max_margin_neurons import max_margin_neurons as max_margin_neurons
    from relulab.subjects.bias.theorems.sliding_neurons import sliding_neurons as sliding_neurons
    from relulab.subjects.bias.theorems.surviving_neurons import surviving_neurons as surviving_neurons
    from relulab.subjects.bias.theorems.two_extremal_directions import (
        two_extremal_directions as two_extremal_directions,
    )
    from relulab.subjects.bias.tools.digit_net import digit_net as digit_net
    from relulab.subjects.bias.tools.digit_net import layer_features as layer_features
    from relulab.subjects.bias.tools.features import feature_separability as feature_separability
    from relulab.subjects.bias.tools.orthants import OppositeOrthants as OppositeOrthants
    from relulab.subjects.bias.tools.orthants import SpanningSupports as SpanningSupports
    from relulab.subjects.bias.tools.two_neurons import two_neurons as two_neurons
else:
    __getattr__, __dir__, __all__ = opened(__name__)
