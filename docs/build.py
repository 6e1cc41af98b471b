"""Builds the API reference of relulab's public names, pages that need no network: python docs/build.py [FOLDER]."""

import sys
from pathlib import Path


def build(folder: Path) -> Path:
    """Writes the reference below ``folder``: a page for relulab and one for each subject; returns the first."""
    import pdoc

    import relulab
    from relulab.lab.index import subjects

    doors = [relulab, *(getattr(relulab, name) for name in subjects())]
    for door in doors:
        for name in dir(door):  # the doors are lazy, and pdoc looks only at what is there
            setattr(door, name, getattr(door, name))
    pdoc.render.configure(docformat="google", show_source=False, footer_text="relulab: what ReLU networks learn")
    pdoc.pdoc(*(door.__name__ for door in doors), output_directory=folder)
    return folder / "relulab.html"


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "site")))
