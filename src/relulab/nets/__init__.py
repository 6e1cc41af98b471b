"""Networks: batches (lanes) of fully connected ReLU networks, their initialization, and hooks on any module."""
