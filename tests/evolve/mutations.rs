//! `evolve validate`: a workspace with every kind of document is good, and each of these changes of it is found, in the
//! file that it was made in. The tables are what the files of a workspace must be like.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{self, Run, bare_command};

const MANIFEST: &str = "manifest.json";
const BANK: &str = "skill_bank.json";
const FIRST_EXPERIENCE: &str = "experience/exp-0a1b2c3d4e5f.json";
const EXPERIENCE: &str = "experience/exp-112233445566.json";
const AUDIT: &str = "audit/aud-000000000002.json";
const SNAPSHOT: &str = "snapshots/snap-e5f6a7b8c9d0.json";
const PROPOSAL: &str = "audit/prop-aabbccddeeff.json";
/// What a governor calls a decision is its own affair.
const DECISION: &str = "audit/dec-2026.q1_A-7.json";

/// A document of each kind.
const ALL: [&str; 7] = [
    MANIFEST, BANK, EXPERIENCE, AUDIT, SNAPSHOT, PROPOSAL, DECISION,
];

/// The first ones of the bank, of the snapshot's and of the manifest.
const ENTRY: &str = "skills/0";
const KEPT_ENTRY: &str = "skill_bank/skills/0";
const CONTRACT: &str = "metadata/contract";
const MANAGED: &str = "metadata/contract/managed_files/0";

