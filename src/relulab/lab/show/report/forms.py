"""What the report believes of a run's files: each is checked against its form before anything on a page rests on it."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    TypeAdapter,
    ValidationError,
)

from relulab.lab.run.store import SCHEMA

# A name becomes part of a path and of an address, so it has no separators and does not begin with a dot.
Name = Annotated[str, Field(pattern=r"^[^\W_][\w.×+-]*$", max_length=100)]
# With a dot in it, as an anchor on a page it cannot meet those of the pages themselves, which have none.
Id = Annotated[str, Field(pattern=r"^[^\W_]\w*\.[\w.×+-]+$", max_length=100)]
Word = Literal["HOLDS", "REFUTED", "INCONCLUSIVE", "NOT_APPLICABLE"]


class Unreadable(Exception):
    """Why something is not shown, for people."""


class Form(BaseModel):
    """Fields that a page needs; more may stand in the file."""

    model_config = ConfigDict(frozen=True, strict=True)


class Layout(Form):
    """What config.json of any version says of itself; the first ones did not."""

    schema_: Any = Field(SCHEMA, alias="schema")


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
    commit: str | None
    packages: dict[str, str | None]


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


class Check(Form):
    says: str
    measured: float | None
    relation: Literal["<=", ">=", "=="]
    bound: float | None
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
# Runs of the first version have names alone.
Figures = list[Annotated[Figure | Animation, BeforeValidator(lambda x: {"figure": x} if isinstance(x, str) else x)]]


def read(path: Path, form: Any) -> Any:
    """The document in a JSON file, in the given form; Unreadable says what is wrong with it."""
    try:
        return TypeAdapter(form).validate_json(path.read_bytes())
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is missing") from None
    except OSError as error:
        raise Unreadable(f"{path.name}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise Unreadable(": ".join([path.name, *map(str, first["loc"]), first["msg"]])) from None


def name(text: Any) -> str:
    """``text``, if it is a name."""
    try:
        return TypeAdapter(Name).validate_python(text)
    except ValidationError:
        raise Unreadable(f"{text!r} cannot be the name of a page or a file") from None
