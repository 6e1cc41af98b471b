"""Papers of this subject."""

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
        items="D L1 T1 T2 C1 F3 T3 T4 T5 F5 F6 F7 F8 F9 F10 X1 L2 L3 L4 L6 L7 T6 T7 E",
    ),
    Paper(
        tag="S0",
        title="Student Specialization in Deep ReLU Networks (ICLR 2020 submission, an earlier version of SS)",
        reference="under review at ICLR 2020",
        bibtex="""@misc{studentspecialization2019submission,
  title = {Student Specialization in Deep ReLU Networks With Finite Width and Input Dimension},
  note  = {Submission to ICLR 2020, an earlier version of the ICML 2020 paper of that title},
  year  = {2019}
}""",
        items="T1 F2 T2 T3 T4 T5 T6 T7 F4 F5 F6 F7 L2 L3 F11 F12",
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
        items="T1 T2 A2 A3 T3 L1 L2 L3 L4 T4 T5 F6 F7 F8 F9 F10 F11 F12 X LT",
    ),
)
