"""How long the presets of a study will take on this machine."""

from relulab.core.errors import UserError
from relulab.lab.catalog import find_study
from relulab.lab.run.environment import cores
from relulab.lab.run.job import rough_seconds
from relulab.lab.run.speed import product_rate
from relulab.lab.show.words import span


def costs(name: str) -> dict[str, float | None]:
    """Estimate the seconds that each preset of a study takes with one process per core.

    Args:
        name: Name or id of the study.

    Returns:
        The seconds by preset; None if the units depend on data that are missing.
    """
    study, rate = find_study(name), product_rate()
    found: dict[str, float | None] = {}
    for preset in {**study.presets, "paper": {}}:
        try:
            units = study.configured(preset).units()
            found[preset] = rough_seconds(units, min(cores(), max(1, len(units))), lambda: rate)
        except UserError:
            found[preset] = None
    return found


def in_words(seconds: dict[str, float | None]) -> str:
    """Say how long presets take: ``smoke 8 s, quick 50 s, paper 2 h on 2 cores of this machine``.

    Args:
        seconds: The seconds by preset.
    """
    known = [f"{preset} about {span(s)}" for preset, s in seconds.items() if s is not None]
    missing = [preset for preset, s in seconds.items() if s is None]
    parts = [*known, *([f"{', '.join(missing)} not known without the data"] if missing else [])]
    return f"{', '.join(parts)} on {cores()} cores of this machine"
