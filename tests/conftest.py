"""Shapes and types are checked in every call of relulab that the tests make; an int may stand where a float is due."""

from jaxtyping import install_import_hook

install_import_hook("relulab", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")
