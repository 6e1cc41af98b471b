r"""Convolutions with 3×3 filters by Winograd's algorithm F(4×4, 3×3), also for the gradients.

An output tile Y of 4×4 pixels depends on an input tile X of 6×6 pixels. With fixed matrices A, B and G,

    Y = Aᵀ [(G w Gᵀ) ⊙ (Bᵀ X B)] A,

which takes 36 products per tile and pair of channels instead of 144. For all tiles together, each of the 36 entries is
one matrix product, (tiles × channels)(channels × filters). The gradients are the transposes of these maps and take as
many products. In single precision, the relative error is about 4e-6 instead of 1e-6.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, fx, nn

from relulab.core.products import SMALLEST, is_large, products

FILTER, STEP, SIZE = 3, 4, 6  # pixels along a side of a filter, an output tile, and an input tile
# Bᵀ, G and Aᵀ evaluate polynomials at 0, 1, −1, 2, −2 and infinity.
B_T = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
       [0, 4, 0, -5, 0, 1]]  # fmt: skip
G = [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6],
     [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]]  # fmt: skip
A_T = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
CACHED = 2**18  # numbers that are transformed at once, so that they stay in the cache
FEWEST = 160  # channels and filters from which the products take longer than the transforms


class WinogradConv2d(nn.Conv2d):
    """``nn.Conv2d`` that uses Winograd's algorithm where it is faster.

    Arguments, parameters and state dict are those of ``nn.Conv2d``. The algorithm is used in single precision on a CPU
    for 3×3 filters without stride, dilation or groups, if there are many channels, and otherwise ``nn.Conv2d`` itself.
    Which of them is used depends on the shapes alone.

    >>> conv = WinogradConv2d(160, 160, 3)
    >>> x = torch.randn(16, 160, 14, 14)
    >>> bool(torch.allclose(conv(x), nn.Conv2d.forward(conv, x), atol=1e-4))
    True
    """

    def forward(self, input: Any) -> Any:  # a tensor, or a symbol of one while the network is traced
        if not self._is_faster(input):
            return super().forward(input)
        top, left = self._zeros()
        x = nn.functional.pad(input, (left, left, top, top)) if top or left else input
        return convolution(x, self.weight, self.bias)

    def _zeros(self) -> tuple[int, int]:
        top, left = self.padding
        return int(top), int(left)

    def _is_faster(self, x: Tensor | fx.Proxy) -> bool:
        # A network that is traced, compiled or exported contains no choice that depends on the number of images.
        if isinstance(x, fx.Proxy) or torch.compiler.is_compiling() or torch.compiler.is_exporting():
            return False
        plain = self.kernel_size == (FILTER, FILTER) and self.groups == 1 and {*self.stride, *self.dilation} == {1}
        if not plain or isinstance(self.padding, str) or self.padding_mode != "zeros" or x.dim() != 4:
            return False
        top, left = self._zeros()
        places = len(x) * _tiles(x.shape[2] + 2 * top) * _tiles(x.shape[3] + 2 * left)
        n, k = self.in_channels, self.out_channels
        single = x.dtype == self.weight.dtype == torch.float32 and x.device.type == "cpu"
        return single and x.shape[1] == n and min(n, k) >= FEWEST and places * n * k >= SMALLEST


def convolution(
    x: Float[Tensor, "N n height width"], w: Float[Tensor, "k n 3 3"], b: Float[Tensor, " k"] | None = None
) -> Float[Tensor, "N k height-2 width-2"]:
    """Return the convolution of images with 3×3 filters, without padding, by Winograd's algorithm.

    Args:
        x: The images, with at least 3 pixels along each side.
        w: The filters.
        b: The biases of the filters, or None.
    """
    return _Winograd.apply(x, w, b)


class _Winograd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        N, k, sides = len(x), len(w), x.shape[2:]
        rows, columns = (_tiles(side) for side in sides)
        tiles = _windows(_padded(x, rows * STEP + 2, columns * STEP + 2), rows, columns, SIZE)
        V = _mapped(_square(B_T, x), tiles)
        U = _mapped(_square(G, w), _filters(w))
        M = _products(V, U.mT)
        y = _empty(N, k, rows * STEP, columns * STEP, x)
        write = Tensor.copy_ if b is None else lambda tiles, pixels: torch.add(pixels, b, out=tiles)
        _fill(_windows(y, rows, columns, STEP), _square(A_T, x), M, write)
        ctx.save_for_backward(x, w, V, U)
        return y[:, :, : sides[0] - 2, : sides[1] - 2].contiguous(memory_format=torch.channels_last)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (g,), (x, w, V, U) = gradients, ctx.saved_tensors
        db = g.sum((0, 2, 3)) if ctx.needs_input_grad[2] else None
        if torch.is_grad_enabled():  # gradients of gradients
            return (
                nn.functional.conv_transpose2d(g, w) if ctx.needs_input_grad[0] else None,
                nn.grad.conv2d_weight(x, w.shape, g) if ctx.needs_input_grad[1] else None,
                db,
            )
        N, n, *sides = x.shape
        rows, columns = (_tiles(side) for side in sides)
        dM = _mapped(_square(A_T, g).T, _windows(_padded(g, rows * STEP, columns * STEP), rows, columns, STEP))
        dx = dw = None
        if ctx.needs_input_grad[1]:
            dw = torch.empty_like(w)
            _fill(_filters(dw), _square(G, w).T, _products(dM.mT, V), Tensor.copy_)
        if ctx.needs_input_grad[0]:
            dx = _empty(N, n, rows * STEP + 2, columns * STEP + 2, x).zero_()
            _fill(_windows(dx, rows, columns, SIZE), _square(B_T, x).T, _products(dM, U), _add_overlapping)
            dx = dx[:, :, : sides[0], : sides[1]]
        return dx, dw, db


def _tiles(side: int) -> int:
    """Return how many output tiles lie along a side of an image."""
    return max(0, -(-(side - FILTER + 1) // STEP))


def _square(matrix: Sequence[Sequence[float]], like: Tensor) -> Tensor:
    """Return the map X ↦ m X mᵀ on flattened X as one matrix."""
    m = torch.tensor(matrix, dtype=torch.float64)
    return torch.kron(m, m).to(like.dtype)


def _empty(N: int, n: int, height: int, width: int, like: Tensor) -> Tensor:
    return like.new_empty(N, height, width, n).permute(0, 3, 1, 2)


def _padded(x: Tensor, height: int, width: int) -> Tensor:
    """Return images with zeros below and on the right, up to a size, with the channels last in memory."""
    if x.shape[2:] != (height, width):
        x = nn.functional.pad(x, (0, width - x.shape[3], 0, height - x.shape[2]))
    return x.contiguous(memory_format=torch.channels_last)


def _windows(x: Tensor, rows: int, columns: int, size: int) -> Tensor:
    """Return a view of all tiles, (size, size, N, row, column, channel); tiles of input images overlap."""
    N, n = x.shape[:2]
    image, channel, down, right = x.stride()
    return x.as_strided(
        (size, size, N, rows, columns, n), (down, right, image, STEP * down, STEP * right, channel), x.storage_offset()
    )


def _filters(w: Tensor) -> Tensor:
    """Return a view of the filters in the shape of tiles, with one tile per filter."""
    return w.permute(2, 3, 0, 1)[:, :, :, None, None]


def _parts(tiles: Tensor) -> list[slice]:
    """Return parts of the images, or of the filters, that stay in the cache."""
    N = tiles.shape[2]
    count = max(1, CACHED * N // max(1, tiles.numel()))
    return [slice(i, min(i + count, N)) for i in range(0, N, count)]


def _mapped(matrix: Tensor, tiles: Tensor) -> Tensor:
    """Return the matrix times the pixels of every tile, (entry, tile, channel)."""
    N, rows, columns, n = tiles.shape[2:]
    mapped = tiles.new_empty(len(matrix), N, rows * columns * n)
    for part in _parts(tiles):
        torch.mm(matrix, tiles[:, :, part].reshape(matrix.shape[1], -1), out=mapped[:, part].flatten(1))
    return mapped.view(len(matrix), N * rows * columns, n)


def _fill(tiles: Tensor, matrix: Tensor, entries: list[Tensor], write: Callable[[Tensor, Tensor], Any]) -> None:
    """Write the matrix times the entries of every tile into the pixels of the tiles."""
    rows, columns, n = tiles.shape[3:]
    places = rows * columns
    for part in _parts(tiles):
        of_part = [entry[part.start * places : part.stop * places].flatten() for entry in entries]
        pixels = (matrix @ torch.stack(of_part)).view(*tiles.shape[:2], -1, rows, columns, n)
        write(tiles[:, :, part], pixels)


def _add_overlapping(tiles: Tensor, pixels: Tensor) -> None:
    # Pixel (i, j) of all tiles lies at different places, so that each of these additions is safe.
    for i in range(len(tiles)):
        for j in range(tiles.shape[1]):
            tiles[i, j] += pixels[i, j]


def _products(a: Tensor, b: Tensor) -> list[Tensor]:
    """Return the 36 matrix products."""
    large = is_large(a.shape[1], a.shape[2], b.shape[2], a)
    return list(products(a, b) if large else torch.bmm(a, b))
