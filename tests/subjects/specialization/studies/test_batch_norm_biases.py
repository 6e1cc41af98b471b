"""The study of BatchNorm biases on made-up networks: shares, places, controls and missing files."""

import shutil

import numpy as np
import pytest

from relulab import UserError, Verdict, find_study, run_study
from relulab.lab.run.answers import claims_of
from relulab.subjects.specialization.studies.batch_norm_biases.measures import counts, dataset, saved_networks


@pytest.fixture
def study(made_up_data, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_data))
    return find_study("LM.F6").configured("quick")


def test_the_data_set_has_what_the_files_have(study, made_up_data):
    result = study.measure(study.units()[0], lambda steps: None)
    assert result.network.values.tolist() == ["falling", "flat"]
    for name in result.network.values:
        with np.load(made_up_data / "nets" / f"{name}.npz") as arrays:
            biases = [arrays[key] for key in arrays if key.endswith(".bias")]
        negative, total = counts(result, name)
        assert total.values.tolist() == [len(b) for b in biases]
        assert negative.values.tolist() == [int((b < 0).sum()) for b in biases]
    assert set(result.place.sel(network="falling").values) == {"before a ReLU"}
    assert set(result.place.sel(network="flat").values) == {"unknown", "after a ReLU", ""}  # eight units are too few


def test_claims_hold_where_biases_fall_and_not_where_they_are_random(study):
    result = study.measure(study.units()[0], lambda steps: None)
    claims = {claim.id: claim for claim in claims_of(study, result)}
    assert {id: claim.verdict.name for id, claim in claims.items()} == {
        "LM.F6.majority-falling": "HOLDS", "LM.F6.upper-falling": "HOLDS",
        "LM.F6.majority-flat": "INCONCLUSIVE", "LM.F6.upper-flat": "INCONCLUSIVE",
    }  # fmt: skip
    assert "at most half are negative: bn0" in claims["LM.F6.majority-falling"].note
    assert all(claim.control and claim.control.verdict is not Verdict.HOLDS for claim in claims.values())


def test_a_network_of_few_layers_is_not_judged(study):
    short = {name: layers[:4] for name, layers in saved_networks().items()}
    upper = [claim for claim in study.claims(dataset(short)) if ".upper-" in claim.id]
    assert {claim.verdict for claim in upper} == {Verdict.NOT_JUDGED}
    assert upper[0].note.endswith("Not judged: 4 layers, a verdict needs 5.")


def test_files_that_are_missing_are_named_before_anything_runs(study, made_up_data, monkeypatch, tmp_path):
    with pytest.raises(UserError, match=r"has no network 'fallin.npz': did you mean 'falling.npz'"):
        find_study("LM.F6").configured("quick", {"files": ["fallin.npz"]}).ready()
    (tmp_path / "nets").mkdir()
    np.savez(tmp_path / "nets" / "plain.npz", w=np.ones((2, 2)))
    monkeypatch.setenv("RELULAB_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"has none \(1 files\): set the environment variable RELULAB_DATA"):
        study.ready()
    for ending in ("npz", "backup.npz"):
        shutil.copy(made_up_data / "nets" / "flat.npz", tmp_path / "nets" / f"flat.{ending}")
    assert list(saved_networks()) == ["flat.backup", "flat"]  # others are left out
    monkeypatch.delenv("RELULAB_DATA")
    with pytest.raises(UserError, match="RELULAB_DATA is not set"):
        run_study(study)
