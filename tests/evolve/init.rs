//! Making a workspace, and taking it up again.

use std::fs;

use serde_json::{Value, json};

use super::common::{self, Board};
use super::workspace::{Counts, EMPTY, JITTER, RETRY, SCRAPING, Workspace, text};

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_new_workspace_has_the_files_of_the_kit_and_is_valid() {
    let workspace = Workspace::nowhere();
    let said = workspace.json(&[
        "init",
        "--id",
        "demo-skill",
        "--name",
        "Demo Skill",
        "--description",
        "Shows how.",
        "--owner",
        "me",
        "--summary",
        "Shows it well",
    ]);
    assert_eq!(said["workspace"], workspace.dir.to_str().unwrap());
    assert_eq!(said["skill_id"], "demo-skill");
    assert_eq!(said["mode"], "standalone");
    let manifest = json!({
        "schema_name": "SkillManifest", "schema_version": "1.0.0", "protocol_version": "1.0.0",
        "skill_id": "demo-skill", "name": "Demo Skill", "version": "0.1.0", "description": "Shows how.",
        "governance": {"mode": "standalone", "official_status": "local"},
        "capability": {"level": "native", "summary": "Shows it well"},
        "compatibility": {"min_protocol_version": "1.0.0", "max_protocol_version": "1.0.0"},
        "metadata": {"owner": "me", "contract": {
            "min_feedback_confidence": 0.35, "synthesis_threshold": 15, "auto_promote": true,
            "managed_files": [{"path": "SKILL.md", "kind": "markdown"}]
        }},
    });
    assert_eq!(workspace.manifest(), manifest);
    assert_eq!(workspace.bank(), object(EMPTY));
    for directory in ["experience", "audit", "snapshots"] {
        assert!(workspace.path(directory).is_dir(), "{directory}");
    }
    assert_eq!(workspace.counts(), Counts::NONE);
    assert_eq!(
        workspace.json(&["validate"]),
        json!({"files": 2, "errors": [], "warnings": []})
    );
}

#[test]
fn the_keys_of_a_new_manifest_stand_in_the_kits_order() {
    let workspace = Workspace::new();
    let text = String::from_utf8(workspace.bytes("manifest.json")).unwrap();
    let keys = [
        "schema_name",
        "schema_version",
        "protocol_version",
        "skill_id",
        "name",
        "version",
        "description",
        "governance",
        "mode",
        "official_status",
        "capability",
        "level",
        "summary",
        "compatibility",
        "min_protocol_version",
        "max_protocol_version",
        "metadata",
        "owner",
        "contract",
        "min_feedback_confidence",
        "synthesis_threshold",
        "auto_promote",
        "managed_files",
        "path",
        "kind",
    ];
    let mut found: Vec<(usize, &str)> = keys
        .iter()
        .map(|key| (text.find(&format!("\"{key}\":")).unwrap(), *key))
        .collect();
    found.sort_unstable();
    let found: Vec<&str> = found.into_iter().map(|(_, key)| key).collect();
    assert_eq!(found, keys, "{text}");
}

#[test]
fn what_can_be_no_skill_makes_no_workspace() {
    let template = "{lowercase-kebab-case-identifier}";
    for id in ["Bad Id", "", "-x", "../x", "ünder", template] {
        let workspace = Workspace::nowhere();
        workspace.leave_invalid();
        let run = workspace.init(id);
        assert!(matches!(run.code, 1 | 2), "{id}: {run:?}");
        assert!(!run.stderr.is_empty(), "{id}");
        assert!(!workspace.dir.exists(), "{id} made something");
    }
}

#[test]
fn a_name_and_a_description_must_be_given() {
    let workspace = Workspace::nowhere();
    workspace.leave_invalid();
    for missing in [
        &["init", "--id", "x", "--name", "X"][..],
        &["init", "--id", "x", "--description", "X."],
        &["init", "--name", "X", "--description", "X."],
    ] {
        workspace.refused_with(2, missing);
    }
    assert!(!workspace.dir.exists());
}

#[test]
fn a_governor_makes_it_governed_without_an_official_version() {
    let workspace = Workspace::nowhere();
    let arguments = "init --id x --name X --description X. --governor the-governor";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    assert_eq!(workspace.json(&arguments)["mode"], "governed");
    let manifest = workspace.manifest();
    let governance = &manifest["governance"];
    assert_eq!(governance["mode"], "governed");
    assert_eq!(governance["governor_id"], "the-governor");
    assert_eq!(governance["handshake_required"], true);
    assert!(manifest.get("official_ref").is_none(), "{manifest:#}");
}

