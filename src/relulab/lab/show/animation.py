"""Animations as GIF files; the same result gives the same bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from relulab.core.errors import UserError
from relulab.lab.show.figure import house_style

DPI = 120
COLORS = 255  # of 256: Pillow keeps one for unchanged pixels
WHITE = 248  # values from here on look white
SAMPLES = 6  # number of frames from which the colors are chosen


@dataclass(frozen=True)
class Animation:
    """An animation of ``figure``: ``draw(i)`` draws frame i, from 0 to frames − 1, in any order.

    ``words`` describe the animation for readers who cannot see it. It plays for ``seconds``, shows the last frame for
    another ``rest`` seconds, and starts again. The last frame is also the still image.
    """

    figure: Figure
    draw: Callable[[int], None]
    frames: int
    words: str
    seconds: float = 8.0
    rest: float = 3.0


class Moving(NamedTuple):
    """The files of an animation."""

    gif: bytes
    still: bytes


def animated(animation: Animation) -> Moving:
    """Draw all frames with one set of colors, so that nothing flickers.

    Args:
        animation: The animation.
    """
    if animation.frames < 1:
        raise UserError(f"expected an animation with at least one frame, got {animation.frames}: add frames")
    last = animation.frames - 1
    with house_style():
        canvas = FigureCanvasAgg(animation.figure)
        animation.figure.set_dpi(DPI)
        animation.draw(last)
        canvas.draw()
        animation.figure.set_layout_engine("none")  # keep the layout: panels must not move with their contents
        still = _frame(animation, canvas, last)
        chosen = sorted({round(last * i / SAMPLES) for i in range(SAMPLES + 1)})
        colors = _colors([_frame(animation, canvas, i) for i in chosen])
        frames = [
            _frame(animation, canvas, i).quantize(palette=colors, dither=Image.Dither.NONE)
            for i in range(animation.frames)
        ]
    each = round(1000 * animation.seconds / animation.frames)
    times = [each] * last + [each + round(1000 * animation.rest)]
    gif, png = BytesIO(), BytesIO()
    frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0, disposal=1)
    still.save(png, "PNG", optimize=True)
    return Moving(gif.getvalue(), png.getvalue())


def _frame(animation: Animation, canvas: FigureCanvasAgg, i: int) -> Image.Image:
    animation.draw(i)
    canvas.draw()
    return Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")


def _colors(frames: list[Image.Image]) -> Image.Image:
    """A palette for all frames, as an image that carries it."""
    width, height = frames[0].size
    strip = Image.new("RGB", (width, height * len(frames)))
    for i, frame in enumerate(frames):
        strip.paste(frame, (0, height * i))
    image = strip.quantize(COLORS, method=Image.Quantize.MEDIANCUT, kmeans=1)
    palette = np.array(image.getpalette(), dtype=np.uint8).reshape(-1, 3)
    palette[palette.min(1) >= WHITE] = 255  # averaging leaves the background slightly gray
    image.putpalette(palette.tobytes())
    return image
