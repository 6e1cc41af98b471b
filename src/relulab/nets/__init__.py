"""Networks: lanes of fully connected ReLU networks, their starts, and hooks on a user's own module."""
