"""Terms of IB, with their meanings, and symbols that several theorems share."""

TERMS = {
    "inductive bias": "The preference of a training method for some of the networks that fit the data.",
    "orthogonally separable, orthogonal separability": "Points of the same class have positive inner products, and "
    "points of different classes have inner products of at most 0.",
    "linearly separable": "A hyperplane through the origin has one class on each side.",
    "orthant": "All points whose coordinates have given signs. In opposite orthants, all signs are opposite.",
    "broken pair": "A pair of points that violates orthogonal separability.",
    "cosine with the wrong sign": "The absolute cosine of a broken pair. The largest one over all pairs measures how "
    "far data are from orthogonally separable; it is 0 if no pair is broken.",
    "max-margin vector, max-margin direction": "The max-margin vector of a class is the shortest vector whose inner "
    "products with all points of the class are at least 1. Its direction is the max-margin direction.",
    "max-margin neuron": "A neuron whose input weights point in a max-margin direction.",
    "support example": "A point of a class whose inner product with the max-margin vector of the class is exactly 1.",
    "spanning support examples": "Support examples of a class that span the whole input space, a condition of theorem "
    "1.",
    "margin": "The distance of a class from the hyperplane orthogonal to its max-margin vector: 1 divided by the "
    "length of that vector.",
    "multiplier": "The weight, at least 0, of a constraint in the optimality conditions of a minimum. The multipliers "
    "of a max-margin vector are the coefficients with which the points of its class add up to it.",
    "KKT residual": "The largest violation of the optimality conditions.",
    "KKT point": "A point that satisfies the Karush-Kuhn-Tucker (KKT) conditions, the first-order conditions for a "
    "minimum under constraints: feasibility, dual feasibility, complementary slackness and stationarity.",
    "nonlinear margin problem": "Find the smallest weights with which the network classifies every point with a margin "
    "of at least 1.",
    "sector": "All weight vectors that are active on the same points: their inner products with the points have the "
    "same signs.",
    "extremal direction": "A direction in which the following function has a strict local maximum (positive extremal "
    "direction) or minimum (negative extremal direction): the outputs of a neuron with unit weights, summed over the "
    "positive points, minus those summed over the negative points.",
    "extremal sector": "The sector of the positive or of the negative extremal direction. A neuron with a positive "
    "output weight belongs to the positive one.",
    "undecided": "A neuron is undecided if it is neither off nor in the extremal sector of its sign.",
    "live": "A neuron is live if it is active on at least one point.",
    "off": "A neuron is off if it is active on no point.",
    "early phase": "The time in which neurons turn while the loss is still almost constant.",
    "kink": "The weight vectors of a neuron that are orthogonal to a point: on one side the neuron is active on the "
    "point, on the other it is not.",
    "slide, slides, sliding": "A neuron slides along a kink if the gradients on both sides drive it back, so that it "
    "stays on the kink while it moves.",
    "exponential tail": "A loss has an exponential tail if it falls exponentially with the margin, for large margins.",
    "ray": "Neurons with the same direction. Theorem 1 predicts two rays.",
    "balanced": "The norm of the input weights of every neuron equals the absolute value of its output weight.",
}

# Symbols that several theorems use.
LIMIT = {
    "w₊": "max-margin vector of the positive points",
    "w₋": "max-margin vector of the negative points",
}
SHARES = {
    "u, u_j": "shares of the neurons in the direction w₊: u_j for neuron j",
    "z, z_j": "shares of the neurons in the direction w₋: z_j for neuron j",
}
WEIGHTS = {
    "W, w_j": "first-layer weights, one row w_j per neuron j",
    "a, a_j": "second-layer weights, one number a_j per neuron j",
}
RELU = {"ρ": "the ReLU, which replaces negative numbers by 0"}
LOSS = {"ℓ": "the loss, summed over the training points; the cross-entropy loss unless another is named"}
MARGIN = {"m": "margin of a point, its label times the output of the network"}
