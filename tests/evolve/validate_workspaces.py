"""validate_workspaces.py SCHEMAS WORKSPACE…

Holds workspaces of `aiden-skills evolve` to the schemas in the directory SCHEMAS, with an implementation of JSON Schema
that is not ours, and to what schemas can't say. Prints a line for each fault; exits with 1 if there is one, and with 2
if it can't check. It expects workspaces that an engine has written, and whose last command came to its end.
"""

import json
import pathlib
import re
import sys

import jsonschema
from jsonschema.validators import extend

KINDS = ("manifest", "bank", "experience", "audit", "snapshot", "proposal", "decision")
# Where a document lies by the first letters of its name, and which field names it.
TOP = {"manifest.json": "manifest", "skill_bank.json": "bank"}
DIRECTORIES = {
    "experience": {"exp-": "experience"},
    "audit": {"aud-": "audit", "prop-": "proposal", "dec-": "decision"},
    "snapshots": {"snap-": "snapshot"},
}
IDS = {
    "experience": "experience_id",
    "audit": "audit_id",
    "snapshot": "snapshot_id",
    "proposal": "proposal_id",
    "decision": "decision_id",
}
# Files of the engine itself, such as its lock.
OURS = ".aiden-"
MUTATIONS = ("skill_added", "skill_merged", "skill_superseded", "skill_synthesized")


def die(why):
    print(f"validate_workspaces: {why}", file=sys.stderr)
    sys.exit(2)


def whole_pattern(validator, pattern, instance, _schema):
    """As JSON Schema means it: Python's `$` also matches before a newline at the end."""
    if validator.is_type(instance, "string") and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def checker_of_formats():
    """Without the package rfc3339-validator every text would pass for a time."""
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for wrong in ("2026-02-30T09:15:00Z", "2026-03-28", "yesterday"):
        if checker.conforms(wrong, "date-time"):
            die(f"{wrong!r} passes for a time; install rfc3339-validator")
    if not checker.conforms("2026-03-28T09:15:00Z", "date-time"):
        die("a good time is refused")
    return checker


def validators_of(directory):
    checker = checker_of_formats()
    validator = extend(jsonschema.Draft202012Validator, {"pattern": whole_pattern})
    validators = {}
    for kind in KINDS:
        schema = json.loads((directory / f"{kind}.json").read_text("utf-8"))
        validator.check_schema(schema)
        validators[kind] = validator(schema, format_checker=checker)
    return validators


def once(pairs):
    """An object; the reader of Python would take the last of two equal names."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)


def no_number(text):
    raise ValueError(f"{text} is no JSON")


def read(path):
    data = path.read_bytes()
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("begins with a byte order mark")
    return json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=no_number)


class Workspace:
    def __init__(self, root, validators):
        self.root = root
        self.validators = validators
        self.faults = []
        # By kind, then by file name without its ending; only what is an object.
        self.documents = {kind: {} for kind in KINDS}

    def fault(self, path, text):
        self.faults.append(f"{path}: {text}")

    def collect(self):
        if not self.root.is_dir():
            self.fault(self.root, "is no directory")
            return
        for path in sorted(self.root.iterdir()):
            if path.name.startswith(OURS):
                continue
            if path.name in DIRECTORIES and path.is_dir() and not path.is_symlink():
                for file in sorted(path.iterdir()):
                    if not file.name.startswith(OURS):
                        self.take(file, self.kind(file.name, DIRECTORIES[path.name]))
            else:
                self.take(path, TOP.get(path.name))
        for name in TOP:
            if not (self.root / name).exists():
                self.fault(self.root / name, "is missing")

    @staticmethod
    def kind(name, kinds):
        if name.endswith(".json"):
            return next((kind for prefix, kind in kinds.items() if name.startswith(prefix)), None)
        return None

    def take(self, path, kind):
        if kind is None:
            self.fault(path, "does not belong into a workspace")
            return
        if path.is_symlink() or not path.is_file():
            self.fault(path, "is no regular file")
            return
        try:
            document = read(path)
        except (OSError, ValueError, RecursionError) as error:
            self.fault(path, error)
            return
        self.check(path, kind, document)
        if isinstance(document, dict):
            self.documents[kind][path.stem] = document

    def check(self, path, kind, document, within="$"):
        """By the schema of its kind, and what is true of a document of that kind alone."""
        for error in self.validators[kind].iter_errors(document):
            self.fault(path, f"{within}{error.json_path[1:]}: {error.message}")
        if not isinstance(document, dict):
            return
        if kind in IDS and document.get(IDS[kind]) != path.stem:
            self.fault(path, f"{within}.{IDS[kind]}: is not the name of the file")
        if kind == "bank" and isinstance(document.get("skills"), list):
            seen = set()
            for entry in document["skills"]:
                name = entry.get("skill_entry_id") if isinstance(entry, dict) else None
                if isinstance(name, str) and name in seen:
                    self.fault(path, f"{within}.skills: two entries are {name}")
                elif isinstance(name, str):
                    seen.add(name)
        if kind == "snapshot":
            self.check(path, "manifest", document.get("manifest"), "$.manifest")
            self.check(path, "bank", document.get("skill_bank"), "$.skill_bank")

    def each(self, kind):
        directory = next((name for name, kinds in DIRECTORIES.items() if kind in kinds.values()))
        for name, document in self.documents[kind].items():
            yield self.root / directory / f"{name}.json", name, document

    def has(self, kind, name):
        return isinstance(name, str) and name in self.documents[kind]

    def audited(self, event_type, subject):
        audits = self.documents["audit"].values()
        return any(one.get("event_type") == event_type and one.get("subject_id") == subject for one in audits)

    def check_together(self):
        """What is true of documents only with regard to others."""
        # Without a manifest there is nothing to compare with, and that is told already.
        manifest = self.documents["manifest"].get("manifest", {})
        skill = manifest.get("skill_id")
        for kind in IDS:
            for path, _, document in self.each(kind):
                one = document.get("manifest") if kind == "snapshot" else document
                if skill is not None and isinstance(one, dict) and one.get("skill_id") != skill:
                    self.fault(path, f"skill_id: is not the {skill!r} of the manifest")
        for path, name, _ in self.each("snapshot"):
            if not self.audited("snapshot_created", name):
                self.fault(path, "no audit entry tells of this snapshot")
        for path, name, _ in self.each("proposal"):
            if not self.audited("proposal_created", name):
                self.fault(path, "no audit entry tells of this proposal")
        for path, _, document in self.each("decision"):
            if not self.has("proposal", document.get("proposal_id")):
                self.fault(path, "$.proposal_id: there is no such proposal")
        for path, _, document in self.each("audit"):
            details = document.get("details")
            if document.get("event_type") not in MUTATIONS or not isinstance(details, dict):
                continue
            changed = details.get("outcome") != "no_reduction"
            if changed and not self.has("snapshot", details.get("snapshot_id")):
                self.fault(path, "$.details.snapshot_id: names no snapshot")


def main(arguments):
    if len(arguments) < 2:
        die("usage: validate_workspaces.py SCHEMAS WORKSPACE…")
    # Names of files and what stands in them may be anything.
    sys.stdout.reconfigure(errors="backslashreplace")
    validators = validators_of(pathlib.Path(arguments[0]))
    faults = []
    for argument in arguments[1:]:
        workspace = Workspace(pathlib.Path(argument), validators)
        workspace.collect()
        workspace.check_together()
        faults += workspace.faults
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
