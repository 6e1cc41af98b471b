"""Builds the API reference of relulab's public names, one page that needs no network: python docs/build.py [FOLDER]."""

import sys
from pathlib import Path


def build(folder: Path) -> Path:
    """Writes the reference below ``folder``, given as the names stand in the public door; returns its page."""
    import pdoc

    import relulab

    for name in relulab.__all__:  # the door is lazy, and pdoc looks only at what is there
        setattr(relulab, name, getattr(relulab, name))
    pdoc.render.configure(docformat="markdown", show_source=False, footer_text="relulab: what ReLU networks learn")
    pdoc.pdoc("relulab", output_directory=folder)
    return folder / "relulab.html"


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "site")))
