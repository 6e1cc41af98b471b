"""What is installed is what is locked: the locks, pyproject.toml and the environment agree, without the network."""

import json
import shutil
import tomllib
from importlib.metadata import PathDistribution, distribution

import pytest
from audit import summary, vulnerabilities
from installed import ROOT, altered, closure, declared, differences
from lock import CONSTRAINTS, CPU_BUILDS, constraints, split
from locked import CPU, CUDA, INSTALLER, REQUIREMENTS, TOOLS, BadLock, Locked, lines, parsed, read
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sbom import bill

HASH = f"--hash=sha256:{'0' * 64}"
WANTED = ["relulab[test]", *declared("test"), "editables"]


@pytest.fixture(scope="module")
def lock() -> dict[str, Locked]:
    return {**read(REQUIREMENTS, CUDA), "relulab": Locked("relulab", distribution("relulab").version, "", ())}


def test_every_line_of_every_lock_is_pinned_and_hashed():
    assert len(read(REQUIREMENTS, CUDA)) > 100
    assert set(read(INSTALLER)) == {"pip"} and {"uv", "pip-audit"} <= set(read(TOOLS))


@pytest.mark.parametrize(
    "line",
    [
        "rich==15.0.0",
        f"rich>=15.0.0 {HASH}",
        f"rich==15.* {HASH}",
        f"rich {HASH}",
        "rich==15.0.0 --hash=md5:00",
        f"rich==15.0.0 {HASH} --hash=sha256:00",
        f"rich @ https://example.org/rich.whl {HASH}",
        "--index-url https://example.org",
    ],
)
def test_a_line_that_lets_unchecked_files_in_is_noticed(line):
    assert parsed(f"rich==15.0.0 ; os_name == 'nt' {HASH}").version == "15.0.0"
    with pytest.raises(BadLock):
        parsed(line)


def test_a_package_that_is_locked_twice_is_noticed(tmp_path):
    (tmp_path / "lock.txt").write_text(f"rich==15.0.0 {HASH}\nRich==14.0.0 \\\n    {HASH}\n")
    with pytest.raises(BadLock, match="rich is locked twice"):
        read(tmp_path / "lock.txt")


def test_the_constraints_are_the_locked_versions():
    assert CONSTRAINTS.read_text() == constraints() and "torch==2.13.0\n" in constraints()


def test_what_pyproject_requires_is_locked(lock):
    for requirement in map(Requirement, [*declared("test"), "editables"]):
        assert requirement.specifier.contains(lock[canonicalize_name(requirement.name)].version), requirement


def test_the_build_backend_is_pinned_to_the_locked_version(lock):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["build-system"]["requires"] == [f"hatchling=={lock['hatchling'].version}"]


def test_what_is_installed_is_locked(lock):
    assert len(closure(WANTED)) > 90
    assert differences(lock, WANTED) == []


def test_what_is_installed_and_not_locked_is_noticed(lock):
    version = lock["rich"].version
    other = {**lock, "rich": Locked("rich", "1.0", "", ())}
    assert differences(other, WANTED) == [f"rich {version} is installed, but 1.0 is locked"]
    without = {name: entry for name, entry in lock.items() if name != "mdurl"}  # needed through others only
    assert differences(without, WANTED) == [f"mdurl {lock['mdurl'].version} is installed, but not locked"]
    assert differences(lock, ["no-such-package"]) == ["no-such-package is not installed"]


def test_installed_files_are_as_they_were_installed():
    assert {name: files for name, there in closure(WANTED).items() if (files := altered(there))} == {}


def test_a_changed_or_missing_file_is_noticed(tmp_path):
    there = distribution("iniconfig")
    for file in there.files or []:
        if "__pycache__" not in file.parts and ".." not in file.parts:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), tmp_path / file)
    copy = PathDistribution(next(tmp_path.glob("*.dist-info")))
    assert altered(copy) == []
    (tmp_path / "iniconfig" / "__init__.py").write_text("import os\n")
    (tmp_path / "iniconfig" / "py.typed").unlink()
    assert sorted(altered(copy)) == ["iniconfig/__init__.py has changed", "iniconfig/py.typed is gone"]


def test_packages_of_cuda_and_torch_without_it_are_locked_apart():
    (version, build), *_ = CPU_BUILDS.items()
    text = f"torch=={version} \\\n    {HASH}\nnvidia-nvtx==1.0 \\\n    {HASH}\n"
    content = split(REQUIREMENTS, text)
    assert parsed(lines(content[CPU])[0]) == Locked("torch", f"{version}+cpu", "", (build,))
    assert content[CUDA].startswith("nvidia-nvtx==1.0") and content[REQUIREMENTS].startswith("torch==")
    assert "nvidia" not in content[REQUIREMENTS] and set(read(CPU)) == {"torch"}
    assert read(CPU)["torch"].allows(read(REQUIREMENTS)["torch"].version)


def test_the_bill_of_materials_lists_every_package_and_is_the_same_each_time():
    first = bill()
    components = {component["name"]: component for component in first["components"]}
    assert set(components) == set(closure(["relulab[test]", *declared()])) - {"relulab"}
    assert components["numpy"]["scope"] == "required" and components["pytest"]["scope"] == "excluded"
    assert components["torch"]["purl"].startswith("pkg:pypi/torch@2.") and "+" not in components["torch"]["purl"]
    hashes = components["rich"]["externalReferences"][0]["hashes"]
    assert tuple(one["content"] for one in hashes) == read(REQUIREMENTS)["rich"].hashes
    assert [name for name, component in components.items() if "licenses" not in component] == []
    references = {component["bom-ref"] for component in components.values()}
    assert all(set(one["dependsOn"]) <= references for one in first["dependencies"])
    assert json.dumps(first) == json.dumps(bill())


def test_an_audit_says_what_it_could_not_ask():
    fault = {"id": "CVE-1", "fix_versions": ["1.1"]}
    asked = {"name": "a", "version": "1.0", "vulns": [fault, {"id": "CVE-2", "fix_versions": []}]}
    skipped = {"name": "b", "skip_reason": "not found"}
    assert summary([asked, skipped]) == "1 of 2 locked packages were audited: 2 known vulnerabilities."
    assert vulnerabilities([asked, skipped]) == ["a 1.0: CVE-1, fixed in 1.1", "a 1.0: CVE-2, fixed in no version"]
    assert summary([skipped]).startswith("No package was audited")