#[test]
fn a_skill_of_the_library_has_its_workspace_in_the_state_dir() {
    let workspace = Workspace::of_skill(Board::synced(&["foo"]), "foo");
    let dir = workspace.board.state().join("evolution/foo");
    assert!(dir.join("manifest.json").exists());
    assert_eq!(
        workspace.learn("Always say hello", "greet")["action"],
        "ADD"
    );
}

#[test]
fn a_command_that_names_no_workspace_is_wrong_usage() {
    let board = Board::new();
    let before = board.snapshot();
    let run = board.run(&["evolve", "bank"]).expect(2);
    assert!(run.stderr.contains("--workspace"), "{run:?}");
    let run = board.run(&["evolve", "bank", "--skill", "../../x"]);
    assert!(matches!(run.code, 1 | 2), "{run:?}");
    before.assert_same(&board.snapshot());
}

#[test]
fn without_a_manifest_it_must_be_initialised_again_and_nothing_changes() {
    let workspace = Workspace::scraper();
    workspace.leave_invalid();
    fs::remove_file(workspace.path("manifest.json")).unwrap();
    for command in [
        &["learn", "--task", "Always say hello."][..],
        &["guide", "--task", "Retry the API call"],
        &["bank"],
    ] {
        let said = workspace.refused(command);
        assert!(said.contains("re-initialise"), "{said}");
    }
    common::write(&workspace.path("manifest.json"), "{\"skill_id\": ");
    let said = workspace.refused(&["learn", "--task", "Always say hello."]);
    assert!(said.contains("re-initialise"), "{said}");
}

#[test]
fn a_manifest_that_lacks_what_it_needs_is_refused_by_the_name_of_it() {
    for key in ["schema_name", "skill_id", "version", "governance"] {
        let workspace = Workspace::new();
        workspace.leave_invalid();
        workspace.change_manifest(|manifest| {
            let lacking = match key {
                "governance" => json!({}),
                _ => Value::Null,
            };
            let fields = manifest.as_object_mut().unwrap();
            fields.remove(key);
            if !lacking.is_null() {
                fields.insert(key.into(), lacking);
            }
        });
        let said = workspace.refused(&["learn", "--task", "Always say hello."]);
        let name = match key {
            "governance" => "governance.mode",
            other => other,
        };
        assert!(said.contains("invalid") && said.contains(name), "{said}");
    }
}

#[test]
fn a_bank_and_directories_that_are_missing_are_made_again() {
    let workspace = Workspace::new();
    fs::remove_file(workspace.path("skill_bank.json")).unwrap();
    for directory in ["experience", "audit", "snapshots"] {
        fs::remove_dir(workspace.path(directory)).unwrap();
    }
    let learned = workspace.json(&["learn", "--task", "Play a song"]);
    assert_eq!(learned["action"], "GATE_BLOCKED");
    assert_eq!(workspace.bank(), object(EMPTY));
    assert!(workspace.path("snapshots").is_dir());
    assert_eq!(workspace.counts(), Counts::of(1, 0, 2, 0));
}

#[test]
fn a_torn_bank_is_never_overwritten_but_a_rollback_restores_it() {
    let workspace = Workspace::new();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    let before = workspace.bank();
    workspace.learn("Always compress photos before uploading", "photo_upload");
    let newest = workspace.snapshots().pop().unwrap();
    let torn = b"{\"skills\": [";
    common::write(&workspace.path("skill_bank.json"), torn);
    for command in [
        &["learn", "--task", "Always say hello."][..],
        &["guide", "--task", "Upload a photo"],
    ] {
        let said = workspace.refused(command);
        assert!(said.contains("rollback"), "{said}");
    }
    let restored = workspace.json(&["rollback", "--reason", "the bank is torn"]);
    assert_eq!(restored["snapshot_id"], newest["snapshot_id"]);
    assert_eq!(workspace.bank(), before);
    let aside = workspace.with_bytes(torn);
    assert_eq!(aside.len(), 1, "what was there is kept: {aside:?}");
    let details = workspace.audit("ROLLBACK")["details"].to_string();
    let name = aside[0].file_name().unwrap().to_str().unwrap();
    assert!(details.contains(name), "{details}");
    assert_eq!(
        workspace.snapshots().len(),
        2,
        "a torn bank has no snapshot"
    );
}

