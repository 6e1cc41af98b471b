"""The expected form of the files of a run; the report checks them before it uses them."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    TypeAdapter,
    ValidationError,
)

from relulab.core.files import read_inside
from relulab.lab.run.documents import DOCUMENT

# Names become parts of paths and URLs: no separators, no leading dot.
Name = Annotated[str, Field(pattern=r"^[^\W_][\w.×+-]*$", max_length=100)]
# Ids contain a dot; the anchors of the pages themselves do not, so they cannot collide.
Id = Annotated[str, Field(pattern=r"^[^\W_]\w*\.[\w.×+-]+$", max_length=100)]
Word = Literal["HOLDS", "REFUTED", "INCONCLUSIVE", "NOT_APPLICABLE", "NOT_JUDGED"]


class Unreadable(Exception):
    """Why something cannot be shown, in words."""


class Form(BaseModel):
    """The fields that a page needs; the file may contain more."""

    model_config = ConfigDict(frozen=True, strict=True, str_max_length=20_000)


class About(Form):
    study: Name
    title: str
    ids: list[str]
    source: str
    about: str
    remarks: str
    preset: Name
    changes: dict[str, Any]
    config: dict[str, Any]
    paper: dict[str, Any]
    meanings: dict[str, str] = {}
    symbols: dict[str, str] = {}
    file: str | None = None
    lines: list[str] = []


class Status(Form):
    state: str
    units: int
    seconds: Annotated[NonNegativeFloat, Field(allow_inf_nan=False)]
    workers: int
    seed_steps: int
    updated: str


class Machine(Form):
    python: str
    platform: str
    processor: str
    cores: int
    device: str = "cpu"
    commit: str | None
    packages: dict[str, str | None]
    units: int = 0
    others: list["Machine"] = []


class Reading(Form):
    name: str
    measured: float | None
    low: float | None
    high: float | None
    verdict: Word


class Claim(Form):
    id: Id
    says: str
    measured: float | None
    low: float | None
    high: float | None
    criterion: str
    verdict: Word
    note: str
    statistic: str = ""
    check: bool = False
    control: Reading | None = None


class Check(Form):
    says: str
    measured: int | float | None
    relation: Literal["<=", ">=", "=="]
    bound: int | float | None
    error: float | None
    holds: bool | None
    detail: str = ""


class Demonstration(Form):
    name: str
    expected: Word
    verdict: Word
    conditions: list[Check]
    conclusion: list[Check]


class Theorem(Form):
    theorem: Id
    title: str
    statement: str
    source: str
    demonstrations: list[Demonstration]
    symbols: dict[str, str] = {}
    in_print: str = ""
    on_files: list[str] = []


class Figure(Form):
    figure: Name
    caption: str = ""


class Animation(Form):
    animation: Name
    words: str
    caption: str = ""


def _once(rows: list[Claim]) -> list[Claim]:
    if len({row.id for row in rows}) < len(rows):
        raise ValueError("an id appears twice")
    return rows


Claims = Annotated[list[Claim], AfterValidator(_once)]
Figures = list[Figure | Animation]


_adapter = cache(TypeAdapter)  # making one takes longer than reading a file


def read(path: Path, form: Any) -> Any:
    """Read a JSON file and check its form; raises Unreadable with the reason."""
    try:
        return _adapter(form).validate_json(read_inside(path.parent, path.name, DOCUMENT))
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is missing") from None
    except OSError as error:
        raise Unreadable(f"{path.name}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise Unreadable(": ".join([path.name, *map(str, first["loc"]), first["msg"]])) from None


def name(text: Any) -> str:
    """Return ``text`` if it is a valid name, else raise Unreadable."""
    try:
        return _adapter(Name).validate_python(text)
    except ValidationError:
        raise Unreadable(f"{text!r} cannot be the name of a page or a file") from None
