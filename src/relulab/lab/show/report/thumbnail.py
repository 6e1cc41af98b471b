"""A small picture of a figure for the gallery."""

from io import BytesIO
from pathlib import Path

import numpy as np

from relulab.lab.run.documents import write_bytes
from relulab.lab.show.report.forms import Unreadable

SIZE = (480, 300)
LEAST, MOST = 0.4, 2.0  # of a figure's own size: below, its labels cannot be read; above, it is blurred
PIXELS = 50_000_000  # largest number of pixels of a figure


def thumbnail(figure: Path, target: Path) -> None:
    """Writes the part of a figure that fits into a card and has most drawn in it.

    Args:
        figure: A PNG file.
        target: The PNG file to write.
    """
    from PIL import Image

    try:
        with Image.open(figure, formats=["PNG"]) as picture:
            if picture.width * picture.height > PIXELS:
                raise Unreadable(
                    f"figures/{figure.name} has {picture.width} × {picture.height} pixels, too many to show"
                )
            paper = Image.new("RGB", picture.size, "white")
            paper.paste(picture, mask=picture.convert("RGBA").getchannel("A"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unreadable(f"figures/{figure.name} is not a PNG picture ({type(error).__name__})") from None
    width, height = SIZE
    scales = width / paper.width, height / paper.height
    scale = min(scales) if max(scales) < 1.3 * min(scales) else max(*scales, LEAST)
    scale = min(scale, MOST)
    small = paper.resize([max(1, round(scale * n)) for n in paper.size], Image.Resampling.LANCZOS)
    left = _fullest(np.asarray(small.convert("L"))[:height], width)
    card = Image.new("RGB", SIZE, "white")
    corner = max(0, (width - small.width) // 2), max(0, (height - small.height) // 2)
    card.paste(small.crop((left, 0, left + min(width, small.width), min(height, small.height))), corner)
    content = BytesIO()
    card.quantize(64).save(content, "PNG", optimize=True)
    write_bytes(target, content.getvalue())


def _fullest(gray: np.ndarray, width: int) -> int:
    """Where to begin so that a window of some width has the most ink, the leftmost of equals."""
    ink = np.concatenate([[0], np.cumsum((gray < 200).sum(0))])
    room = max(0, gray.shape[1] - width)
    starts = np.arange(0, room + 1, 8)
    return int(starts[np.argmax(ink[np.minimum(starts + width, len(ink) - 1)] - ink[starts])])
