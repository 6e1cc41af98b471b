"""Worker processes and the user's script."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from relulab.lab.study import Study


@contextmanager
def left_alone(study: Study) -> Iterator[None]:
    """Workers start without importing the user's script again, so that it needs no ``if __name__ == "__main__"``.

    A study that is defined in the script itself can only be found there: then the script needs the guard.
    """
    main = sys.modules["__main__"]
    hidden = {} if type(study).__module__ == "__main__" else {k: main.__dict__.get(k) for k in ("__file__", "__spec__")}
    main.__dict__.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        main.__dict__.update({k: v for k, v in hidden.items() if v is not None})
