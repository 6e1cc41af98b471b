"""Gradient flow, followed on the logarithm of the loss."""

from relulab.train.flow.follow import Clock
from relulab.train.flow.gradient_flow import gradient_flow

__all__ = ["Clock", "gradient_flow"]
