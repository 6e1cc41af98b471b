"""Terms that texts on any subject use, with their meanings; pages explain those that they use (``lab.index.terms``).

A key lists forms of the term, separated by commas, each with its symbol if it has one. ``docs/glossary.md`` has the
same rows. A subject has its own terms in its file ``terms.py``.
"""

TERMS = {
    "seed": "A number that determines a random teacher, its data, the initial weights and the batches. The results of "
    "a seed do not depend on other seeds.",
    "95% interval": "Student's confidence interval for the mean over seeds, unless stated otherwise.",
    "rank correlation": "Spearman's correlation: the correlation of ranks, between −1 and 1.",
    "standard error": "The standard deviation of a mean, estimated from the spread of its values.",
    "z-score": "A deviation divided by its standard error. Up to about 4 it can be chance.",
    "held-out": "Held-out points are not used for training. Students are measured on them.",
    "evaluation loss": "The loss on held-out points.",
    "gate": "1 where a ReLU is active, else 0 (or the slope of a leaky ReLU).",
    "active": "A ReLU is active at an input if its output is positive there.",
    "pre-activation": "What a ReLU receives: the weighted sum of the inputs of its node, plus the bias.",
    "gradient flow": "Gradient descent with infinitely small steps.",
    "epoch": "A fixed number of training steps. In the specialization studies it is 1,000 steps of 16 points, unless "
    "the setup says otherwise; elsewhere it is one pass over the points.",
    "singular value σ_k": "Measures how strongly a matrix stretches in its k-th most stretched direction; σ₁ is the "
    "largest. A matrix has rank two if σ₃ and all further ones are zero.",
    "singular direction": "A direction in which a matrix stretches by one of its singular values.",
    "linearly independent": "No vector of the set is a combination of the others.",
    "full rank": "Points have full rank if their span is as large as their number allows.",
    "snapshot": "The state of the networks at one of the times at which they are measured.",
    "negative control": "A false variant of a statement. It must be refuted, which shows that the test can fail.",
}
