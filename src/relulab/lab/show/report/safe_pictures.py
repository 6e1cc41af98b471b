"""Checks of the pictures of a run before they are copied into a report, where a browser opens them.

Runs may come from somebody else. An SVG can contain scripts and load other files, so only what Matplotlib draws is
allowed in it. A PDF with actions is refused, and other files must be what their names say.
"""

import re
from xml.etree import ElementTree
from xml.parsers import expat

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
ELEMENTS = {
    "circle", "clipPath", "defs", "desc", "ellipse", "feGaussianBlur", "filter", "g", "image", "line",
    "linearGradient", "marker", "mask", "metadata", "path", "pattern", "polygon", "polyline", "radialGradient", "rect",
    "stop", "style", "svg", "symbol", "text", "textPath", "title", "tspan", "use",
}  # fmt: skip
DESCRIPTION = ("{http://creativecommons.org/ns#}", "{http://purl.org/dc/elements/1.1/}",
               "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}")  # fmt: skip
INSIDE = re.compile(r"#|data:image/png;base64,[A-Za-z0-9+/=\s]*$")  # where a link in a picture may lead
ACTIVE = re.compile(
    rb"/(JavaScript|JS|Launch|OpenAction|AA|EmbeddedFiles?|RichMedia|XFA|SubmitForm|ImportData|ResetForm|GoToR|GoToE|URI|"
    rb"Rendition|Movie|Sound|AcroForm|ObjStm|Encrypt)\b"
)
FUNCTIONS = {"rgb", "rgba", "hsl", "matrix", "translate", "scale", "rotate", "skewx", "skewy"}  # that load nothing
STARTS = {"png": b"\x89PNG\r\n\x1a\n", "gif": b"GIF8", "pdf": b"%PDF-"}


def objection(file: str, content: bytes) -> str | None:
    """Return why a picture must not be copied, in words; None if it may be.

    Args:
        file: Its name, which ends in .svg, .png, .gif or .pdf.
        content: Its bytes.

    >>> objection("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    'it contains the element script'
    """
    ending = file.rpartition(".")[2]
    if ending == "svg":
        return _objection_to_svg(content)
    if not content.startswith(STARTS[ending]):
        return f"it is not a {ending.upper()} file"
    if ending == "pdf":
        # A name in a PDF may be written with the codes of its letters, such as /J#53 for /JS.
        decoded = re.sub(rb"#([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), content)
        if found := ACTIVE.search(content) or ACTIVE.search(decoded):
            return f"it contains {found[1].decode()}, which can act when it is opened"
    return None


def _objection_to_svg(content: bytes) -> str | None:
    try:
        declared = _declarations(content)
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, expat.ExpatError, ValueError, LookupError) as error:
        return f"it is not a valid SVG file ({error})"
    if declared:
        return f"it contains {declared}"
    for element in root.iter():
        if not isinstance(element.tag, str):
            continue
        name = element.tag.removeprefix(SVG)
        if name not in ELEMENTS and not element.tag.startswith(DESCRIPTION):
            return f"it contains the element {name}"
        if name == "style" and (len(element) or not _is_plain_style(element.text or "")):
            return "it contains a style that loads something"
        if element.tag.startswith(DESCRIPTION):  # names of who made it, which no browser acts on
            continue
        for attribute, value in element.attrib.items():
            if (words := _objection_to_attribute(name, attribute, value)) is not None:
                return words
    return None


def _objection_to_attribute(element: str, name: str, value: str) -> str | None:
    if name.lower().startswith("on"):
        return f"it contains the attribute {name}"
    if name.removeprefix(XLINK) == "href":
        return None if INSIDE.match(value.strip()) else f"its element {element} refers to another file"
    if name.rpartition("}")[2] == "base" or not _is_plain_style(value):
        return f"the attribute {name} of its element {element} loads something"
    return None


def _is_plain_style(text: str) -> bool:
    """Whether a style loads nothing: url() may only name a part of the picture, and other functions must be known.

    Comments and escaped letters could hide something, and Matplotlib writes neither.
    """
    if re.search(r"/\*|//|[\\@\"]|javascript:", text, re.IGNORECASE):
        return False
    calls = re.findall(r"([\w-]*)\s*\(([^)]*)", text)
    return all(
        inner.strip().startswith("#") if name.lower() == "url" else name.lower() in FUNCTIONS for name, inner in calls
    )


def _declarations(content: bytes) -> str | None:
    """Return what an XML file declares that a picture does not need: entities or processing instructions."""
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = lambda *_: found.append("an entity")
    parser.ProcessingInstructionHandler = lambda *_: found.append("a processing instruction")
    parser.Parse(content, True)
    return found[0] if found else None
