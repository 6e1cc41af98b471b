"""Comparisons of settings: which fields, the same units as alone, paired differences, and a run from end to end."""

import json
import pickle

import numpy as np
import pytest
import xarray as xr
from clear_figures import look_problems
from scipy import stats

import relulab as rl
from relulab.lab.compared_claims import claims, part, statistics
from relulab.lab.comparison import Comparison, compared
from relulab.lab.run.result_file import encode
from relulab.lab.show.figure import house_style

TINY = {"d": 6, "C": 4, "m": 3, "epochs": 2, "steps": 20, "n_train": 50, "n_held_out": 50, "polarity": [1]}


class Waves(rl.Study):
    """A study without training: each seed has a level and a curve, which both grow with ``height``."""

    name, ids, title, source = "waves", ("X.1",), "Waves", "nowhere"
    presets = {"smoke": {"points": 2}, "quick": {"points": 3}}  # noqa: RUF012
    captions = {"line": "A line."}  # noqa: RUF012

    height: float = 1.0
    """height"""
    shape: str = "round"
    """shape"""
    points: int = 4
    """number of points"""
    seeds: int = 6
    """number of seeds"""
    marks: tuple[int, ...] = (1, 2)
    """marks"""

    def units(self):
        return [rl.Unit(f"seed{seed}", {"seed": seed}, 10, 100.0) for seed in range(self.seeds)]

    def measure(self, unit, tick):
        seed = unit.values["seed"]
        level = np.random.default_rng(seed).normal() + self.height
        data = {"level": ("seed", [level]), "curve": (("seed", "point"), [level * np.arange(self.points)])}
        return xr.Dataset(data, coords={"seed": [seed], "point": range(self.points)})

    def figures(self, result):
        from relulab.lab.show.figure import panels

        figure, axes = panels(1, 1)
        axes[0, 0].plot(result.level)
        return {"line": figure}

    def claims(self, result):
        assert not np.isnan(result.curve).any()  # no padding from other settings
        return [rl.claim("X.1.high", "Levels are high", result.level.values, ">", 0, statistic="level of the wave")]

    def statistics(self, result):
        return {"curve of the wave": result.curve, "last point of the wave": result.curve.isel(point=-1, drop=True)}


def waves(**changes) -> Comparison:
    study = Waves.configured("quick", changes)
    assert isinstance(study, Comparison)
    return study


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_a_run_is_named_after_the_preset_that_was_configured(preset):
    study = Waves.configured(preset, {"height": [5, 2]})
    assert isinstance(study, Comparison) and study.nearest_preset() == preset


def measured(study) -> xr.Dataset:
    return xr.merge(
        [study.measure(unit, lambda n: None) for unit in study.units()], join="outer", compat="no_conflicts"
    )


def test_a_list_for_a_field_of_one_value_is_a_comparison_and_for_a_tuple_it_is_not():
    assert compared(Waves, {"height": [1, 2]}).varied == ("height",)
    assert compared(Waves, {"height": 1, "marks": [3, 4]}) is Waves
    assert compared(Waves, {"height": 1, "marks": [3, "x"]}) is Waves  # a mistake, which the study reports
    assert compared(rl.find_study("SS.F7"), {"fresh": [True, False], "over": [1, 2]}).varied == ("fresh",)
    study = waves(height=[1, 2])
    assert study.name == "waves-by-height" and study.height == [1, 2] and study.points == 3
    assert list(study.settings) == ["height=1", "height=2"] and study.settings["height=2"] == Waves(height=2, points=3)
    assert list(waves(height=[1, 2.5], shape=["round", "flat"]).settings)[1] == "height=2.5, shape=flat"


@pytest.mark.parametrize("changes, sentence", [
    ({"seeds": [4, 5]}, "waves: expected one value of seeds, got 2"),
    ({"height": [1, "high"]}, "field height: expected a valid number, got 'high'"),
    ({"height": [1, 1.0]}, "the same one twice"),
    ({"height": [1, 2, 3], "shape": ["round", "flat"]}, "got 3 of height, 2 of shape"),
    ({"height": [1]}, "field height: expected"),
    ({"width": [1, 2]}, "has no field 'width'"),
])  # fmt: skip
def test_mistakes_are_one_sentence(changes, sentence):
    with pytest.raises(rl.UserError, match=sentence) as error:
        Waves.configured("quick", changes)
    assert "\n" not in str(error.value)


def test_a_setting_measures_the_same_bits_as_alone():
    study = rl.find_study("SS.F8").configured("smoke", {**TINY, "slope": [0, 0.1]})
    for label, slope in (("slope=0", 0), ("slope=0.1", 0.1)):
        alone = rl.find_study("SS.F8").configured("smoke", {**TINY, "slope": slope})
        unit = alone.units()[0]
        ours = next(u for u in study.units() if u.values == {"setting": label, "unit": unit})
        assert (ours.seed_steps, ours.flops) == (unit.seed_steps, unit.flops)
        together = study.measure(ours, lambda n: None)
        assert together.sel(setting=label, drop=True).identical(alone.measure(unit, lambda n: None))


