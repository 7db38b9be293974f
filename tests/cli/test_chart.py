"""The picture: well-formed SVG that shows every set and way where its figures are."""

from xml.etree import ElementTree as ET

import pytest

from app.cli.chart import PANELS, WIDTH, across, picture
from app.domain.benchmark import ABLATIONS, MEASURES

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ET.Element:
    """Well-formed, or it raises."""
    return ET.fromstring(svg)  # noqa: S314 - our own


def result(name: str, mean: float) -> dict[str, object]:
    """A set whose every figure is `mean`, give or take a tenth."""
    figures = {
        "metrics": dict.fromkeys(MEASURES, mean),
        "intervals": {each: [mean - 0.1, mean + 0.1] for each in MEASURES},
    }
    return {"set": name, "source": "corpus", "queries": 5, "ablations": dict.fromkeys(ABLATIONS, figures)}


def test_every_set_and_way_has_a_dot_in_each_panel() -> None:
    """At its mean, on the bar of its interval; names are escaped."""
    root = parsed(picture([result("birds & <bees>", 0.5), result("ants", 0.8)]))

    assert tuple(PANELS) == MEASURES
    dots = root.findall(f"{SVG}circle")
    assert len(dots) == 2 * len(ABLATIONS) * len(PANELS)
    wanted = {f"{across(mean, panel):.1f}" for mean in (0.5, 0.8) for panel in PANELS.values()}
    assert {dot.get("cx") for dot in dots} == wanted
    said = [text.text for text in root.findall(f"{SVG}text")]
    assert {"birds & <bees>", "ants", *ABLATIONS, "0.500", "0.800"} <= set(said)


@pytest.mark.parametrize("mean", [0.0, 1.0], ids=["none", "all"])
def test_figures_at_the_ends_stay_on_the_page(mean: float) -> None:
    """No text begins outside of it."""
    root = parsed(picture([result("birds", min(0.9, max(0.1, mean)))]))

    assert all(0 < float(text.get("x", "-1")) < WIDTH for text in root.findall(f"{SVG}text"))


def test_a_picture_of_nothing_is_a_picture() -> None:
    """An empty one."""
    assert parsed(picture([])).tag == f"{SVG}svg"