#[test]
fn a_workspace_that_is_there_is_not_initialised_again() {
    let workspace = Workspace::scraper();
    let before = workspace.files();
    workspace.init("other").expect(1);
    workspace.assert_files(&before);
}

#[test]
fn where_only_the_manifest_is_missing_what_was_learned_is_kept() {
    let workspace = Workspace::new();
    workspace.learn("Always say hello", "greet");
    fs::remove_file(workspace.path("manifest.json")).unwrap();
    let before = workspace.files();
    workspace.init("demo-skill").expect(0);
    let mut after = workspace.files();
    let manifest = after.remove(&std::path::PathBuf::from("manifest.json"));
    assert!(manifest.is_some());
    assert_eq!(after, before);
}

#[test]
fn unknown_keys_of_a_manifest_survive_learning_a_decision_and_a_rollback() {
    let workspace = Workspace::governed();
    workspace.change_manifest(|manifest| {
        manifest["x_vendor"] = json!({"list": [1, 2.5, "é"], "null": null});
        manifest["governance"]["x_committee"] = json!("three of them");
        manifest["metadata"]["x_cost"] = json!(12);
    });
    let original = workspace.manifest();
    workspace.learn(JITTER, "api_rate_limiting");
    assert_eq!(workspace.manifest(), original);
    let proposal = workspace.proposals().remove(0);
    let decision = super::governance::decision(&proposal, "promoted");
    workspace.decide(&decision).expect(0);
    let mut expected = original.clone();
    expected["version"] = decision["effective_version"].clone();
    expected["official_ref"] = workspace.manifest()["official_ref"].clone();
    assert_eq!(workspace.manifest(), expected);
    workspace.json(&["rollback", "--reason", "not yet"]);
    assert_eq!(workspace.manifest(), original);
}

#[test]
fn unknown_keys_of_a_bank_are_told_and_kept() {
    let workspace = Workspace::scraper();
    workspace.leave_invalid();
    let mut bank = workspace.bank();
    bank["skills"][0]["x_note"] = json!("mine");
    bank["skills"][1]["x_note"] = json!({"of": "the other"});
    workspace.set_bank(&bank);
    let report = workspace.run(&["validate"]).expect(3).json();
    let errors = report["errors"].as_array().unwrap();
    assert!(
        errors
            .iter()
            .any(|error| error.to_string().contains("x_note")),
        "{report:#}"
    );
    assert_eq!(errors[0]["file"], "skill_bank.json");
    workspace.learn(JITTER, "api_rate_limiting");
    assert_eq!(workspace.entry(SCRAPING)["x_note"], "mine");
    let merged = workspace.entry(RETRY);
    assert_eq!(merged["version"], "0.1.3");
    assert_eq!(merged["x_note"], json!({"of": "the other"}));
}

#[test]
fn an_unknown_mode_is_standalone_with_a_warning_and_an_error_of_validate() {
    let workspace = Workspace::new();
    workspace.leave_invalid();
    workspace.change_manifest(|manifest| manifest["governance"]["mode"] = json!("govrened"));
    let judgement = json!({"feedback": super::workspace::said("Always say hello")});
    let run = workspace.run(&["learn", "--judgement", &judgement.to_string()]);
    let run = run.expect(0);
    assert_eq!(run.json()["action"], "ADD");
    assert!(run.stderr.contains("govrened"), "{run:?}");
    let report = workspace.run(&["validate"]).expect(3).json();
    let error = &report["errors"][0];
    assert_eq!(error["file"], "manifest.json", "{report:#}");
    assert!(text(&error["error"]).len() > 3, "{report:#}");
    assert!(error.to_string().contains("mode"), "{report:#}");
}

#[test]
fn a_manifest_with_the_four_fields_of_a_start_is_taken_up_but_not_valid() {
    let workspace = Workspace::new();
    workspace.leave_invalid();
    let manifest = json!({
        "schema_name": "SkillManifest", "skill_id": "demo-skill", "version": "0.1.0",
        "governance": {"mode": "standalone"},
    });
    common::write(&workspace.path("manifest.json"), manifest.to_string());
    assert_eq!(
        workspace.learn("Always say hello", "greet")["action"],
        "ADD"
    );
    let report = workspace.run(&["validate"]).expect(3).json();
    let errors = report["errors"].to_string();
    for missing in ["schema_version", "protocol_version", "name", "capability"] {
        assert!(errors.contains(missing), "{missing}: {report:#}");
    }
}
