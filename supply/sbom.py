"""Writes the software bill of materials: what is installed for relulab, in the format CycloneDX 1.6.

    python supply/sbom.py FOLDER

The same environment gives the same bytes: there is no time and no random number in the file.
"""

import argparse
import json
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from installed import closure, declared, needs
from locked import CPU, CUDA, REQUIREMENTS, Locked, read
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    path = folder / f"relulab-{distribution('relulab').version}.cdx.json"
    path.write_text(json.dumps(bill(), indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {path}")


def bill() -> dict[str, Any]:
    """Describe relulab, each package that it, its tests and its docs need, and which needs which."""
    lock = read(REQUIREMENTS, CUDA)
    if "+cpu" in distribution("torch").version:
        lock |= read(CPU)
    runtime, everything = closure(["relulab"]), closure(["relulab[test]", *declared()])
    packages = {name: everything[name] for name in sorted(everything) if name != "relulab"}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**described(distribution("relulab")), "type": "application"}},
        "components": [
            {**described(there), "scope": "required" if name in runtime else "excluded", **files(lock[name])}
            for name, there in packages.items()
        ],
        "dependencies": [
            {"ref": purl(there), "dependsOn": needed(there)} for there in (distribution("relulab"), *packages.values())
        ],
    }


def described(there: Distribution) -> dict[str, Any]:
    """Give the name, version, license and address of a package."""
    name = canonicalize_name(there.metadata["Name"])
    texts = {"type": "library", "bom-ref": purl(there), "name": name, "version": there.version, "purl": purl(there)}
    license = license_of(there)
    return {**texts, "licenses": [license]} if license else texts


def license_of(there: Distribution) -> dict[str, Any]:
    """Find the license of a package: as an expression if it states one, otherwise by the name that it uses."""
    stated = "".join((there.metadata.get_all("License-Expression") or there.metadata.get_all("License") or [])[:1])
    classified = [text for text in there.metadata.get_all("Classifier") or [] if text.startswith("License ::")]
    try:
        return {"expression": str(canonicalize_license_expression(stated))}
    except InvalidLicenseExpression:
        short = stated if stated and "\n" not in stated.strip() and len(stated) < 80 else ""
        name = short or ", ".join(text.split(" :: ")[-1] for text in classified)
        return {"license": {"name": name}} if name else {}


def purl(there: Distribution) -> str:
    """Write the address of a package, such as pkg:pypi/torch@2.13.0%2Bcpu."""
    return f"pkg:pypi/{canonicalize_name(there.metadata['Name'])}@{there.version.replace('+', '%2B')}"


def files(entry: Locked) -> dict[str, Any]:
    """List the checksums of the files that a package may be installed from."""
    hashes = [{"alg": "SHA-256", "content": content} for content in entry.hashes]
    url = f"pkg:pypi/{entry.name}@{entry.version}"
    return {"externalReferences": [{"type": "distribution", "url": url, "hashes": hashes}]}


def needed(there: Distribution) -> list[str]:
    """List the packages that a package needs here without extras, by their addresses."""
    return sorted({purl(distribution(one.name)) for one in needs(Requirement(there.metadata["Name"]))})


if __name__ == "__main__":
    main()
