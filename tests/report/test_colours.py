"""The lines of a chart can be told apart, also by those who do not see all colours."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from banditplex.report.page import STYLE

SEEN = {  # Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB
    "all colours": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # sRGB, D65
TEXT = files("banditplex.report").joinpath(STYLE).read_text(encoding="utf-8")
GROUNDS = re.findall(r"--ground: (#[0-9a-f]{6})", TEXT)
SERIES = [re.findall(r"--series-\d: (#[0-9a-f]{6})", line) for line in TEXT.splitlines()]
THEMES = dict(zip(("light", "dark"), [each for each in SERIES if len(each) == 6], strict=True))


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(values):
    """CIE L*a*b*; a distance of 2.3 can just be noticed."""
    shares = TO_XYZ @ np.clip(values, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_distances_of_colours():
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.01)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("seen", SEEN)
def test_lines_are_told_apart(theme, seen):
    places = [lab(np.asarray(SEEN[seen]) @ linear(colour)) for colour in THEMES[theme]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > 12


@pytest.mark.parametrize(("theme", "ground"), [*zip(("light", "dark"), GROUNDS, strict=True)])
def test_lines_stand_out_from_the_ground(theme, ground):
    """By 3 : 1, as WCAG 2.1 asks of graphics."""
    light = [TO_XYZ[1] @ linear(colour) + 0.05 for colour in (ground, *THEMES[theme])]
    assert min(max(each, light[0]) / min(each, light[0]) for each in light[1:]) > 3
