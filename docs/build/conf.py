"""The configuration of Sphinx. Formulas are Unicode text, in pages and in docstrings, and are set as MathML."""

from docutils.nodes import SkipNode
from marked_formulas import marked_docstring

from relulab.lab.show.formula import mathml

project = "relulab"
copyright = "the relulab authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "attrs_inline", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
html_theme = "furo"
html_title = "relulab"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"


def inline(translator, node):
    translator.body.append(mathml(node.astext()))
    raise SkipNode


def block(translator, node):
    lines = [line for line in node.astext().splitlines() if line.strip()]
    translator.body.append("".join(f'<div class="formula">{mathml(line, display=True)}</div>' for line in lines))
    raise SkipNode


def mark(app, what, name, obj, options, lines):
    lines[:] = marked_docstring("\n".join(lines)).split("\n")


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("autodoc-process-docstring", mark, priority=100)  # before napoleon, which turns sections into fields
