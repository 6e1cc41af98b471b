"""The paper that this subject implements."""

from relulab.lab.paper import Paper

PAPERS = (
    Paper(
        tag="T5",
        title="Underspecification in Deep Learning, chapter 5: Towards understanding knowledge distillation",
        reference="M. Phuong, thesis",
        bibtex="""@phdthesis{phuong2021underspecification,
  author = {Phuong, Mary},
  title  = {Underspecification in Deep Learning},
  school = {Institute of Science and Technology Austria},
  year   = {2021},
  note   = {Chapter 5: Towards understanding knowledge distillation}
}""",
        items="T1 T2 L1 T3 C1 C2 F3 F4 F5 D4",
    ),
)
