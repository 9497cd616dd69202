#!/usr/bin/env python3
"""sbom.py TREE: makes an SBOM of what cargo-cyclonedx writes.

Reads its JSON from standard input. TREE holds the lines that `cargo tree` prints for the same target. Components that
are not in it are left out: cargo's metadata counts crates that no chosen feature takes. Paths of this machine are
replaced.
"""

import json
import re
import sys

LOCAL_REF = re.compile(r"path\+file://[^#]*#")
LOCAL_PURL = re.compile(r"\?download_url=file://[^#]*")


def without_paths(value):
    """The value, with the package itself named as a package and not as a directory."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    if isinstance(value, str):
        return LOCAL_PURL.sub("", LOCAL_REF.sub("package#", value))
    return value


def crates(tree):
    """Name and version of each crate that cargo tree lists."""
    with open(tree, encoding="utf-8") as lines:
        pairs = (line.split()[:2] for line in lines if line.strip())
        return {(name, version.removeprefix("v")) for name, version in pairs}


def main():
    """Filters standard input to standard output."""
    taken = crates(sys.argv[1])
    sbom = without_paths(json.load(sys.stdin))
    sbom["components"] = [one for one in sbom["components"] if (one["name"], one["version"]) in taken]
    refs = {one["bom-ref"] for one in sbom["components"]} | {sbom["metadata"]["component"]["bom-ref"]}
    sbom["dependencies"] = [one for one in sbom["dependencies"] if one["ref"] in refs]
    for one in sbom["dependencies"]:
        if "dependsOn" in one:
            one["dependsOn"] = [ref for ref in one["dependsOn"] if ref in refs]
    json.dump(sbom, sys.stdout, indent=2, ensure_ascii=False)
    print()


main()
