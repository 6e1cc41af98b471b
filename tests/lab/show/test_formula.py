"""Formulas as MathML: known ones, and that nothing is lost of any text."""

import re
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.lab.show.formula import mathml

KNOWN = {
    "v*_j": "<msubsup><mi>v</mi><mi>j</mi><mo>∗</mo></msubsup>",
    "ρ_{jj'}": "<msub><mi>ρ</mi><mrow><mi>j</mi><mrow><mi>j</mi>′</mrow></mrow></msub>",
    "h_k'": "<msub><mi>h</mi><mrow><mi>k</mi>′</mrow></msub>",
    "ε'": "<mrow><mi>ε</mi>′</mrow>",
    "x_iᵀ": "<msubsup><mi>x</mi><mi>i</mi><mo>⊤</mo></msubsup>",
    "w̃": '<mover accent="true"><mi>w</mi><mo>~</mo></mover>',
    "ŵ": '<mover accent="true"><mi>w</mi><mo>^</mo></mover>',
    "R²⁰": "<msup><mi>R</mi><mn>20</mn></msup>",
    "e^{−t/2}": "<msup><mi>e</mi><mrow><mo>−</mo><mi>t</mi><mo>/</mo><mn>2</mn></mrow></msup>",
    "e^(−t)": "<msup><mi>e</mi><mrow><mo>−</mo><mi>t</mi></mrow></msup>",
    "√n": "<msqrt><mi>n</mi></msqrt>",
    "√(2π)": "<msqrt><mn>2</mn><mi>π</mi></msqrt>",
    "½": "<mfrac><mn>1</mn><mn>2</mn></mfrac>",
    "1e-06": "<msup><mn>10</mn><mrow><mo>−</mo><mn>6</mn></mrow></msup>",
    "a <= b": "<mi>a</mi><mo>≤</mo><mi>b</mi>",
    "a < b": "<mi>a</mi><mo>&lt;</mo><mi>b</mi>",
    "a ≠ 0": "<mi>a</mi><mo>≠</mo><mn>0</mn>",
    "log n": '<mi>log</mi><mspace width="0.17em"/><mi>n</mi>',
    "log(n)": "<mi>log</mi><mrow>(<mi>n</mi>)</mrow>",
    "‖w‖": "<mrow>‖<mi>w</mi>‖</mrow>",
    "[0, π)": "<mrow>[<mn>0</mn><mo>,</mo><mi>π</mi>)</mrow>",
    "a * b": "<mi>a</mi><mo>∗</mo><mi>b</mi>",
}


@pytest.mark.parametrize("formula", KNOWN)
def test_known_formulas(formula):
    fences = re.sub(r'<mo (?:form="\w+" stretchy="false"|lspace="0" rspace="0")>(.)</mo>', r"\1", mathml(formula))
    assert fences == f"<math>{KNOWN[formula]}</math>"


def test_limits_of_a_sum_on_a_line_of_its_own():
    assert "<munderover>" in mathml("Σ_{i=1}^n x_i", display=True) and "<msubsup>" in mathml("Σ_{i=1}^n x_i")
    assert mathml("x", display=True) == '<math display="block"><mi>x</mi></math>'


LETTERS = st.sampled_from([*"xywαρΣ12+−=<()[]‖|√_^*'{}²ᵀ₊ ,/½", "log", "max", "w̃"])


@given(st.lists(LETTERS, max_size=12).map("".join))
@settings(deadline=None, max_examples=300)
def test_every_text_is_well_formed_and_keeps_its_letters(text):
    element = ElementTree.fromstring(mathml(text))
    kept = "".join(element.itertext())
    names = re.findall(r"[xywαρ]|log|max", unicodedata.normalize("NFD", text))
    assert sorted(re.findall(r"[xywαρ]|log|max", kept)) == sorted(names)  # MathML has subscripts first: x^a_b is x_b^a
    for script in element.iter():
        wanted = {"msub": 2, "msup": 2, "msubsup": 3, "mover": 2, "mfrac": 2}.get(script.tag)
        assert wanted is None or len(script) == wanted, text
