"""Pictures of a run are copied into the report only if opening them does nothing."""

import pytest
from matplotlib.figure import Figure

from relulab.lab.show.figure import FORMATS, drawn, house_style
from relulab.lab.show.report.safe_pictures import objection

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
HOSTILE = [
    "<script>alert(1)</script>", '<g onclick="alert(1)"/>', '<g ONLOAD="alert(1)"/>',
    "<foreignObject><body/></foreignObject>", '<a xlink:href="javascript:alert(1)"><g/></a>',
    '<use xlink:href="other.svg#a"/>', '<image href="http://example.org/a.png"/>', '<image xlink:href="file:///etc/passwd"/>',
    '<image xlink:href="data:image/svg+xml;base64,PHN2Zz4="/>', '<style>@import url(a.css)</style>',
    "<style>*{background: url(http://example.org)}</style>", "<style>*{background: u\\72l(http://example.org)}</style>",
    '<g style="fill: url(http://example.org/a)"/>', '<path fill="url(http://example.org/a#b)"/>',
    '<animate attributeName="href" to="javascript:alert(1)"/>', '<set attributeName="onclick" to="alert(1)"/>',
    '<g xml:base="http://example.org/"/>', '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    '<iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(1)"/>', "<handler>alert(1)</handler>", "<g>",
]  # fmt: skip


@pytest.fixture(scope="module")
def figure() -> Figure:
    """A figure with everything that studies draw: curves, images, text, a legend, hatches."""
    with house_style():
        figure = Figure()
        ax = figure.subplots()
        ax.plot([1, 2], [3, 4], label="$x_i^2$ & <ρ>")
        ax.imshow([[0.0, 1.0]])
        ax.bar([1], [2], hatch="//")
        ax.legend()
    return figure


@pytest.mark.parametrize("ending", FORMATS)
def test_what_a_study_draws_is_shown(figure, ending):
    assert objection(f"a.{ending}", drawn(figure, ending)) is None


@pytest.mark.parametrize("content", HOSTILE)
def test_an_svg_that_could_act_is_refused(content):
    assert objection("a.svg", f"{HEAD}{content}</svg>".encode())
    assert objection("a.svg", f"{HEAD}<g/></svg>".encode()) is None


@pytest.mark.parametrize("words", ["<!DOCTYPE svg [<!ENTITY a 'b'>]>", '<?xml-stylesheet href="a.css"?>'])
def test_an_svg_with_declarations_is_refused(words):
    assert objection("a.svg", f"{words}{HEAD}</svg>".encode())


def test_other_files_must_be_what_their_names_say(figure):
    pdf = drawn(figure, "pdf")
    assert objection("a.pdf", pdf.replace(b"/Catalog", b"/Catalog /OpenAction << /S /JavaScript >>"))
    for name in ("a.png", "a.gif", "a.pdf"):
        assert objection(name, b"<html><script>alert(1)</script></html>")


@pytest.mark.parametrize(
    "inner",
    [
        "<style>/**/<g/>@import url(http://evil/x.css);</style>",
        '<style>a{content:"/*";background:url(http://evil/x);content:"*/"}</style>',
        "<style>a{background:image-set('http://evil/x.png' 1x)}</style>",
        "<style>a{background:u/**/rl(http://evil/x)}</style>",
        "<g style='fill: paint(x)'/>",
        "<g style='background: u\\72l(x)'/>",
    ],
)
def test_hidden_ways_to_load_something_are_found(inner):
    assert objection("a.svg", f'<svg xmlns="http://www.w3.org/2000/svg">{inner}</svg>'.encode())


@pytest.mark.parametrize(
    "inner",
    [b"/Open#41ction", b"<</S/J#61vaScript/J#53(app.alert(1))>>", b"/GoToE", b"/ImportData", b"/ObjStm", b"/AcroForm"],
)
def test_hidden_actions_in_a_pdf_are_found(inner):
    assert objection("a.pdf", b"%PDF-1.4 " + inner) and not objection("a.pdf", b"%PDF-1.4 /Page /Font")
