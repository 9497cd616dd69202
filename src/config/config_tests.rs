#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;

use super::agent_toml::AGENT_TOML;
use super::*;

fn resolve(toml: Option<&str>, flags: Overrides, environment: &[(&str, &str)]) -> Settings {
    let directory = tempfile::tempdir().unwrap();
    if let Some(toml) = toml {
        std::fs::write(directory.path().join(AGENT_TOML), toml).unwrap();
    }
    let flags = Overrides {
        config_dir: Some(directory.path().to_owned()),
        ..flags
    };
    let environment: HashMap<_, _> = environment.iter().copied().collect();
    Settings::resolve(flags, &|name| environment.get(name).map(OsString::from))
}

const FULL: &str = "bundled_skills_dir = \"/file\"\nmystery = 1\n[device]\ndevice_type = \"ios\"\n\
    [skills]\ntools_file = \"/file.json\"\n[skills.merge]\nengine = \"structural\"\n";

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = resolve(Some(FULL), Overrides::default(), &[]);
    assert_eq!(file.bundled_dir, Path::new("/file"));
    assert_eq!(file.device_type, Some(DeviceType::Ios));
    assert_eq!(file.engine, EngineSetting::Structural);
    assert_eq!(file.tools_file.as_deref(), Some(Path::new("/file.json")));
    assert!(file.warnings.is_empty() && file.broken.is_empty());

    let environment = [
        ("AIDEN_BUNDLED_SKILLS_DIR", "/env"),
        ("AIDEN_DEVICE_TYPE", " Mac "),
        ("AIDEN_MERGE_ENGINE", "off"),
        ("AIDEN_TOOLS_FILE", ""),
    ];
    let env = resolve(Some(FULL), Overrides::default(), &environment);
    assert_eq!(env.bundled_dir, Path::new("/env"));
    assert_eq!(env.device_type, Some(DeviceType::MacOs));
    assert_eq!(env.engine, EngineSetting::Off);
    assert_eq!(env.tools_file.as_deref(), Some(Path::new("/file.json")));

    let flags = Overrides {
        bundled_dir: Some("/flag".into()),
        device_type: Some(DeviceType::Linux),
        engine: Some(EngineSetting::Llm),
        ..Overrides::default()
    };
    let flag = resolve(Some(FULL), flags, &environment);
    assert_eq!(flag.bundled_dir, Path::new("/flag"));
    assert_eq!(flag.device_type, Some(DeviceType::Linux));
    assert_eq!(flag.engine, EngineSetting::Llm);

    let none = resolve(None, Overrides::default(), &[]);
    assert_eq!(none.bundled_dir, Path::new(BUNDLED_DIR));
    assert_eq!(none.engine, EngineSetting::Auto);
    assert_eq!(none.device_type, None);
}

#[test]
fn a_torn_file_is_named_with_its_line_and_costs_only_itself() {
    let torn = resolve(Some("a = 1\nb = \"x\n"), Overrides::default(), &[]);
    assert_eq!(torn.bundled_dir, Path::new(BUNDLED_DIR));
    assert_eq!(torn.broken.len(), 1);
    assert!(
        torn.broken[0].contains("agent.toml can't be used: line 2"),
        "{:?}",
        torn.broken
    );
}

#[test]
fn a_value_of_a_wrong_type_is_named_with_line_and_key() {
    let wrong = resolve(
        Some("\nbundled_skills_dir = 5\n[skills]\nmerge = true\n"),
        Overrides::default(),
        &[],
    );
    assert!(
        wrong.broken[0].contains("line 2: bundled_skills_dir"),
        "{:?}",
        wrong.broken
    );
    assert!(
        wrong.broken[1].contains("line 4: merge"),
        "{:?}",
        wrong.broken
    );
}

#[test]
fn an_unknown_word_is_a_warning_and_unset() {
    let odd = resolve(
        Some("[device]\ndevice_type = \"toaster\"\n"),
        Overrides::default(),
        &[("AIDEN_MERGE_ENGINE", "magic")],
    );
    assert_eq!(odd.device_type, None);
    assert_eq!(odd.engine, EngineSetting::Auto);
    assert_eq!(odd.warnings.len(), 2);
    assert!(
        odd.warnings[0].contains("device.device_type"),
        "{:?}",
        odd.warnings
    );
    assert!(
        odd.warnings[1].contains("AIDEN_MERGE_ENGINE"),
        "{:?}",
        odd.warnings
    );
    assert!(odd.broken.is_empty());
}
