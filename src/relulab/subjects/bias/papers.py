"""The paper of this subject."""

from relulab.lab.paper import Paper

PAPERS = (
    Paper(
        tag="IB",
        title="The Inductive Bias of ReLU Networks on Orthogonally Separable Data",
        reference="M. Phuong, C. H. Lampert, ICLR 2021",
        bibtex="""@inproceedings{phuong2021inductive,
  author    = {Phuong, Mary and Lampert, Christoph H.},
  title     = {The Inductive Bias of {ReLU} Networks on Orthogonally Separable Data},
  booktitle = {International Conference on Learning Representations},
  year      = {2021}
}""",
        items="D T1 C1 MM G L1 L2 L3 F1 F2 L4 LA4 LC1 F3 F4",
    ),
)
