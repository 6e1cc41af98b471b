"""Two networks compared as functions: predictions and outputs."""

from typing import Any, ClassVar

from relulab.core.share import Estimate, percents
from relulab.lab.inputs.two_networks import TwoNetworks
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Fact, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.specialization.tools.agreement import Agreement, agreement, outputs


class AgreementOfNetworks(TwoNetworks, Measurement):
    """Compute how often the predictions of two networks agree, and how far apart their outputs are."""

    name: ClassVar = "agreement"
    source: ClassVar = "SS section 3"

    def measure(self) -> Outcome:
        a, b, x = self.load()
        a, b = a.double(), b.double()
        labels = self.class_numbers(outputs(a, x[:1]).shape[1])
        found = agreement(a, b, x, labels)
        document = {"a": str(self.a), "b": str(self.b), "data": str(self.data), "points": found.points}
        measured = ("same", "distance", "relative", "accuracy_a", "accuracy_b")
        document |= {name: _row(getattr(found, name)) for name in measured}
        document |= {"largest": found.largest}
        return Outcome(document, _parts(found))


def _row(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate._asdict()


def _parts(found: Agreement) -> list[Part]:
    parts: list[Part] = [Fact("predictions that agree", f"{percents(found.same)} of {found.points:,} points")]
    if found.accuracy_a and found.accuracy_b:
        parts.append(Fact("accuracy", f"{percents(found.accuracy_a)} for A, {percents(found.accuracy_b)} for B"))
    if found.relative:
        parts.append(Fact("distance of outputs", f"{_numbers(found.relative)} standard deviations of the outputs of A"))
    return [
        *parts,
        Fact("root mean square of ‖f_A − f_B‖", _numbers(found.distance)),
        Fact("largest difference of an output", number(found.largest)),
        Line("Intervals are 95% intervals for new points of the same kind, drawn independently.", "quiet"),
        Line("The prediction is the largest output, or the sign of a single output.", "quiet"),
    ]


def _numbers(estimate: Estimate) -> str:
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


MEASUREMENT = AgreementOfNetworks
