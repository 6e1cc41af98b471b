"""Terms of SS, S0 and LM, with their meanings, and symbols that several theorems share."""

TERMS = {
    "teacher": "A fixed network. The student is trained on its outputs.",
    "student": "A network that is trained on the teacher's outputs. “A student” may also be one of its hidden nodes.",
    "over-parameterization, over-realized, 1×, 5×": "The width of the student relative to the teacher. A 1× student is "
    "as wide as the teacher; a 5× student has five times as many hidden nodes. Students wider than 1× are "
    "over-realized.",
    "fan-out ‖v_k‖": "The norm of the output weights v_k of student node k.",
    "strength ‖v*_j‖": "The norm of the output weights v*_j of teacher node j.",
    "weakness": "1 divided by the strength of a teacher node.",
    "polarity p, "
    "polarized": "How unequal the strengths of teacher nodes are: they are proportional to 1, 1/2^p, 1/3^p, "
    "…. With p = 0, all nodes are about equally strong; the nodes of a polarized teacher differ, and with a large p a "
    "few of them dominate.",
    "correlation ρ_jk": "The correlation between the activations of teacher node j and student node k over held-out "
    "points.",
    "best "
    "correlation": "The largest correlation of a teacher node with any student node, or of a student node with any "
    "teacher node.",
    "mean best correlation ρ_mean": "The mean over teacher nodes of their best correlation.",
    "recovered, recover, recovery": "A teacher node is recovered if some student node follows it closely: the "
    "correlation of their activations is above a threshold, 0.95 unless stated otherwise.",
    "epoch of recovery": "The first epoch at which a teacher node is recovered.",
    "follower": "A student node with a correlation above 0.95 with a teacher node.",
    "focus": "The teacher node that a student node follows best. It may shift during training.",
    "specialized, un-specialized, unspecialized, specialization": "A student node is specialized if it follows one "
    "teacher node closely: the correlation of their activations is above 0.95, or they share a hyperplane.",
    "mean rank r̄": "The mean rank that the final best students had earlier in training, from 0 (first) to 1 (last).",
    "back-propagated gradient g_l": "Minus the gradient of the loss with respect to what the ReLUs of layer l receive.",
    "zero gradient": "The gradient of the loss at the hidden layer is zero at every point, or on a region.",
    "hyperplane, boundary, "
    "boundaries": "The hyperplane, or boundary, of a node consists of the inputs at which the node "
    "switches between active and inactive. In the plane, it is a line.",
    "regular node": "A node with weights scaled to norm one, without changing the function.",
    "alignment error, ε-aligned, aligned, un-aligned, alignment": "How far apart the hyperplanes of two nodes are: the "
    "sine of the angle between their weights or the difference of their biases, whichever is larger, after the weights "
    "are scaled to norm one.",
    "misalignment": "The alignment error of a teacher node and its nearest student.",
    "observe, "
    "observer": "A node observes another node, or its hyperplane, if it is active somewhere on that hyperplane "
    "within the region or the points considered.",
    "band": "All points within a given distance, the half-width, of the boundary of a node.",
    "crease": "A hyperplane along which one of two networks bends.",
    "box": "All points between a lower and an upper bound in every coordinate; an open region on which theorems are "
    "checked.",
    "group": "Hidden nodes that share a hyperplane. The sum of their output weights, each multiplied by the norm of "
    "its input weights, is the contribution of the group.",
    "prune, pruned, pruning": "Merging hidden nodes that share a hyperplane and removing those that contribute little "
    "or nothing.",
    "silent": "A hidden node is silent if its output weights are zero, so that it contributes nothing.",
    "slot": "The place of a hidden node in its layer.",
    "BatchNorm": "A layer that normalizes the values of every unit over a batch to mean 0 and variance 1, then "
    "multiplies them by a weight and adds a bias.",
    "running mean": "The mean of what a BatchNorm has received during training, for every unit.",
    "stored statistics": "Mean and variance that BatchNorm uses in place of those of the batch, as in eval mode.",
    "augmentation": "Adding neighbors to the points of a data set.",
    "teacher-agnostic": "Does not use the teacher: neighbors along every axis, or plain Gaussian points.",
    "teacher-aware": "Uses the teacher: neighbors across the boundaries of its nodes, or points drawn near them.",
    "residue": "The vector that moves a student in the simplified dynamics of S0 section 5.3: its velocity is its norm "
    "times the residue.",
    "symmetry breaking": "One of several equal students gets a small advantage and outgrows the others.",
    "escape": "A student that points almost opposite to a teacher node turns toward it.",
    "top-down "
    "modulation, modulation": "How strongly the layers above weigh a node in the gradient of another node of the same "
    "layer: the inner product of their derivatives of the outputs.",
    "near zero, near-zero": "An eigenvalue is near zero if its absolute value is at most one thousandth of the largest "
    "one, unless stated otherwise.",
    "curvature": "The second derivative of the loss along a direction in the space of the weights.",
    "top-down matrix, top-down matrices": "Derivatives of the outputs with respect to the activations of a layer.",
    "overlap, overlaps": "How much two nodes are active at the same inputs: how often both are, or the mean product of "
    "their activations.",
    "u-set": "One student near each teacher node.",
    "r-set": "All students other than the one near each teacher node.",
}

# Symbols that several theorems use.
GRADIENT = {
    "g_1": "back-propagated gradient at the hidden layer of the student",
}
LARGEST = {"‖g_1‖∞": "largest entry of g_1 in absolute value"}
PAIR = {
    "j": "a teacher node",
    "k": "a student node",
    "v_k": "output weights of student k",
    "v*_j": "output weights of teacher node j",
    "α_kj": "v_kᵀv*_j, the inner product of the output weights of k and j",
}
BANDS = {
    "ε": "the alignment error that is allowed; two nodes are ε-aligned if their alignment error is at most ε",
    "ε'": "half-width of a band around the boundary of j",
    "M₁": "(1 + γ)/t₁",
    "M₂": "1 + γ + M₁ (|b_j| + t₂)",
    "t₁": "a half-width for which no band across the points, parallel to another node, contains too many of them",
    "t₂": "a distance beyond which only few points lie",
    "b_j": "bias of j, for weights of norm one",
    "c*": "slope of the leaky ReLUs of the teacher, 0 for plain ones",
    "c": "slope of the leaky ReLUs of the student, 0 for plain ones",
    "K": "number of hidden nodes of teacher and student together",
    "d": "number of inputs",
}
NEAR = {
    "j": "a teacher node, and the student near it",
    "k": "another node",
    "m": "number of teacher nodes",
    "w_j": "weights of student j, of norm one",
    "w*_j": "weights of teacher node j, of norm one",
    "θ_j": "angle between w_j and w*_j",
    "θ_0": "bound on the angles θ_j, in radians",
    "d_jk": "how often students j and k are active together",
    "d_jj": "how often student j is active",
    "d*_jk": "how often student j and teacher node k are active together",
    "d*_jj": "how often student j and its teacher node are active together",
    "K_d": "Lipschitz constant of these overlaps within θ_0 of the nodes (LM.A2)",
    "ϵ_d": "largest overlap of two teacher nodes, relative to how often one of them is active (LM.A3)",
    "η": "learning rate",
}
