"""Comparisons: a study at several values of a setting, seed by seed, as in ``--set slope=0,0.1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError, create_model

from relulab.core.errors import UserError
from relulab.lab.study import Study, Tick, Unit

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from relulab.lab.claim import Claim

NEVER = ("seeds", "root")  # settings are compared in the same seed, so these must not differ
REMARK = (
    "Settings are compared seed by seed: a seed has the same random streams in each of them. Each interval is for one "
    "statistic alone. If nothing differs, about one in twenty of them does not contain 0."
)


class Comparison(Study):
    """Base class of comparisons. A subclass is made for each study and its varied fields by ``comparison``."""

    of: ClassVar[type[Study]]
    varied: ClassVar[tuple[str, ...]]

    @classmethod
    def configured(cls, preset: str = "quick", changes: Mapping[str, Any] | None = None) -> Study:
        lists = {name: value for name, value in (changes or {}).items() if name in cls.varied}
        lengths = {name: len(values) for name, values in lists.items()}
        if len({*lengths.values()}) > 1:
            given = ", ".join(f"{number} of {name}" for name, number in lengths.items())
            raise UserError(
                f"{cls.of.name}: expected equally many values of each setting, got {given}: the first values are "
                "compared with the second ones, and so on"
            )
        rows: list[dict[str, Any]] = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        studies = [cls.of.configured(preset, {**(changes or {}), **row}) for row in rows or [{}]]
        settings = [study.model_dump(mode="json") for study in studies]
        values = {name: [setting[name] for setting in settings] for name in cls.varied}
        if len({str(setting) for setting in settings}) < len(settings):
            raise UserError(f"{cls.of.name}: expected different settings, got the same one twice: remove one of them")
        return cls.model_validate({**settings[0], **values})

    @property
    def settings(self) -> dict[str, Study]:
        """The study with each of the settings, by a label such as "slope=0.1"."""
        fields = self.model_dump()
        rows = [dict(zip(self.varied, row, strict=True)) for row in zip(*(fields[f] for f in self.varied), strict=True)]
        return {
            ", ".join(f"{name}={_plain(value)}" for name, value in row.items()): self.of(**{**fields, **row})
            for row in rows
        }

    def nearest_preset(self) -> str:
        common = {name: value for name, value in self.model_dump().items() if name not in self.varied}
        return self.of(**common).nearest_preset()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the first setting, which knows its own code, and what differs from it."""
        return _restored, (next(iter(self.settings.values())), self.varied, self.model_dump())

    def units(self) -> list[Unit]:
        return [
            Unit(f"setting{k}-{unit.name}", {"setting": label, "unit": unit}, unit.seed_steps, unit.flops)
            for k, (label, study) in enumerate(self.settings.items(), 1)
            for unit in study.units()
        ]

    def measure(self, unit: Unit, tick: Tick) -> xr.Dataset:
        label = unit.values["setting"]
        data = self.settings[label].measure(unit.values["unit"], tick)
        return data.assign_coords(setting=label).expand_dims("setting")

    def figures(self, result: xr.Dataset) -> dict[str, Figure]:
        from relulab.lab.show.compared import figures

        return figures(self, result)

    def claims(self, result: xr.Dataset) -> list[Claim]:
        from relulab.lab.compared_claims import claims

        return claims(self, result)

    def ready(self) -> None:
        for study in self.settings.values():
            study.ready()


def compared(study: type[Study], changes: Mapping[str, Any]) -> type[Study]:
    """Return the study, or the comparison of it if a field that takes one value is given a list of several.

    Args:
        study: The study.
        changes: Values of fields.
    """
    if issubclass(study, Comparison):
        return study
    varied = tuple(
        name
        for name, value in changes.items()
        if name in study.model_fields and _is_list(value) and not _takes_list(study, name, value)
    )
    for name in varied:
        if name in NEVER:
            raise UserError(
                f"{study.name}: expected one value of {name}, got {len(changes[name])}: settings are compared in the "
                "same seeds, so choose another field to compare"
            )
    return comparison(study, varied) if varied else study


@cache
def comparison(of: type[Study], varied: tuple[str, ...]) -> type[Comparison]:
    """Return the comparison of a study at several values of some fields.

    Args:
        of: The study.
        varied: Names of the fields.
    """
    fields: dict[str, Any] = {
        name: (Any, Field(field.get_default(call_default_factory=True), description=field.description))
        for name, field in of.model_fields.items()
        if name != "root"
    }
    made = create_model(f"{of.__name__}Compared", __base__=Comparison, __module__=of.__module__, **fields)
    made.of, made.varied, made.presets, made.version = of, varied, of.presets, of.version
    words = " and ".join(varied)
    made.name, made.title = f"{of.name}-by-{'-'.join(varied)}", f"{of.title}: comparison of {words}"
    made.ids, made.source = (f"comparison.{made.name}",), of.source
    made.needs, made.remarks = of.needs, f"{of.remarks} {REMARK}".strip()
    made.captions = {
        "differences": f"Statistics of the study at several values of {words}. Gray lines are seeds; marks are means "
        "with 95% intervals. Below each panel: the mean difference in the same seed, with its 95% interval.",
        "courses": f"Top: means over the seeds at several values of {words}, with 95% intervals as bands. Bottom: "
        "difference from the first setting in the same seed, with 95% intervals.",
        **of.captions,
    }
    made.__doc__ = f"What changes with {words}?\n\n{of.__doc__ or ''}"
    return made


def _restored(first: Study, varied: tuple[str, ...], values: dict[str, Any]) -> Comparison:
    return comparison(type(first), varied)(**values)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) > 1


def _takes_list(study: type[Study], name: str, value: Any) -> bool:
    """Whether a field takes a list, so that the list is one value: its default is one, or the list is valid."""
    field = study.model_fields[name]
    if isinstance(field.default, tuple | list):
        return True
    try:
        TypeAdapter(field.rebuild_annotation()).validate_python(value)
    except (ValidationError, TypeError):
        return False
    return True


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
