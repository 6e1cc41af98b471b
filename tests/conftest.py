"""Shapes and types are checked in every call of relulab that the tests make; an int may stand where a float is due."""

import torch
from jaxtyping import install_import_hook

install_import_hook("relulab", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

# A process a core is how the tests run; a second thread would only wait, for minutes where the other core is busy.
torch.set_num_threads(1)
