//! Clocks that stand still or jump back, and identifiers that are given: through the library.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use aiden_skills::evolve::{Engine, Judgement, Markers, NewManifest, Sources, Task, Workspace};
use aiden_skills::store::LinuxFilesystem;
use time::OffsetDateTime;

struct Told {
    seconds: Cell<i64>,
    last: Cell<u8>,
}

impl Sources for Told {
    fn now(&self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.seconds.get()).unwrap()
    }

    fn random(&self) -> io::Result<[u8; 6]> {
        // From high to low, so that no order comes from the names.
        self.last.set(self.last.get() - 1);
        Ok([0, 0, 0, 0, 0, self.last.get()])
    }
}

fn told(engine: &Engine<'_>, test: impl FnOnce(&Workspace<'_>)) {
    let directory = tempfile::tempdir().unwrap();
    let filesystem = LinuxFilesystem::open(directory.path()).unwrap();
    let workspace = Workspace::new(&filesystem, engine);
    workspace
        .init(&NewManifest {
            id: "demo",
            name: "Demo",
            description: "Shows how.",
            ..NewManifest::default()
        })
        .unwrap();
    test(&workspace);
    assert_eq!(workspace.validate().unwrap().errors, []);
}

fn engine(sources: &Told) -> Engine<'_> {
    Engine {
        actor: "test".into(),
        markers: Markers::Strict,
        lock_timeout: Duration::from_secs(5),
        sources,
        advisor: None,
    }
}

fn learn(workspace: &Workspace<'_>, lesson: &str) -> String {
    let task = Task {
        signature: Some("habits"),
        text: Some(lesson),
        judgement: Judgement::default(),
        ..Task::default()
    };
    workspace.learn(&task).unwrap().snapshot_id.unwrap()
}

#[test]
fn a_clock_that_stands_still_leaves_the_order_of_what_happened() {
    let sources = Told {
        seconds: Cell::new(0),
        last: Cell::new(255),
    };
    told(&engine(&sources), |workspace| {
        learn(workspace, "Always check the battery");
        learn(workspace, "Always check the battery before updates");
        let audits = workspace.history(None).unwrap();
        let events: Vec<&str> = audits
            .iter()
            .map(|audit| audit.event_type.as_str())
            .collect();
        let once = ["experience_recorded", "snapshot_created"];
        let expected = [&once[..], &["skill_added"], &once, &["skill_merged"]].concat();
        assert_eq!(events, expected);
        let times: Vec<&String> = audits.iter().map(|audit| &audit.created_at).collect();
        assert!(times.is_sorted(), "{times:?}");
        let snapshots = [audits[1].created_at.as_str(), audits[4].created_at.as_str()];
        assert_eq!(snapshots, ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"]);
    });
}

#[test]
fn a_clock_that_jumps_back_goes_on_from_what_was_recorded() {
    let sources = Told {
        seconds: Cell::new(1_800_000_000),
        last: Cell::new(255),
    };
    told(&engine(&sources), |workspace| {
        learn(workspace, "Always check the battery");
        sources.seconds.set(0);
        let last = learn(workspace, "Never use tabs for indentation");
        let entries = workspace.bank().unwrap().entries;
        assert_eq!(entries[0].title, "Never use tabs for indentation");
        assert!(entries[0].updated_at > entries[1].updated_at);
        // The newest is the one that was taken last.
        assert_eq!(workspace.rollback(None, "it was wrong").unwrap(), last);
        assert_eq!(workspace.bank().unwrap().entries.len(), 1);
    });
}
