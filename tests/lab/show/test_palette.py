"""The colors of figures can be told apart, by the color-blind too."""

from itertools import combinations

import numpy as np
import pytest

from relulab.lab.show import figure

HUES = ("RED", "GOLD", "TEAL", "SKY", "BLUE", "PURPLE")
# How people without one kind of cone see linear RGB (Machado, Oliveira, Fernandes 2009).
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color: str, sight) -> np.ndarray:
    """CIE Lab coordinates, in which distances are as people see them: 2.3 is just noticeable."""
    rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(sight) @ linear, 0, 1) / XYZ.sum(1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def least_distance(colors, sight) -> float:
    return min(float(np.linalg.norm(lab(a, sight) - lab(b, sight))) for a, b in combinations(colors, 2))


@pytest.mark.parametrize("sight", SIGHT)
def test_hues_can_be_told_apart(sight):
    assert least_distance([getattr(figure, name) for name in HUES], SIGHT[sight]) > 15


def test_red_and_green_would_be_noticed():
    assert least_distance(["#d1495b", "#2a9d5c"], SIGHT["all cones"]) > 50
    assert least_distance(["#d1495b", "#2a9d5c"], SIGHT["deuteranopia"]) < 15


def test_no_other_hue_is_used():
    colors = {name for name in dir(figure) if name.isupper() and str(getattr(figure, name)).startswith("#")}
    grays = {name for name in colors if len({getattr(figure, name)[i : i + 2] for i in (1, 3, 5)}) == 1}
    assert colors - grays == set(HUES)
