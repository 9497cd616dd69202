//! Random boards, random accidents: an interrupted sync followed by a sync equals an uninterrupted one.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use crate::board::{Board, Skills, text};
use crate::faulty::Fault;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const PATHS: [&str; 3] = ["references/one.md", "references/two.md", "scripts/run.sh"];

/// A bundle as a table of versions: for each skill none or its text, and for each file none or its content.
type Firmware = Vec<(Option<u8>, [Option<u8>; 3])>;

fn firmware() -> impl Strategy<Value = Firmware> {
    let version = || prop::option::weighted(0.8, 0u8..3);
    let skill = (version(), [version(), version(), version()]);
    prop::collection::vec(skill, NAMES.len()).prop_filter("no bundle without skills", |skills| {
        skills.iter().any(|(text, _)| text.is_some())
    })
}

fn skills(firmware: &Firmware) -> Skills {
    let mut skills = Skills::new();
    for (name, (version, files)) in NAMES.iter().zip(firmware) {
        let Some(version) = version else {
            continue;
        };
        let mut all = BTreeMap::from([("SKILL.md", text(name, &format!("Version {version}.")))]);
        for (path, version) in PATHS.iter().zip(files) {
            if let Some(version) = version {
                let start = if *version == 1 { "#!" } else { "" };
                all.insert(path, format!("{start}{path} {version}"));
            }
        }
        skills.insert(name, all);
    }
    skills
}

#[derive(Debug, Clone)]
enum Doing {
    Edit(usize),
    EditFile(usize, usize),
    Delete(usize),
    DeleteFile(usize, usize),
    Blank(usize),
    LoseLibrary,
}

fn doing() -> impl Strategy<Value = Doing> {
    let name = || 0..NAMES.len();
    let file = || 0..PATHS.len();
    prop_oneof![
        3 => name().prop_map(Doing::Edit),
        3 => (name(), file()).prop_map(|(n, f)| Doing::EditFile(n, f)),
        2 => name().prop_map(Doing::Delete),
        3 => (name(), file()).prop_map(|(n, f)| Doing::DeleteFile(n, f)),
        1 => name().prop_map(Doing::Blank),
        1 => Just(Doing::LoseLibrary),
    ]
}

fn apply(board: &Board, doing: &Doing) {
    let write = |path: String, content: &str| {
        let path = board.library(&path);
        if path.exists() {
            fs::write(path, content).unwrap();
        }
    };
    match doing {
        Doing::Edit(n) => write(format!("{}/SKILL.md", NAMES[*n]), &text(NAMES[*n], "Mine.")),
        Doing::EditFile(n, f) => write(format!("{}/{}", NAMES[*n], PATHS[*f]), "mine"),
        Doing::Blank(n) => write(format!("{}/SKILL.md", NAMES[*n]), "\0"),
        Doing::Delete(n) => {
            let _ = fs::remove_dir_all(board.library(NAMES[*n]));
        }
        Doing::DeleteFile(n, f) => {
            let _ = fs::remove_file(board.library(&format!("{}/{}", NAMES[*n], PATHS[*f])));
        }
        Doing::LoseLibrary => {
            let _ = fs::remove_dir_all(board.library(""));
        }
    }
}

/// A board after two firmwares and what the user did in between; `fault` strikes the second sync.
fn live(first: &Firmware, second: &Firmware, doings: &[Doing], fault: Fault) -> (Board, u64) {
    let board = Board::new();
    let one = board.ship("one", &skills(first));
    let two = board.ship("two", &skills(second));
    board.sync(&one);
    for doing in doings {
        apply(&board, doing);
    }
    let filesystem = board.filesystem(fault);
    let _ = board.sync_with(&filesystem, &two);
    let calls = filesystem.calls();
    drop(filesystem);
    if fault != Fault::None {
        board.sync(&two);
    }
    board.check_at_rest(&two, "random");
    (board, calls)
}

/// The ledger without its times.
fn ledger_of(board: &Board) -> String {
    let mut ledger = board.ledger().ledger;
    for record in ledger.records.values_mut() {
        record.last_synced_at = None;
    }
    String::from_utf8(ledger.to_json("")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_interrupted_sync_followed_by_a_sync_equals_an_uninterrupted_one(
        first in firmware(),
        second in firmware(),
        doings in prop::collection::vec(doing(), 0..5),
        at in 0.0..1.0f64,
    ) {
        let (whole, calls) = live(&first, &second, &doings, Fault::None);
        if calls > 0 {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let call = 1 + (at * calls as f64) as u64;
            let (cut, _) = live(&first, &second, &doings, Fault::Crash(call));
            prop_assert_eq!(Board::tree(&cut.library("")), Board::tree(&whole.library("")));
            prop_assert_eq!(ledger_of(&cut), ledger_of(&whole));
        }
    }
}
