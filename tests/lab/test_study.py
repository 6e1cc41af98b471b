"""Studies as configurations: presets, error messages, hashes."""

import pytest

from relulab import UserError, find_study, find_theorem
from relulab.lab.catalog import studies
from relulab.lab.index import entries, entry
from relulab.lab.run.settings import changes, parse
from relulab.lab.study import Study

SIZES = {"until", "step", "kappa", "delta"}  # real numbers that say how far or how finely something is followed
SETTINGS = {"batch", "root", "early"}  # whole numbers that are part of a setting


def is_size(name: str, value: object) -> bool:
    """Whether a preset may set this field: a count, or a grid of values; not a setting such as a learning rate."""
    if isinstance(value, tuple):
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
    return name in SIZES or (isinstance(value, int) and not isinstance(value, bool) and name not in SETTINGS)


def test_settings_are_no_sizes():
    assert is_size("over", (1, 2)) and is_size("seeds", 8) and is_size("step", 0.4)
    assert not any(is_size(*s) for s in [("lr", 0.1), ("batch", 4), ("fresh", True), ("kind", "a"), ("which", ("a",))])


@pytest.mark.parametrize("preset, given, sentence", [
    ("quick", {"epoch": 3}, "has no field 'epoch': did you mean 'epochs'"),
    ("quick", {"over": [1, -5]}, "field over.1: expected a value greater than 0, got -5"),
    ("quick", {"lr": "fast"}, "field lr: expected a valid number, got 'fast'"),
    ("quick", {"seeds": 2.5}, "field seeds: expected a valid integer, got 2.5"),
    ("quick", {"teacher_bias": "mediam"}, "expected a valid number or 'median'"),
    ("quick", {"over": []}, "at least 1 item"),
    ("quick", {"over": [1, 1]}, "a value appears twice"),
    ("quick", {"lr": float("inf")}, "lr: expected a finite number, got inf"),
    ("quick", {"teacher_bias": float("nan")}, "teacher_bias: expected"),
    ("quik", {}, "no preset 'quik': did you mean 'quick'"),
])  # fmt: skip
def test_errors_are_one_sentence_that_names_the_field(preset, given, sentence):
    with pytest.raises(UserError) as error:
        find_study("SS.F7").configured(preset, given)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_unknown_ids_name_the_nearest():
    with pytest.raises(UserError, match=r"no study 'SS\.F77': did you mean 'SS\.F7'"):
        find_study("SS.F77")
    with pytest.raises(UserError, match="did you mean 'recovery'"):
        entry("recovry")


def test_the_wrong_kind_of_entry_is_rejected():
    with pytest.raises(UserError, match=r"is a theorem: use relulab check SS\.L1"):
        find_study("SS.L1")
    with pytest.raises(UserError, match=r"is a study: use relulab run SS\.F7"):
        find_theorem("SS.F7")
    assert entry("LM.F8").name == "rank-courses" and entry("LM.F8", "instrument").name == "winner_ranks"


def test_every_field_has_a_description():
    for study in studies().values():
        assert all(field.description for field in study.model_fields.values()), study.name


def test_names_and_ids_lead_to_the_same_study():
    assert find_study("s0.f11") is find_study("SS.F7") is find_study("recovery")


@pytest.mark.parametrize("study", studies().values(), ids=lambda s: s.name)
def test_presets_change_sizes_only_and_paper_is_the_default(study: type[Study]):
    assert set(study.presets) == {"smoke", "quick"}
    for preset in study.presets.values():
        assert all(is_size(name, value) for name, value in preset.items()), preset
    assert study.configured("paper") == study()


def test_the_hash_depends_on_every_field_and_the_version(monkeypatch):
    study = find_study("SS.F7")
    one = study.configured("smoke")
    assert one.hash == study.configured("smoke").hash
    assert one.hash != study.configured("smoke", {"root": 1}).hash
    before = one.hash
    monkeypatch.setattr(study, "version", study.version + 1)
    assert one.hash != before


def test_a_configuration_knows_its_nearest_preset():
    study = find_study("SS.F7").configured("quick", {"lr": 0.02})
    assert study.nearest_preset() == "quick" and study.differs("quick") == {"lr": 0.02}


def test_smoke_is_the_nearest_preset_only_if_nothing_but_seeds_differs():
    """Claims are not judged on smoke, so a study of another size must not count as it."""
    smoke = find_study("SS.F7").configured("smoke", {"seeds": 9})
    assert smoke.nearest_preset() == "smoke"
    assert find_study("SS.F7").configured("smoke", {"epochs": 50}).nearest_preset() != "smoke"


def test_equal_presets_are_not_named_after_smoke(monkeypatch):
    """A study whose presets change nothing was named smoke, and its claims were not judged."""
    study = find_study("SS.F7")
    monkeypatch.setattr(study, "presets", {"smoke": {}, "quick": {}})
    assert study.configured("quick").nearest_preset() == "quick"


def test_units_cover_every_seed_and_width_once():
    study = find_study("SS.F7").configured("paper")
    pairs = [(u.values["over"], seed) for u in study.units() for seed in u.values["seeds"]]
    assert sorted(pairs) == [(over, seed) for over in study.over for seed in range(32)]
    assert sum(u.seed_steps for u in study.units()) == 4 * 6 * 32 * 100 * 1000


def test_assignments_override_the_file(tmp_path):
    study = find_study("SS.F7")
    path = tmp_path / "mine.toml"
    path.write_text('seeds = 3\nover = [2]\nteacher_bias = "median"\n')
    found = changes(study, path, ["seeds=4", "polarity=1"])
    assert found == {"seeds": 4, "over": [2], "teacher_bias": "median", "polarity": [1]}
    assert study.configured("smoke", found).polarity == (1.0,)


@pytest.mark.parametrize("name, text", [("a.json", "{"), ("a.toml", "= 3"), ("a.json", "[1]"), ("a.yaml", "seeds: 3")])
def test_a_malformed_file_is_reported(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match="--config"):
        changes(find_study("SS.F7"), tmp_path / name, [])


def test_a_missing_file_and_a_missing_value_are_reported(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        changes(find_study("SS.F7"), tmp_path / "none.json", [])
    with pytest.raises(UserError, match="field=value"):
        changes(find_study("SS.F7"), None, ["seeds"])


def test_values_are_read_as_json_lists_or_text():
    assert parse("true") is True and parse("1,2.5") == [1, 2.5] and parse("[1]") == [1] and parse("a b") == "a b"


def test_the_list_contains_all_entries_with_ids():
    rows = {entry.name: entry.row for entry in reversed(entries())}
    assert rows["recovery"]["ids"] == ["SS.F7", "S0.F5", "S0.F11"]
    assert rows["recovery"]["presets"] == ["smoke", "quick", "paper"]
    assert rows["gradient-rule"]["ids"] == ["SS.L1", "SS.C2", "S0.C1"] and rows["correlation"]["kind"] == "instrument"