/// Where an error must name the field.
#[derive(Clone, Copy)]
enum Named<'a> {
    /// In its path.
    InPath(&'a str),
    /// In its path or in what it says.
    Anywhere(&'a str),
    /// The file is enough.
    Nowhere,
}

/// A directory with the files of a workspace.
struct Documents(TempDir);

impl Documents {
    /// A governed workspace: two lessons were recorded, the second was proposed, and its governor promoted it.
    fn good() -> Self {
        let documents = Self(tempfile::tempdir().unwrap());
        let before = manifest("1.2.0");
        let mut after = manifest("1.2.1");
        after["official_ref"] =
            json!({"baseline_version": "1.2.1", "promotion_decision_id": stem(DECISION)});
        documents.put(MANIFEST, &after);
        documents.put(BANK, &json!({"skills": [first_entry(), second_entry()]}));
        documents.put(
            FIRST_EXPERIENCE,
            &json!({
                "experience_id": stem(FIRST_EXPERIENCE), "skill_id": SKILL,
                "recorded_at": "2026-03-20T10:59:00Z", "lesson": "Identify table headers first",
                "feedback_status": "positive", "feedback_source": "explicit",
                "feedback_confidence": 0.9
            }),
        );
        documents.put(
            EXPERIENCE,
            &json!({
                "experience_id": stem(EXPERIENCE), "skill_id": SKILL,
                "recorded_at": "2026-03-31T14:58:00Z", "task_signature": "api_rate_limiting",
                "lesson": "Avoid this failure pattern: no pause after HTTP 429",
                "feedback_status": "negative", "feedback_source": "execution_result",
                "feedback_confidence": 0.7, "reasoning": "The server said so.",
                "execution_id": "exec-1", "cross_rollout_critique": "The run before failed too.",
                "metadata": {"retrieved": 3}
            }),
        );
        documents.audit(1, "experience_recorded", stem(FIRST_EXPERIENCE), "RECORD");
        documents.audit(2, "experience_recorded", stem(EXPERIENCE), "RECORD");
        documents.audit(3, "proposal_created", stem(PROPOSAL), "PROPOSE");
        documents.audit(4, "snapshot_created", stem(SNAPSHOT), "SNAPSHOT");
        documents.audit(5, "proposal_accepted", stem(PROPOSAL), "promoted");
        documents.put(
            SNAPSHOT,
            &json!({
                "snapshot_id": stem(SNAPSHOT), "created_at": "2026-03-31T16:01:00Z",
                "reason": "Before ADD on skill entry new",
                "manifest": before, "skill_bank": {"skills": [first_entry()]}
            }),
        );
        documents.put(
            PROPOSAL,
            &json!({
                "schema_name": "SkillProposal", "schema_version": "1.0.0",
                "protocol_version": "1.0.0", "proposal_id": stem(PROPOSAL), "skill_id": SKILL,
                "created_at": "2026-03-31T15:00:00Z",
                "proposer": {"authority": "local", "id": "aiden-skills/0.1.0"},
                "status": "candidate", "proposal_type": "new_skill", "base_version": "1.2.0",
                "target_version": "1.2.1", "change_summary": "ADD: no pause after HTTP 429",
                "proposed_action": "ADD", "proposed_payload": second_entry(),
                "artifacts": [{"type": "evidence", "ref": EXPERIENCE}]
            }),
        );
        documents.put(
            DECISION,
            &json!({
                "schema_name": "PromotionDecision", "schema_version": "1.0.0",
                "protocol_version": "1.0.0", "decision_id": stem(DECISION),
                "proposal_id": stem(PROPOSAL), "skill_id": SKILL,
                "decided_at": "2026-03-31T16:00:00Z",
                "decider": {"authority": "governor", "id": GOVERNOR},
                "outcome": "promoted", "reason": "There is evidence.",
                "effective_version": "1.2.1", "evidence_refs": [EXPERIENCE]
            }),
        );
        documents
    }

    fn audit(&self, number: u32, event: &str, subject: &str, action: &str) {
        let id = format!("aud-{number:012x}");
        let audit = json!({
            "audit_id": id, "created_at": format!("2026-03-31T16:01:{number:02}Z"),
            "event_type": event, "skill_id": SKILL, "subject_id": subject,
            "actor": "aiden-skills/0.1.0",
            "details": {"action": action, "reasoning": "As the rules say"}, "evidence_refs": []
        });
        self.put(&format!("audit/{id}.json"), &audit);
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn put(&self, file: &str, document: &Value) {
        let text = serde_json::to_string_pretty(document).unwrap();
        common::write(&self.path(file), text + "\n");
    }

    fn bytes(&self, file: &str) -> Vec<u8> {
        fs::read(self.path(file)).unwrap()
    }

    fn change(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let mut document = serde_json::from_slice(&self.bytes(file)).unwrap();
        change(&mut document);
        self.put(file, &document);
    }

    /// Puts a value where `field` says, from the top of the document.
    fn set(&self, file: &str, field: &str, value: &Value) {
        self.change(file, |document| {
            match parent(document, field) {
                (Value::Object(object), name) => {
                    let old = object.insert(name.to_owned(), value.clone());
                    assert_ne!(old.as_ref(), Some(value), "{file} {field} is that already");
                }
                (Value::Array(items), index) => {
                    items[index.parse::<usize>().unwrap()] = value.clone();
                }
                (other, _) => panic!("{file} {field}: {other} has no fields"),
            };
        });
    }

    fn unset(&self, file: &str, field: &str) {
        self.change(file, |document| {
            let (object, name) = parent(document, field);
            let old = object.as_object_mut().unwrap().remove(name);
            assert!(old.is_some(), "{file} has no {field}");
        });
    }

    fn validate(&self) -> Run {
        let mut command = bare_command();
        command.args(["--json", "evolve", "validate", "--workspace"]);
        common::run(command.arg(self.0.path()))
    }

    /// Nothing is wrong; the warnings.
    #[track_caller]
    fn warnings(&self) -> Vec<Value> {
        let report = self.validate().expect(0).json();
        assert_eq!(report["errors"], json!([]), "{report:#}");
        report["warnings"].as_array().unwrap().clone()
    }

    /// There is an error in this file, and it names the field; else what is there instead.
    fn finds(&self, file: &str, named: Named<'_>) -> Result<(), String> {
        let run = self.validate();
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let has = |error: &Value, key: &str, text: &str| {
            error[key]
                .as_str()
                .is_some_and(|value| value.contains(text))
        };
        let is_it = |error: &Value| {
            let path = Path::new(error["file"].as_str().unwrap_or_default());
            let field = match named {
                Named::InPath(field) => has(error, "path", field),
                Named::Anywhere(field) => has(error, "path", field) || has(error, "error", field),
                Named::Nowhere => true,
            };
            path.ends_with(file) && field && error["path"].is_string() && has(error, "error", "")
        };
        let errors = report["errors"].as_array().map(Vec::as_slice);
        if run.code == 3 && errors.unwrap_or_default().iter().any(is_it) {
            return Ok(());
        }
        Err(format!("exit {}, {} {}", run.code, run.stdout, run.stderr))
    }
}

const SKILL: &str = "investment-advisor.skill";
const GOVERNOR: &str = "agent-skill-governor";

fn manifest(version: &str) -> Value {
    json!({
        "schema_name": "SkillManifest", "schema_version": "1.0.0", "protocol_version": "1.0.0",
        "skill_id": SKILL, "name": "Investment Advisor", "version": version,
        "description": "Looks at portfolios.",
        "governance": {
            "mode": "governed", "official_status": "official", "governor_id": GOVERNOR,
            "handshake_required": true
        },
        "capability": {"level": "native", "summary": "Recommendations with their risk"},
        "compatibility": {"min_protocol_version": "1.0.0", "max_protocol_version": "1.0.0"},
        "metadata": {
            "owner": "finance-team",
            "contract": {
                "min_feedback_confidence": 0.5, "synthesis_threshold": 10, "auto_promote": false,
                "managed_files": [{"path": "SKILL.md", "kind": "markdown"}]
            }
        }
    })
}

fn first_entry() -> Value {
    json!({
        "skill_entry_id": "skl-c3d4e5f6a7b8", "title": "Tables in web pages",
        "content": "# Tables\n- Identify table headers first\n- Expand merged cells",
        "version": "0.1.0", "task_signature": "table_extraction", "keywords": ["table", "html"],
        "source_experience_ids": [stem(FIRST_EXPERIENCE)], "updated_at": "2026-03-20T11:00:00Z"
    })
}

fn second_entry() -> Value {
    json!({
        "skill_entry_id": "skl-b2c3d4e5f6a7", "title": "No pause after HTTP 429",
        "content": "- Avoid this failure pattern: no pause after HTTP 429", "version": "0.1.0",
        "task_signature": "api_rate_limiting", "keywords": ["http", "429", "pause"],
        "source_experience_ids": [stem(EXPERIENCE)], "updated_at": "2026-03-31T16:01:01Z"
    })
}

/// The identifier that a file is named by.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap();
    name.strip_suffix(".json").unwrap()
}

/// What holds a field, and the field's name there.
fn parent<'a, 'b>(document: &'a mut Value, field: &'b str) -> (&'a mut Value, &'b str) {
    let (above, name) = field.rsplit_once('/').unwrap_or(("", field));
    let pointer = if above.is_empty() {
        String::new()
    } else {
        format!("/{above}")
    };
    let holder = document.pointer_mut(&pointer);
    (
        holder.unwrap_or_else(|| panic!("there is no {above}")),
        name,
    )
}

/// The last name of a field's place, without numbers.
fn last_name(field: &str) -> &str {
    let is_name = |part: &&str| part.parse::<usize>().is_err();
    field.rsplit('/').find(is_name).unwrap()
}

/// The names with this before them.
fn under(place: &str, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{place}/{name}")).collect()
}

/// What was tried and not found, all of it at once.
#[derive(Default)]
struct Missed {
    tried: usize,
    missed: Vec<String>,
}

impl Missed {
    fn note(&mut self, what: &str, found: Result<(), String>) {
        self.tried += 1;
        if let Err(instead) = found {
            self.missed.push(format!("{what}: {instead}"));
        }
    }

    #[track_caller]
    fn none(&self, at_least: usize) {
        let Self { tried, missed } = self;
        assert!(
            missed.is_empty(),
            "{} of {tried}: {missed:#?}",
            missed.len()
        );
        assert!(*tried >= at_least, "only {tried} were tried");
    }
}

/// Each of these values, where it is put, is an error whose path has the field's name.
#[track_caller]
fn all_are_found(table: &[(&str, &str, Value)]) {
    let mut missed = Missed::default();
    for (file, field, value) in table {
        let documents = Documents::good();
        documents.set(file, field, value);
        let found = documents.finds(file, Named::InPath(last_name(field)));
        missed.note(&format!("{file} {field} = {value}"), found);
    }
    missed.none(table.len());
}

#[test]
fn a_workspace_with_every_kind_of_document_is_valid() {
    let documents = Documents::good();
    let report = documents.validate().expect(0).json();
    let expected = json!({"files": 12, "errors": [], "warnings": []});
    assert_eq!(report, expected);
}

#[test]
fn a_field_that_must_be_there_is_missed() {
    let entry = [
        "skill_entry_id",
        "title",
        "content",
        "version",
        "updated_at",
    ];
    let manifest = [
        "schema_name",
        "schema_version",
        "protocol_version",
        "skill_id",
        "name",
        "version",
        "governance",
        "governance/mode",
        "capability",
        "compatibility",
        "metadata/contract/managed_files/0/path",
    ];
    let experience = [
        "experience_id",
        "skill_id",
        "recorded_at",
        "lesson",
        "feedback_status",
        "feedback_source",
        "feedback_confidence",
    ];
    let audit = [
        "audit_id",
        "created_at",
        "event_type",
        "skill_id",
        "details",
    ];
    let snapshot = [
        "snapshot_id",
        "created_at",
        "reason",
        "manifest",
        "skill_bank",
        "skill_bank/skills",
    ];
    let proposal = [
        "schema_name",
        "schema_version",
        "protocol_version",
        "proposal_id",
        "skill_id",
        "created_at",
        "proposer",
        "proposer/authority",
        "proposer/id",
        "status",
        "proposal_type",
        "base_version",
        "target_version",
        "change_summary",
        "proposed_action",
        "proposed_payload",
        "artifacts",
        "artifacts/0/type",
        "artifacts/0/ref",
    ];
    let decision = [
        "schema_name",
        "schema_version",
        "protocol_version",
        "decision_id",
        "proposal_id",
        "skill_id",
        "decided_at",
        "decider",
        "decider/authority",
        "decider/id",
        "outcome",
        "reason",
    ];
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let table: [(&str, Vec<String>); 10] = [
        (MANIFEST, own(&manifest)),
        (BANK, own(&["skills"])),
        (BANK, under(ENTRY, &entry)),
        (EXPERIENCE, own(&experience)),
        (AUDIT, own(&audit)),
        (SNAPSHOT, own(&snapshot)),
        (SNAPSHOT, under(KEPT_ENTRY, &entry)),
        (SNAPSHOT, under("manifest", &manifest)),
        (PROPOSAL, own(&proposal)),
        (DECISION, own(&decision)),
    ];
    let mut missed = Missed::default();
    for (file, fields) in &table {
        for field in fields {
            let documents = Documents::good();
            documents.unset(file, field);
            let found = documents.finds(file, Named::Anywhere(last_name(field)));
            missed.note(&format!("{file} without {field}"), found);
        }
    }
    missed.none(80);
}

#[test]
fn whatever_else_there_is_may_be_left_out() {
    let table: [(&str, &[&str]); 6] = [
        (
            MANIFEST,
            &[
                "description",
                "governance/official_status",
                "governance/governor_id",
                "governance/handshake_required",
                "official_ref",
                "metadata/owner",
                "metadata/contract/min_feedback_confidence",
                "metadata/contract/synthesis_threshold",
                "metadata/contract/auto_promote",
                "metadata/contract/managed_files/0/kind",
                "metadata/contract/managed_files",
                "metadata/contract",
                "metadata",
            ],
        ),
        (
            BANK,
            &[
                "skills/0/task_signature",
                "skills/0/keywords",
                "skills/0/source_experience_ids",
            ],
        ),
        (
            EXPERIENCE,
            &[
                "task_signature",
                "reasoning",
                "execution_id",
                "cross_rollout_critique",
                "metadata",
            ],
        ),
        (AUDIT, &["subject_id", "actor", "evidence_refs"]),
        (SNAPSHOT, &["manifest/description", "manifest/metadata"]),
        (DECISION, &["effective_version", "evidence_refs"]),
    ];
    let documents = Documents::good();
    for (file, fields) in table {
        for field in fields {
            documents.unset(file, field);
        }
    }
    assert_eq!(documents.warnings(), [] as [Value; 0]);
}

#[test]
fn a_value_of_the_wrong_type_is_found() {
    let contract = |name: &str| format!("{CONTRACT}/{name}");
    let managed = contract("managed_files");
    let path = format!("{MANAGED}/path");
    all_are_found(&[
        (MANIFEST, "name", json!(7)),
        (MANIFEST, "version", json!(1.2)),
        (MANIFEST, "description", json!(["Looks at portfolios."])),
        (MANIFEST, "governance", json!("governed")),
        (MANIFEST, "governance/mode", json!(true)),
        (MANIFEST, "governance/governor_id", json!(7)),
        (MANIFEST, "governance/handshake_required", json!("yes")),
        (MANIFEST, "capability", json!([])),
        (MANIFEST, "capability/summary", Value::Null),
        (MANIFEST, "compatibility", json!("1.0.0")),
        (MANIFEST, "official_ref", json!("dec-1")),
        (MANIFEST, "metadata", json!([])),
        (MANIFEST, "metadata/owner", json!({})),
        (MANIFEST, CONTRACT, json!([])),
        (MANIFEST, &contract("min_feedback_confidence"), json!("0.5")),
        (MANIFEST, &contract("synthesis_threshold"), json!(1.5)),
        (MANIFEST, &contract("auto_promote"), json!("false")),
        (MANIFEST, &managed, json!({"path": "SKILL.md"})),
        (MANIFEST, MANAGED, json!("SKILL.md")),
        (MANIFEST, &path, json!(7)),
        (BANK, "skills", json!({})),
        (BANK, ENTRY, json!("- Identify table headers first")),
        (BANK, "skills/0/title", json!(7)),
        (BANK, "skills/0/content", json!(["- Expand merged cells"])),
        (BANK, "skills/0/task_signature", Value::Null),
        (BANK, "skills/0/keywords", json!("table")),
        (BANK, "skills/0/keywords/1", json!(429)),
        (BANK, "skills/0/source_experience_ids", json!({})),
        (BANK, "skills/0/source_experience_ids/0", json!(7)),
        (BANK, "skills/0/updated_at", json!(1_774_004_400)),
        (EXPERIENCE, "lesson", json!({})),
        (EXPERIENCE, "feedback_status", json!(true)),
        (EXPERIENCE, "feedback_confidence", json!("0.7")),
        (EXPERIENCE, "task_signature", json!(["api"])),
        (EXPERIENCE, "reasoning", Value::Null),
        (EXPERIENCE, "execution_id", json!(1)),
        (EXPERIENCE, "cross_rollout_critique", json!(["It failed."])),
        (EXPERIENCE, "metadata", json!([])),
        (AUDIT, "subject_id", json!(7)),
        (AUDIT, "actor", json!({"name": "me"})),
        (AUDIT, "details", json!("RECORD")),
        (AUDIT, "evidence_refs", json!("experience")),
        (AUDIT, "evidence_refs", json!([7])),
        (SNAPSHOT, "reason", json!([])),
        (SNAPSHOT, "manifest", json!("manifest.json")),
        (SNAPSHOT, "skill_bank", json!([])),
        (PROPOSAL, "proposer", json!("me")),
        (PROPOSAL, "proposer/id", json!(7)),
        (PROPOSAL, "change_summary", json!([])),
        (PROPOSAL, "proposed_payload", json!("- A bullet")),
        (PROPOSAL, "artifacts", json!({})),
        (PROPOSAL, "artifacts/0", json!(EXPERIENCE)),
        (PROPOSAL, "artifacts/0/ref", json!(7)),
        (DECISION, "decider", json!(GOVERNOR)),
        (DECISION, "decider/id", json!(7)),
        (DECISION, "reason", Value::Null),
        (DECISION, "effective_version", json!(1)),
        (DECISION, "evidence_refs", json!({})),
    ]);
}

#[test]
fn a_value_that_may_not_be_is_found() {
    let contract = |name: &str| format!("{CONTRACT}/{name}");
    let confidence = contract("min_feedback_confidence");
    let kind = format!("{MANAGED}/kind");
    let oldest = "compatibility/min_protocol_version";
    let decided = "official_ref/promotion_decision_id";
    all_are_found(&[
        (MANIFEST, "schema_name", json!("SkillManifests")),
        (MANIFEST, "schema_version", json!("2.0.0")),
        (MANIFEST, "protocol_version", json!("1.0")),
        (MANIFEST, "skill_id", json!("Investment Advisor")),
        (MANIFEST, "skill_id", json!(".skill")),
        (MANIFEST, "skill_id", json!("")),
        (MANIFEST, "version", json!("1.2")),
        (MANIFEST, "version", json!("v1.2.1")),
        (MANIFEST, "version", json!("1.2.1-rc.1")),
        (MANIFEST, "version", json!("1.2.1\n")),
        (MANIFEST, "governance/mode", json!("govrened")),
        (MANIFEST, "governance/official_status", json!("unofficial")),
        (MANIFEST, "capability/level", json!("Native")),
        (MANIFEST, oldest, json!("1")),
        (MANIFEST, "official_ref/baseline_version", json!("latest")),
        (MANIFEST, decided, json!("decision-1")),
        (MANIFEST, decided, json!("dec-")),
        (MANIFEST, &confidence, json!(1.01)),
        (MANIFEST, &confidence, json!(-0.01)),
        (MANIFEST, &contract("synthesis_threshold"), json!(0)),
        (MANIFEST, &kind, json!("yaml")),
        (BANK, "skills/0/skill_entry_id", json!("skl-c3d4e5f6a7b")),
        (BANK, "skills/0/skill_entry_id", json!("skl-c3d4e5f6a7b8c")),
        (BANK, "skills/0/skill_entry_id", json!("skl-C3D4E5F6A7B8")),
        (BANK, "skills/0/skill_entry_id", json!("exp-c3d4e5f6a7b8")),
        (BANK, "skills/0/title", json!("")),
        (BANK, "skills/0/content", json!("")),
        (BANK, "skills/0/version", json!("0.1")),
        (BANK, "skills/0/version", json!("0.1.x")),
        (EXPERIENCE, "experience_id", json!("exp-11223344556g")),
        (EXPERIENCE, "skill_id", json!("-skill")),
        (EXPERIENCE, "lesson", json!("")),
        (EXPERIENCE, "feedback_status", json!("neutral")),
        (EXPERIENCE, "feedback_source", json!("guess")),
        (EXPERIENCE, "feedback_confidence", json!(1.5)),
        (EXPERIENCE, "feedback_confidence", json!(-0.1)),
        (AUDIT, "audit_id", json!("audit-2")),
        (AUDIT, "event_type", json!("skill_removed")),
        (AUDIT, "skill_id", json!("a b")),
        (SNAPSHOT, "snapshot_id", json!("snap-1")),
        (SNAPSHOT, "reason", json!("")),
        (PROPOSAL, "schema_name", json!("SkillManifest")),
        (PROPOSAL, "schema_version", json!("one")),
        (PROPOSAL, "protocol_version", json!("1")),
        (PROPOSAL, "proposal_id", json!("prop-xyz")),
        (PROPOSAL, "skill_id", json!("A")),
        (PROPOSAL, "proposer/authority", json!("governor")),
        (PROPOSAL, "status", json!("pending")),
        (PROPOSAL, "proposal_type", json!("skill_removal")),
        (PROPOSAL, "base_version", json!("1.2")),
        (PROPOSAL, "target_version", json!("next")),
        (PROPOSAL, "proposed_action", json!("DISCARD")),
        (DECISION, "schema_name", json!("Decision")),
        (DECISION, "schema_version", json!("1.0.0.0")),
        (DECISION, "protocol_version", json!("")),
        (DECISION, "decision_id", json!("dec-a/b")),
        (DECISION, "proposal_id", json!("aabbccddeeff")),
        (DECISION, "skill_id", json!("_")),
        (DECISION, "decider/authority", json!("local")),
        (DECISION, "outcome", json!("approved")),
        (DECISION, "effective_version", json!("1.3")),
    ]);
}

#[test]
fn a_time_is_one_that_there_is_in_whole_seconds_and_ends_in_z() {
    let fields = [
        (BANK, "skills/1/updated_at"),
        (EXPERIENCE, "recorded_at"),
        (AUDIT, "created_at"),
        (SNAPSHOT, "created_at"),
        (PROPOSAL, "created_at"),
        (PROPOSAL, "submitted_at"),
        (DECISION, "decided_at"),
    ];
    let wrong = [
        "2026-03-28T09:15:00",
        "2026-03-28T09:15:00+00:00",
        "2026-03-28T09:15:00.5Z",
        "2026-03-28 09:15:00Z",
        "2026-03-28T09:15:00z",
        "2026-03-28T09:15:00Z\n",
        "2026-02-30T09:15:00Z",
        "2026-03-28T25:15:00Z",
        "2026-03-28",
        "",
    ];
    let each = |(file, field)| wrong.map(|time| (file, field, json!(time)));
    let table: Vec<_> = fields.into_iter().flat_map(each).collect();
    all_are_found(&table);
}

#[test]
fn a_field_that_is_not_known_is_found_where_objects_are_closed() {
    let closed = [
        (BANK, "surprise"),
        (BANK, "skills/1/surprise"),
        (EXPERIENCE, "surprise"),
        (AUDIT, "surprise"),
        (SNAPSHOT, "surprise"),
        (SNAPSHOT, "skill_bank/surprise"),
        (SNAPSHOT, "skill_bank/skills/0/surprise"),
        (PROPOSAL, "surprise"),
        (PROPOSAL, "proposer/surprise"),
        (PROPOSAL, "artifacts/0/surprise"),
        (DECISION, "surprise"),
        (DECISION, "decider/surprise"),
    ];
    let mut missed = Missed::default();
    for (file, field) in closed {
        let documents = Documents::good();
        documents.set(file, field, &json!("!"));
        let found = documents.finds(file, Named::Anywhere("surprise"));
        missed.note(&format!("{file} with {field}"), found);
    }
    missed.none(closed.len());
}

#[test]
fn a_field_that_is_not_known_is_fine_in_manifests_and_where_anything_may_stand() {
    let documents = Documents::good();
    let open = [
        (MANIFEST, "surprise"),
        (MANIFEST, "governance/surprise"),
        (MANIFEST, "capability/surprise"),
        (MANIFEST, "compatibility/surprise"),
        (MANIFEST, "official_ref/surprise"),
        (MANIFEST, "metadata/surprise"),
        (MANIFEST, "metadata/contract/surprise"),
        (MANIFEST, "metadata/contract/managed_files/0/surprise"),
        (EXPERIENCE, "metadata/surprise"),
        (AUDIT, "details/surprise"),
        (SNAPSHOT, "manifest/surprise"),
        (PROPOSAL, "proposed_payload/surprise"),
    ];
    for (file, field) in open {
        documents.set(file, field, &json!({"list": [1, null]}));
    }
    documents.warnings();
}

#[test]
fn the_ends_of_the_ranges_are_within_them() {
    let documents = Documents::good();
    documents.set(BANK, "skills/0/version", &json!("10.200.3000"));
    let least = format!("{CONTRACT}/min_feedback_confidence");
    let threshold = format!("{CONTRACT}/synthesis_threshold");
    for end in [0, 1] {
        documents.set(MANIFEST, &least, &json!(end));
        documents.set(EXPERIENCE, "feedback_confidence", &json!(end));
        documents.set(MANIFEST, &threshold, &json!(1 + 999 * end));
        documents.warnings();
    }
}

/// Also in those of a snapshot, which would come back.
#[test]
fn two_entries_never_have_one_identifier() {
    let documents = Documents::good();
    let id = &first_entry()["skill_entry_id"];
    documents.set(BANK, "skills/1/skill_entry_id", id);
    documents.finds(BANK, Named::Nowhere).unwrap();

    let documents = Documents::good();
    let twice = json!([first_entry(), first_entry()]);
    documents.set(SNAPSHOT, "skill_bank/skills", &twice);
    documents.finds(SNAPSHOT, Named::Nowhere).unwrap();
}

#[test]
fn a_snapshot_holds_a_manifest_and_a_bank_that_are_valid() {
    all_are_found(&[
        (SNAPSHOT, "manifest/governance/mode", json!("govrened")),
        (SNAPSHOT, "manifest/version", json!("1.2")),
        (SNAPSHOT, "manifest/skill_id", json!("A")),
        (SNAPSHOT, "manifest/metadata/contract", json!([])),
        (SNAPSHOT, "skill_bank/skills", json!({})),
        (SNAPSHOT, "skill_bank/skills/0/title", json!("")),
        (SNAPSHOT, "skill_bank/skills/0/version", json!("1")),
        (SNAPSHOT, "skill_bank/skills/0/keywords", json!("table")),
        (
            SNAPSHOT,
            "skill_bank/skills/0/updated_at",
            json!("2026-03-20T11:00:00"),
        ),
    ]);
}

#[test]
fn a_file_is_named_by_its_identifier() {
    let others = [
        (EXPERIENCE, "experience_id", "exp-ffffffffffff"),
        (AUDIT, "audit_id", "aud-ffffffffffff"),
        (SNAPSHOT, "snapshot_id", "snap-ffffffffffff"),
        (PROPOSAL, "proposal_id", "prop-ffffffffffff"),
        (DECISION, "decision_id", "dec-other"),
    ];
    let mut missed = Missed::default();
    for (file, field, other) in others {
        let documents = Documents::good();
        documents.set(file, field, &json!(other));
        let found = documents.finds(file, Named::Anywhere(field));
        missed.note(&format!("{file} with the {field} {other}"), found);

        let documents = Documents::good();
        let renamed = file.replace(stem(file), other);
        fs::rename(documents.path(file), documents.path(&renamed)).unwrap();
        let found = documents.finds(&renamed, Named::Anywhere(field));
        missed.note(&format!("{file} as {renamed}"), found);
    }
    missed.none(2 * others.len());
}

#[test]
fn every_record_is_of_the_skill_of_the_manifest() {
    let mut missed = Missed::default();
    for file in [EXPERIENCE, AUDIT, PROPOSAL, DECISION] {
        let documents = Documents::good();
        documents.set(file, "skill_id", &json!("other.skill"));
        let found = documents.finds(file, Named::Anywhere("skill_id"));
        missed.note(&format!("{file} of another skill"), found);
    }
    missed.none(4);
}

#[test]
fn a_decision_has_its_proposal() {
    let documents = Documents::good();
    common::remove(&documents.path(PROPOSAL));
    documents
        .finds(DECISION, Named::Anywhere("proposal"))
        .unwrap();

    let documents = Documents::good();
    documents.set(DECISION, "proposal_id", &json!("prop-ffffffffffff"));
    documents
        .finds(DECISION, Named::Anywhere("proposal"))
        .unwrap();
}

#[test]
fn an_entry_whose_experience_is_not_there_is_only_worth_a_warning() {
    let documents = Documents::good();
    let absent = "exp-ffffffffffff";
    documents.set(BANK, "skills/0/source_experience_ids", &json!([absent]));
    let warnings = documents.warnings();
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:#?}");
    };
    assert!(warning.to_string().contains(absent), "{warning}");
    let file = Path::new(warning["file"].as_str().unwrap());
    assert!(file.ends_with(BANK), "{warning}");
}

