"""Terms of T5, with their meanings, and symbols that theorems and studies share."""

TERMS = {
    "teacher": "A linear classifier. Its weights are to be learned from its answers.",
    "student": "A linear classifier that is trained on the teacher's answers.",
    "distillation": "Training a student on the outputs of a teacher.",
    "shallow": "A shallow student has one weight vector.",
    "deep": "A deep student is a product of several weight matrices, its layers.",
    "balanced": "A start is balanced if the weight matrices of neighboring layers match: they have the same singular "
    "values, and the singular directions between the two layers are the same.",
    "soft label": "The teacher's probability of the positive class.",
    "hard label": "The class that the teacher predicts. The student of hard labels is a max-margin vector.",
    "max-margin student": "The shortest vector that classifies all points as the teacher does, with a margin of 1.",
    "transfer set": "The points that the student is trained on.",
    "transfer risk": "The probability that student and teacher give different answers on a new input. It is averaged "
    "over transfer sets where it is called expected or mean.",
    "angle distribution, angle law": "How the angles between inputs and the teacher are distributed: for every angle, "
    "the probability that an input has at least this angle.",
    "angular task": "Inputs with a given angle distribution that are uniform otherwise.",
    "angular margin, margin": "An angle below 90° that no input reaches.",
    "estimated angle law": "The angle law counted on a sample, plus an allowance (the band) so that the true law lies "
    "below it at all angles with 95% confidence.",
    "minimizers that gradient descent does not find": "Students that fit the soft labels exactly, but have an "
    "additional random part orthogonal to their points.",
    "gradient-descent bias, bias of gradient descent": "A student that starts at zero and is trained by gradient "
    "descent stays in the span of its points.",
    "strong monotonicity": "One more point never increases the angle to the teacher.",
    "monotonicity index": "The probability that one more point reduces the angle between student and teacher.",
}

# Symbols that several theorems and studies use.
ANGLES = {"p(θ)": "probability that the angle between an input and the teacher is at least θ"}
SIZES = {"n": "number of points in a transfer set", "d": "number of input dimensions"}
DEGREE = {
    "κ": "degree of the angle distribution p(θ) = (1 − 2θ/π)^κ; a larger κ means that inputs are better aligned with "
    "the teacher",
}
RANDOM_PART = {
    "w_δ": "a student that fits the soft labels exactly: ŵ + δ‖ŵ‖ q/‖q‖",
    "ŵ": "the student that gradient descent finds, the teacher projected onto the span of the points",
    "q": "the random part of the student, orthogonal to the points",
    "δ": "size of the random part relative to ŵ; δ = 0 is gradient descent",
}
