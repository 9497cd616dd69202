//! Random boards, random cuts: an interrupted sync followed by a sync equals an uninterrupted one. A failure is shrunk to
//! the smallest board and the least loss.

use std::collections::BTreeMap;

use fastrand::Rng;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseResult, TestRunner};

use crate::board::{Board, Skills, ship, text};
use crate::chance::{rng, soak};
use crate::simulated::{Disk, Effort, MEDIA, Medium};
use crate::table;

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

fn shipped(firmware: &Firmware) -> Disk {
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
    ship(&skills, false)
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
        if board.read(&path).is_some() {
            board.write(&path, content);
        }
    };
    let text_of = |n: &usize| format!("skills/{}/SKILL.md", NAMES[*n]);
    let file_of = |n: &usize, f: &usize| format!("skills/{}/{}", NAMES[*n], PATHS[*f]);
    match doing {
        Doing::Edit(n) => write(text_of(n), &text(NAMES[*n], "Mine.")),
        Doing::EditFile(n, f) => write(file_of(n, f), "mine"),
        Doing::Blank(n) => write(text_of(n), "\0"),
        Doing::Delete(n) => board.remove(&format!("skills/{}", NAMES[*n])),
        Doing::DeleteFile(n, f) => board.remove(&file_of(n, f)),
        Doing::LoseLibrary => board.remove("skills"),
    }
}

/// The library, and the ledger without its times.
fn outcome(board: &Board) -> (BTreeMap<String, Vec<u8>>, String) {
    let library = board
        .tree()
        .0
        .into_iter()
        .filter(|(path, _)| path.starts_with("skills/"));
    let library = library.map(|(path, node)| (path, node.bytes)).collect();
    let mut ledger = board.ledger().ledger;
    for record in ledger.records.values_mut() {
        record.last_synced_at = None;
    }
    (library, String::from_utf8(ledger.to_json("")).unwrap())
}

const BOARDS: u32 = 300;

#[test]
fn an_interrupted_sync_followed_by_a_sync_equals_an_uninterrupted_one() {
    let cases = BOARDS * u32::try_from(soak()).unwrap();
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(rng("random boards").u64(..)),
        ..ProptestConfig::default()
    };
    let all_media = MEDIA.into_iter().chain([Medium::Process]);
    let boards = (
        firmware(),
        firmware(),
        prop::collection::vec(doing(), 0..5),
        any::<bool>(),
        prop::sample::select(all_media.collect::<Vec<_>>()),
        any::<u64>(),
    );
    let tried = TestRunner::new(config).run(
        &boards,
        |(first, second, doings, per_file, medium, seed)| {
            judge(&first, &second, &doings, per_file, medium, seed)
        },
    );
    if let Err(e) = tried {
        panic!("{e}");
    }
    table::line("random boards", "simulated", cases as usize * CUTS, 0);
}

/// Cuts tried of a board.
const CUTS: usize = 10;

fn judge(
    first: &Firmware,
    second: &Firmware,
    doings: &[Doing],
    per_file: bool,
    medium: Medium,
    seed: u64,
) -> TestCaseResult {
    let (first, second) = (shipped(first), shipped(second));
    let board = Board::new();
    board.sync(&first).unwrap();
    for doing in doings {
        apply(&board, doing);
    }
    let mut whole = Board::on(board.filesystem.live());
    if per_file {
        whole = whole.without_syncfs();
    }
    whole.sync(&second).unwrap();
    let history = whole.filesystem.history();
    let wanted = outcome(&whole);
    let mut rng = Rng::with_seed(seed);
    let effort = Effort {
        exhaustive: 4,
        random: 2,
    };
    for _ in 0..CUTS {
        let at = rng.usize(0..=history.effects.len());
        let cuts = history.cuts(medium, at, effort, &mut rng);
        let cut = cuts[rng.usize(..cuts.len())].clone();
        let ends_otherwise = |cut: &_| {
            let board = Board::on(history.left_by(cut));
            board.sync(&second).is_err() || outcome(&board) != wanted
        };
        if ends_otherwise(&cut) {
            let cut = history.shrink(cut, ends_otherwise);
            let board = Board::on(history.left_by(&cut));
            let report = board.sync(&second);
            prop_assert!(
                false,
                "{}\n{report:#?}\n{:#?}\nwanted {wanted:#?}",
                history.describe(&cut),
                outcome(&board)
            );
        }
    }
    Ok(())
}
