"""Whether an entry can be used on the command line. An entry that cannot be is left out, with a sentence."""

from collections.abc import Iterable

from relulab.core.errors import UserError
from relulab.lab.index.entry import Entry, Option
from relulab.lab.well_formed import check_attributes

# The parameters and options that the commands have anyway. Tests compare them with the command line.
COMMANDS = (
    "list", "show", "run", "reproduce", "report", "check", "measure", "runs", "watch", "clean", "cite", "env",
)  # fmt: skip
MEASURE_NAMES = ("out", "figure", "json", "json_", "help")
CHECK_NAMES = ("id", "set", "set_", "runs", "json", "json_", "help")


def usable(entry: Entry) -> Entry:
    """Return the entry; raise a UserError if a name, id, text or option of it cannot be used."""
    attributes = {name: getattr(entry, name) for name in ("name", "ids", "title", "source", "about")}
    check_attributes("its", attributes | dict(entry.details))
    if entry.kind == "measurement":
        if entry.details["verb"] and entry.name in COMMANDS:
            raise UserError(f"relulab {entry.name} is a command already: choose another name")
        _check_options(entry.details["options"], MEASURE_NAMES, "measure")
    for on in entry.details.get("on", ()):
        check_attributes("its input's", {"title": on["title"]})
        _check_options(on["options"], CHECK_NAMES, "check")
    return entry


def _check_options(options: Iterable[Option], taken: tuple[str, ...], command: str) -> None:
    """Raise a UserError if an option has the name of an option that the command has anyway, or of another one."""
    names = {option.name: option for option in options}
    for name in names:
        if name in taken:
            raise UserError(f"relulab {command} has an option or argument {name!r} of its own: rename the field")
        if name.startswith("no_") and name[3:] in names and names[name[3:]].flag:
            raise UserError(f"the fields {name[3:]} and {name} both have the option --{name.replace('_', '-')}: "
                            "rename one of them")  # fmt: skip
