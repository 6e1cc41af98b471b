"""Formulas are found in running text, and only they are."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab.lab.show.typeset import typeset, with_formulas

TEXTS = [
    "If «p(θ)» is at most «(1 − 2θ/π)^κ» for all «θ», the risk is at most «(1 + (log n)^κ)/n^κ».",
    "Gradient flow keeps «‖w_j‖ = |a_j|» and the sign of «a_j» for every neuron.",
    "a neuron with «a_j > 0», or a share of «W»",
    "The student's own «n» points in SS.F7 (eq. 8) at 10× width, 95% interval, i.e. all",
    "«g_l = D_l [A_l f*_l − B_l f_l]», «A_l = V_lᵀ V*_l»: the teacher's layer «l»",
    "«W/‖W‖» tends to «u w₊ᵀ + z w₋ᵀ» with «u», «z ≥ 0»",
    "imbalance as a share of the largest «‖W_l‖²» (5.13)",
    "«log q(t)/q(0)» from «(L − 1)/L · log ‖w(t)‖²/‖w(0)‖²» (D.32)",
    "if «wᵀx_i ≤ 0» for all «i»",
    "(a) points within «ε' = 0.0089» of the boundary",
    "over «1e-09» and «2.5e+06» times",
    "the file my_study.py and RELULAB_DATA in a 2 × 3 table takes 12 s",
    "Points, «(n, d)» with «d ≥ 2»; unit of A follows unit of B",
    "slope of «log ε» on «log N», «p = 0.5», 1 or 2",
    "the second moment «E[xxᵀ]» of «(log n/n)^κ» with «v_kᵀv*_j»",
    "M. Phuong, C. H. Lampert: the rank of «W». Right: more",
    "«α_kj ≠ 0» against 0.5 of 0.08's",
]


@pytest.mark.parametrize("text", TEXTS)
def test_formulas_are_found(text):
    plain = re.sub("[«»]", "", text)
    assert with_formulas(plain, lambda formula: f"«{formula}»") == text


def test_code_is_code_and_markup_is_escaped():
    assert typeset("`x_i` and <br>") == "<code>x_i</code> and &lt;br&gt;"
    assert typeset("use ``--set n=3`` & go") == "use <code>--set n=3</code> &amp; go"


class Text(HTMLParser):
    def __init__(self, html: str):
        super().__init__()
        self.text, self.tags = "", []
        self.feed(html)

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


@given(st.text(max_size=60))
@settings(deadline=None, max_examples=200)
def test_any_text_is_safe(text):
    allowed = {
        "math",
        "mi",
        "mo",
        "mn",
        "mrow",
        "msub",
        "msup",
        "msubsup",
        "msqrt",
        "mover",
        "mfrac",
        "mspace",
        "mtext",
    }
    assert set(Text(typeset(text)).tags) <= allowed | {"code"}


@given(st.text(alphabet="abc xyz,.?! ", max_size=60))
@settings(deadline=None, max_examples=100)
def test_words_stay_as_they_are(text):
    page = Text(typeset(text))
    assert page.text.replace(" ", "") == text.replace(" ", "")
