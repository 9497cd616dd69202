//! The simulated file system answers as the real one does.

use std::io;

use aiden_skills::store::{Attributes, Filesystem, LinuxFilesystem, Owner};
use proptest::prelude::*;

use crate::board::path;
use crate::judge::Tree;
use crate::simulated::{Disk, Simulated};

#[derive(Debug, Clone)]
enum Call {
    Create(&'static str, u8),
    CreateDirectory(&'static str),
    Rename(&'static str, &'static str),
    RenameNew(&'static str, &'static str),
    Link(&'static str, &'static str),
    RemoveFile(&'static str),
    RemoveDirectory(&'static str),
    Truncate(&'static str),
    Read(&'static str),
    List(&'static str),
    SyncFile(&'static str),
    SyncDirectory(&'static str),
}

fn call() -> impl Strategy<Value = Call> {
    let place = || prop::sample::select(vec!["a", "b", "d", "d/a", "d/e", "d/e/a", "d/e/f"]);
    prop_oneof![
        3 => (place(), any::<u8>()).prop_map(|(p, n)| Call::Create(p, n)),
        3 => place().prop_map(Call::CreateDirectory),
        3 => (place(), place()).prop_map(|(p, q)| Call::Rename(p, q)),
        2 => (place(), place()).prop_map(|(p, q)| Call::RenameNew(p, q)),
        2 => (place(), place()).prop_map(|(p, q)| Call::Link(p, q)),
        1 => place().prop_map(Call::RemoveFile),
        1 => place().prop_map(Call::RemoveDirectory),
        1 => place().prop_map(Call::Truncate),
        1 => place().prop_map(Call::Read),
        1 => place().prop_map(Call::List),
        1 => place().prop_map(Call::SyncFile),
        1 => place().prop_map(Call::SyncDirectory),
    ]
}

/// What a call answers, where an error is told by its kind.
fn answer(filesystem: &dyn Filesystem, call: &Call) -> Result<String, io::ErrorKind> {
    let owner = Owner { uid: 0, gid: 0 };
    let nothing = |()| String::new();
    let answered = match call {
        Call::Create(p, n) => {
            let created = filesystem.create(&path(p), Attributes { owner, mode: 0o644 });
            created
                .and_then(|mut file| file.write_all(&[*n; 3]))
                .map(nothing)
        }
        Call::CreateDirectory(p) => filesystem
            .create_dir(&path(p), Attributes { owner, mode: 0o755 })
            .map(nothing),
        Call::Rename(p, q) => filesystem.rename(&path(p), &path(q)).map(nothing),
        Call::RenameNew(p, q) => filesystem.rename_new(&path(p), &path(q)).map(nothing),
        Call::Link(p, q) => filesystem.hard_link(&path(p), &path(q)).map(nothing),
        Call::RemoveFile(p) => filesystem.remove_file(&path(p)).map(nothing),
        Call::RemoveDirectory(p) => filesystem.remove_dir(&path(p)).map(nothing),
        Call::Truncate(p) => filesystem.truncate(&path(p)).map(nothing),
        Call::Read(p) => filesystem.open(&path(p)).and_then(|mut file| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(format!("{bytes:?}"))
        }),
        Call::List(p) => filesystem
            .read_dir(&path(p))
            .map(|entries| format!("{entries:?}")),
        Call::SyncFile(p) => filesystem.sync_file(&path(p)).map(nothing),
        Call::SyncDirectory(p) => filesystem.sync_dir(&path(p)).map(nothing),
    };
    answered.map_err(|e| e.kind())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_simulated_file_system_answers_as_the_real_one(calls in prop::collection::vec(call(), 1..40)) {
        let directory = tempfile::tempdir().unwrap();
        let real = LinuxFilesystem::open(directory.path()).unwrap();
        let simulated = Simulated::new(Disk::empty());
        for call in &calls {
            prop_assert_eq!(answer(&simulated, call), answer(&real, call), "{:?}", call);
        }
        prop_assert_eq!(simulated.live().tree(), Tree::of(directory.path()));
        prop_assert_eq!(simulated.flushes(), real.flushes());
    }
}
