"""Every item of the papers that is implemented is found by its id, as in ``relulab show SS.F7``."""

import pytest

from relulab.lab.index import entries, entry

DONE = """
LM.A1 LM.A2 LM.A3 LM.T1 LM.T2 LM.T3 LM.T4 LM.T5 LM.L1 LM.L2 LM.L3 LM.L4 LM.X LM.LT
LM.F6 LM.F7 LM.F8 LM.F9 LM.F10 LM.F11 LM.F12
SS.D SS.E SS.L1 SS.L2 SS.L3 SS.L4 SS.L6 SS.L7 SS.T1 SS.T2 SS.T3 SS.T4 SS.T5 SS.T6 SS.T7 SS.C1 SS.F3 SS.F5 SS.F6 SS.F7
SS.F8 SS.F9 SS.F10 S0.E6 S0.T1 S0.T2 S0.T3 S0.T4 S0.T5 S0.T6 S0.T7 S0.L2 S0.L3 S0.F2 S0.F3 S0.F4 S0.F5 S0.F6 S0.F7
S0.F11 S0.F12
IB.D IB.MM IB.G IB.L1 IB.L2 IB.L3 IB.L4 IB.T1 IB.C1 IB.LC1 IB.F1 IB.F2 IB.F3 IB.F4
T5.T1 T5.T2 T5.T3 T5.L1 T5.C1 T5.C2 T5.D4 T5.F3 T5.F4 T5.F5
""".split()  # noqa: SIM905 - a list is harder to read


@pytest.mark.parametrize("id", DONE)
def test_what_is_done_is_found_by_its_id(id):
    assert id in entry(id).ids


def test_an_id_that_is_listed_leads_to_what_has_it():
    listed = {id for one in entries() for id in one.ids}
    assert len(listed) >= len(DONE)
    assert all(id in entry(id).ids for id in listed)
