"""The papers of this subject."""

from relulab.lab.paper import Paper

PAPERS = (
    Paper(
        tag="SS",
        title="Student Specialization in Deep Rectified Networks With Finite Width and Input Dimension",
        reference="Y. Tian, ICML 2020",
        bibtex="""@inproceedings{tian2020student,
  author    = {Tian, Yuandong},
  title     = {Student Specialization in Deep Rectified Networks With Finite Width and Input Dimension},
  booktitle = {International Conference on Machine Learning},
  year      = {2020}
}""",
    ),
    Paper(
        tag="S0",
        title="Student Specialization: the ICLR 2020 submission of the same work, with other theorems and figures",
        reference="under review at ICLR 2020",
        bibtex="""@misc{studentspecialization2019submission,
  title = {Student Specialization in Deep ReLU Networks With Finite Width and Input Dimension},
  note  = {Submission to ICLR 2020, an earlier version of the ICML 2020 paper of that title},
  year  = {2019}
}""",
    ),
    Paper(
        tag="LM",
        title="Luck Matters: Understanding Training Dynamics of Deep ReLU Networks",
        reference="Y. Tian, T. Jiang, Q. Gong, A. Morcos, 2019",
        bibtex="""@article{tian2019luck,
  author  = {Tian, Yuandong and Jiang, Tina and Gong, Qucheng and Morcos, Ari},
  title   = {Luck Matters: Understanding Training Dynamics of Deep {ReLU} Networks},
  journal = {arXiv preprint},
  year    = {2019}
}""",
    ),
)
