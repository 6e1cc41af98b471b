"""Values that are written out are read without running anything; what is computed is left to an import."""

import ast

import pytest

from relulab.lab.index.source_code import NotWritten, SourceCode


@pytest.fixture
def code(tmp_path):
    """A package with one module that names values, some of them of another module."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text('"""A shop."""\n')
    (package / "prices.py").write_text("PRICE = 3\nSMALL = {'n': 2}\nraise RuntimeError('this must not run')\n")
    (package / "goods.py").write_text(
        "import math\nfrom shop.prices import PRICE, SMALL as LITTLE\nfrom .prices import SMALL\n"
        "A = (1, -2.5, 'three', None, True)\nB = [*range(1, 8, 3), PRICE * 2]\nC = {**LITTLE, 'm': PRICE} | {'k': 1}\n"
        "D = f'costs {PRICE:.2f}'\nE = math.pi\nF = 'one ' 'two'\nG: int = 2**10\nH = SMALL\n"
        "BAD1 = open('x')\nBAD2 = PRICE.bit_length()\nBAD3 = 10 ** 10 ** 10\nBAD4 = 'a' - 1\nBAD5 = missing\n"
        "BAD6 = range(10**8)\nBAD7 = [x for x in A]\nBAD8 = 1 / 0\n"
    )
    return SourceCode("shop.goods", {"shop": package})


@pytest.mark.parametrize("name, value", [
    ("A", (1, -2.5, "three", None, True)), ("B", [1, 4, 7, 6]), ("C", {"n": 2, "m": 3, "k": 1}), ("D", "costs 3.00"),
    ("E", pytest.approx(3.14159265)), ("F", "one two"), ("G", 1024), ("H", {"n": 2}),
])  # fmt: skip
def test_constants_are_read(code, name, value):
    assert code.value(code.assigned(name)) == value


@pytest.mark.parametrize("name", [f"BAD{i}" for i in range(1, 9)])
def test_what_is_computed_is_not_guessed(code, name):
    with pytest.raises(NotWritten):
        code.value(code.assigned(name))


def test_names_lead_to_where_they_are_defined(code):
    home, name = code.origin("LITTLE")
    assert (home.module, name) == ("shop.prices", "SMALL")
    with pytest.raises(NotWritten, match="does not define"):
        code.definition("LITTLE", ast.ClassDef)


@pytest.mark.parametrize("text", ["def broken(:", "\0", "A = " + "(" * 5000])
def test_a_file_that_cannot_be_parsed_is_left_to_the_import(tmp_path, text):
    (tmp_path / "odd.py").write_text(text)
    with pytest.raises(NotWritten):
        SourceCode("top.odd", {"top": tmp_path}).assigned("A")
