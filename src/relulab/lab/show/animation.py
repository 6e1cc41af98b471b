"""Animations: figures that move, as GIF files that are the same, byte by byte, for the same result."""

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
COLORS = 255  # of 256: Pillow keeps one for pixels that stay as they were
WHITE = 248  # and above: not told from white by eye
SAMPLES = 6  # frames from which the colors are chosen


@dataclass(frozen=True)
class Animation:
    """``draw(i)`` brings ``figure`` to its frame i, 0 … frames − 1, whatever it showed before.

    ``words`` say what moves, for those who cannot see it. The frames pass in ``seconds``; the last one stays for
    ``rest`` more and is also the still picture. Then it starts again.
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
    """Draws every frame. All share one set of colors, chosen from some of them, so that none flickers."""
    if animation.frames < 1:
        raise UserError(f"an animation of {animation.frames} frames: at least one")
    last = animation.frames - 1
    with house_style():
        canvas = FigureCanvasAgg(animation.figure)
        animation.figure.set_dpi(DPI)
        animation.draw(last)
        canvas.draw()
        animation.figure.set_layout_engine("none")  # as it is laid out now: panels must not move with their contents
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
    """A palette that serves all of some frames, as an image that carries it."""
    width, height = frames[0].size
    strip = Image.new("RGB", (width, height * len(frames)))
    for i, frame in enumerate(frames):
        strip.paste(frame, (0, height * i))
    found = strip.quantize(COLORS, method=Image.Quantize.MEDIANCUT, kmeans=1)
    palette = np.array(found.getpalette(), dtype=np.uint8).reshape(-1, 3)
    palette[palette.min(1) >= WHITE] = 255  # means over many shades leave the paper a little gray
    found.putpalette(palette.tobytes())
    return found
