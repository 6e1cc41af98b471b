"""What the folder of a run says about its study, so that the report need not import the study."""

from relulab.core.errors import UserError
from relulab.lab.comparison import Comparison
from relulab.lab.index import entry
from relulab.lab.live_code import MAIN, source_of
from relulab.lab.outside_code import outside
from relulab.lab.run.documents import write_json
from relulab.lab.run.store import SCHEMA, Run
from relulab.lab.study import Study


def describe(study: Study, run: Run, preset: str) -> None:
    """Write config.json: the study, its configuration, and how to run it again.

    Args:
        study: The study.
        run: Its run.
        preset: The preset after which the run is named.
    """
    about = {
        "schema": SCHEMA, "study": study.name, "title": study.title, "ids": list(study.ids), "source": study.source,
        "about": (type(study).__doc__ or "").strip(), "remarks": study.remarks, "preset": preset,
        "changes": study.differs(preset), "version": study.version, "config": study.model_dump(mode="json"),
        "paper": study.configured("paper").model_dump(mode="json"),
        "meanings": {name: field.description or "" for name, field in type(study).model_fields.items()},
        "symbols": study.symbols,
    }  # fmt: skip
    if study.own_code:
        about["file"] = study.own_code.shown  # what relulab run needs to find the study again
    elif lines := _lines(study, preset):
        about["lines"] = lines
    elif isinstance(study, Comparison):
        about["file"] = study.of.name
    write_json(run.path / "config.json", about)


def _lines(study: Study, preset: str) -> list[str]:
    """Return the lines of Python that run a study again; none if ``relulab run`` finds it by its name."""
    cls = study.of if isinstance(study, Comparison) else type(study)
    if not outside(cls.__module__) or _in_index(cls):
        return []
    top, changes = cls.__qualname__.partition(".")[0], study.differs(preset)
    importable = cls.__module__ != MAIN and "<" not in cls.__qualname__
    first = f"from {cls.__module__} import {top}" if importable else f"# {top} is defined in {source_of(cls)}"
    configured = ", ".join([repr(preset), *([repr(changes)] if changes else [])])
    name = cls.__qualname__ if importable else cls.__name__
    return ["import relulab as rl", first, f"rl.run_study({name}.configured({configured}), preset={preset!r})"]


def _in_index(study: type[Study]) -> bool:
    """Whether a study is in the index, because its package has registered a subject."""
    try:
        return entry(study.name, "study").module == study.__module__
    except UserError:
        return False
