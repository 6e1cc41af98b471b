"""Symbols are found in running text, and a list of symbols defines them or not."""

import pytest

from relulab.lab.show.symbols import Symbol, symbols_in, undefined, used_symbols


@pytest.mark.parametrize(("text", "found"), [
    ("Let g_1 = 0 on an open region", "g_1"),
    ("the correlation ρ_jk > 0.95", "ρ_jk j k"),
    ("‖w̃*_j‖ ≤ √(2πε'/d)", "w̃*_j j ε' d"),
    ("d/dt ln(‖w_k‖/‖w_{k'}‖) = w̄_kᵀ r_k", "w_k k w_k' k' w̄_k r_k"),
    ("f(x)/‖θ‖² → u ρ(w₊ᵀx)", "f x θ u ρ w_+"),
    ("at most p(β) + p(π/2 − β)ⁿ for n < d", "p β n d"),
    ("Σ_i λ_i y_i ∂f(x_i) in R^d", "i λ_i y_i f x_i d"),
    ("E[x z f*] for inputs N(0, σ² I), with e^{−t}", "x z f* σ t"),
    ("A student of SS.T1, see lemma D.3 and eq. 5.11, at 5× the width and 1e-06", ""),
    ("ρ_mean and ŵ_ε", "ρ_mean ŵ_ε ε"),
])  # fmt: skip
def test_symbols_of_a_text(text, found):
    assert " ".join(map(str, symbols_in(text))) == found


@pytest.mark.parametrize(("key", "text", "left"), [
    ("w_k", "‖w_k‖ and ‖w_1‖", []),
    ("w_1", "‖w_2‖", ["w_2"]),
    ("w_k", "‖w‖ of student k", ["w"]),
    ("w", "‖w_k‖", ["w_k", "k"]),
    ("w", "‖w*‖ and ‖ŵ‖", ["w*", "ŵ"]),
    ("ε", "ε' ≤ 1", ["ε'"]),
    ("M₁", "max(M₁, M₂)", ["M_2"]),
    ("ρ_jk", "ρ_mean", ["ρ_mean"]),
    ("u, u_j", "u with u_j = 0", []),
    ("polarity p", "for p > 0", []),
])  # fmt: skip
def test_a_symbol_is_defined_by_its_key_and_no_other(key, text, left):
    assert undefined({key: ""}, [text]) == left


def test_only_symbols_that_are_used_are_listed():
    symbols = {"κ": "a degree", "δ": "a size", "polarity p": "an exponent", "band": "a region"}
    assert list(used_symbols(symbols, ["κ = 2 in the band", "p = 0"])) == ["κ", "polarity p"]


def test_running_indices_define_each_other():
    assert Symbol("W", "l").defines(Symbol("W", "l+1")) and Symbol("W", "l").defines(Symbol("W", "L"))
    assert not Symbol("w", "+").defines(Symbol("w", "−")) and not Symbol("w", "k").defines(Symbol("w", "δ"))