def test_differences_are_paired_and_have_students_interval():
    study = waves(height=[1.0, 1.5])
    result = measured(study)
    found = {c.id.rpartition(".")[2]: c for c in claims(study, result)}
    assert list(found) == ["statistic2", "high"]  # a curve is drawn, not judged
    by_height = [Waves(height=h, points=3) for h in (1.0, 1.5)]
    levels = [np.array([s.measure(u, None).level.item() for u in s.units()]) for s in by_height]
    difference = levels[1] - levels[0]
    assert found["high"].measured == pytest.approx(0.5) and found["high"].low == pytest.approx(0.5)
    assert found["high"].says == "Level of the wave: higher with height=1.5 than with height=1"
    assert found["high"].verdict is rl.Verdict.HOLDS and found["high"].criterion.startswith("≠ 0")
    assert np.allclose(found["statistic2"].values, 2 * difference)
    noise = np.linspace(-1, 1, 6)
    uneven = result.copy()
    uneven["level"] = result.level + xr.DataArray([0 * noise, noise], dims=("setting", "seed"))
    one = next(c for c in claims(study, uneven) if c.id.endswith("high"))
    low, high = stats.t.interval(0.95, 5, np.mean(0.5 + noise), stats.sem(0.5 + noise))
    assert (one.low, one.high) == pytest.approx((low, high)) and one.verdict is rl.Verdict.INCONCLUSIVE
    assert one.says == "Level of the wave: differs between height=1 and height=1.5"


def test_a_lower_value_is_called_lower_and_each_other_setting_is_compared_with_the_first():
    study = waves(height=[1.0, 0.5, 2.0])
    says = [c.says for c in claims(study, measured(study)) if "Level" in c.says]
    assert says == [
        "Level of the wave: lower with height=0.5 than with height=1",
        "Level of the wave: higher with height=2 than with height=1",
    ]
    ids = [c.id for c in claims(study, measured(study))]
    assert len(set(ids)) == len(ids) == 4


def test_settings_of_different_sizes_are_not_padded():
    study = waves(points=[2, 5])
    result = measured(study)
    assert np.isnan(result.curve).any() and part(result, "points=2").sizes["point"] == 2
    assert [one.id for one in statistics(study, result)] == ["statistic2", "X.1.high"]


def test_a_comparison_survives_pickling_with_its_hash():
    study = waves(height=[1.0, 1.5])
    again = pickle.loads(pickle.dumps(study))
    assert type(again) is type(study) and again == study and again.hash == study.hash
    assert study.hash not in (waves(height=[1.5, 1.0]).hash, waves(height=[1.0, 1.6]).hash)


def test_too_few_seeds_are_not_judged():
    study = waves(height=[1.0, 1.5], seeds=3)
    assert {c.verdict for c in claims(study, measured(study))} == {rl.Verdict.NOT_JUDGED}


def test_a_comparison_runs_from_the_command_line_to_the_report(here, tmp_path):
    sets = [word for key, value in {**TINY, "polarity": 1}.items() for word in ("--set", f"{key}={value}")]
    words = ["run", "SS.F8", "--preset", "smoke", *sets, "--set", "seeds=5", "--set", "momentum=0,0.9"]
    code, out, err = here(*words, "--workers", "1", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["study"] == "recovery-order-by-momentum" and len(summary["claims"]) == 6
    assert {c["verdict"] for c in summary["claims"]} == {"NOT_JUDGED"}
    run = tmp_path / summary["run"]
    figures = {path.stem for path in (run / "figures").glob("*.svg")}
    assert {"courses", "differences", "when-setting1", "when-setting2"} <= figures
    assert here("report")[0] == 0
    (page,) = (tmp_path / "report" / "runs").glob("recovery-order-by-momentum-*.html")
    text = page.read_text()
    assert "relulab run recovery-order --preset smoke" in text and "momentum=0.0,0.9" in text
    assert here(*words, "--json")[1] == out  # read from its folder
    again = here("run", "SS.F8", "--preset", "smoke", "--config", str(run / "config.json"), "--json")
    assert json.loads(again[1])["run"] == summary["run"]


def test_results_can_be_stored():
    assert encode(measured(waves(height=[1.0, 1.5])))


def test_settings_can_be_told_apart_without_color_and_their_labels_do_not_overlap():
    study = waves(height=[1.125, 2.125], shape=["round as a circle", "square"])
    with house_style():
        figures = study.figures(measured(study))
        assert [found for name in ("courses", "differences") for found in look_problems(figures[name])] == []
        figures["differences"].draw_without_rendering()
    assert "undefined" not in figures["differences"].axes[0].get_xlabel()
    for ax in figures["differences"].axes:
        left, right = (label.get_window_extent() for label in ax.get_xticklabels())
        assert left.x1 < right.x0


def test_a_difference_that_is_undefined_is_called_so():
    study = waves(height=[1.0, 2.0])
    result = measured(study)
    result["level"] = result.level.where(result.seed > 0)
    words = [ax.get_xlabel() for ax in study.figures(result)["differences"].axes]
    assert "difference undefined" in words and not any("–" in word for word in words)
