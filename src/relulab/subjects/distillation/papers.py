"""The paper of this subject."""

from relulab.lab.paper import Paper

PAPERS = (
    Paper(
        tag="T5",
        title="Underspecification in Deep Learning, chapter 5: Toward understanding knowledge distillation",
        reference="M. Phuong, thesis",
        bibtex="""@phdthesis{phuong2021underspecification,
  author = {Phuong, Mary},
  title  = {Underspecification in Deep Learning},
  school = {Institute of Science and Technology Austria},
  year   = {2021},
  note   = {Chapter 5: Toward understanding knowledge distillation}
}""",
    ),
)
