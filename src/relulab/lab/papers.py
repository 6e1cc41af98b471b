"""The documents that ledger ids point to, by the tag in front of an id."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    tag: str
    title: str
    reference: str


PAPERS = {
    paper.tag: paper
    for paper in (
        Paper(
            "SS",
            "Student Specialization in Deep Rectified Networks With Finite Width and Input Dimension",
            "Y. Tian, ICML 2020",
        ),
        Paper(
            "S0",
            "Student Specialization: the ICLR 2020 submission of the same work, with other theorems and figures",
            "under review at ICLR 2020",
        ),
        Paper(
            "LM",
            "Luck Matters: Understanding Training Dynamics of Deep ReLU Networks",
            "Y. Tian, T. Jiang, Q. Gong, A. Morcos, 2019",
        ),
        Paper(
            "IB",
            "The Inductive Bias of ReLU Networks on Orthogonally Separable Data",
            "M. Phuong, C. H. Lampert, ICLR 2021",
        ),
        Paper(
            "T5",
            "Underspecification in Deep Learning, chapter 5: Towards understanding knowledge distillation",
            "M. Phuong, thesis",
        ),
    )
}


def paper_of(id: str) -> str:
    """The tag of a ledger or claim id.

    >>> paper_of("SS.F7.strong-first")
    'SS'
    """
    return id.partition(".")[0]