#[test]
fn manifest_and_bank_are_there() {
    for file in [MANIFEST, BANK] {
        let documents = Documents::good();
        common::remove(&documents.path(file));
        documents.finds(file, Named::Nowhere).unwrap();
    }
}

#[test]
fn what_can_not_be_read_is_found_whatever_it_is() {
    type Spoil = fn(&[u8]) -> Vec<u8>;
    let spoilt: [(&str, Spoil); 9] = [
        ("nothing", |_| Vec::new()),
        ("half", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("prose", |_| b"Not JSON.\n".to_vec()),
        ("a list", |bytes| [b"[", bytes, b"]"].concat()),
        ("null", |_| b"null\n".to_vec()),
        ("twice itself", |bytes| [bytes, bytes].concat()),
        ("a byte order mark", |bytes| {
            [b"\xef\xbb\xbf", bytes].concat()
        }),
        ("UTF-16", |bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }),
        ("what is not UTF-8", |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let (before, after) = text.split_once(": \"").unwrap();
            [before.as_bytes(), b": \"\xff", after.as_bytes()].concat()
        }),
    ];
    let mut missed = Missed::default();
    for file in ALL {
        for (what, spoil) in spoilt {
            let documents = Documents::good();
            let bytes = spoil(&documents.bytes(file));
            common::write(&documents.path(file), bytes);
            let found = documents.finds(file, Named::Nowhere);
            missed.note(&format!("{file} is {what}"), found);
        }
    }
    missed.none(ALL.len() * spoilt.len());
}

#[test]
fn a_file_that_does_not_belong_there_is_found() {
    let strays = [
        "notes.txt",
        "skill_bank.json.bak",
        "exp-112233445566.json",
        "experience/README.md",
        "experience/exp-112233445566.json~",
        "experience/aud-000000000002.json",
        "audit/exp-112233445566.json",
        "audit/snap-e5f6a7b8c9d0.json",
        "audit/decision.json",
        "snapshots/manifest.json",
    ];
    let mut missed = Missed::default();
    for stray in strays {
        let documents = Documents::good();
        common::write(&documents.path(stray), documents.bytes(EXPERIENCE));
        missed.note(stray, documents.finds(stray, Named::Nowhere));
    }
    missed.none(strays.len());
}

#[test]
fn files_of_the_engine_itself_do_not_count() {
    let documents = Documents::good();
    for name in [".aiden-lock", "audit/.aiden-tmp-1", ".aiden-saved/bank"] {
        common::write(&documents.path(name), "{");
    }
    documents.warnings();
    assert_eq!(documents.validate().json()["files"], 12);
}
