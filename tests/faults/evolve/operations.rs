//! What changes a workspace, and the state each change starts from.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use aiden_skills::evolve::{
    Count, Counts, Engine, EvolveError, Judgement, Learned, Markers, NewManifest, Sources, Task,
    Workspace,
};
use aiden_skills::store::Filesystem;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::board::Board;
use crate::evolved::BANK;
use crate::simulated::{Disk, Simulated};

const SIGNATURE: &str = "habits";
const GOVERNOR: &str = "governor";
/// An entry that is imported.
pub const LONG: &str = "skl-000000000001";
/// Who works: each turn has identifiers of its own, and always the same ones.
pub const PREPARES: u64 = 1;
pub const ACTS: u64 = 2;
pub const NEXT: u64 = 3;
pub const AGAIN: u64 = 4;

/// A change, and the state it starts from.
pub struct Operation {
    pub name: &'static str,
    /// Brings an empty directory to the state before; all of it is durable then.
    prepare: fn(&Desk<'_>),
    /// What is wrong with that state.
    spoil: fn(&Board),
    act: fn(&Desk<'_>) -> Result<(), String>,
    /// The next command, whatever became of it.
    next: fn(&Desk<'_>) -> Result<(), String>,
}

impl Operation {
    /// The durable state before.
    pub fn before(&self) -> Disk {
        let board = Board::new();
        (self.prepare)(&Desk::new(&board.filesystem, PREPARES));
        (self.spoil)(&board);
        board.filesystem.live()
    }

    pub fn act(&self, filesystem: &dyn Filesystem) -> Result<(), String> {
        (self.act)(&Desk::new(filesystem, ACTS))
    }

    pub fn next(&self, filesystem: &dyn Filesystem, turn: u64) -> Result<(), String> {
        (self.next)(&Desk::new(filesystem, turn))
    }
}

/// A workspace, and who works on it.
pub struct Desk<'d> {
    filesystem: &'d dyn Filesystem,
    sources: Counted,
}

/// Identifiers that are counted, and a clock that stands still for a turn.
struct Counted {
    turn: u64,
    given: Cell<u64>,
}

impl Sources for Counted {
    fn now(&self) -> OffsetDateTime {
        let start = OffsetDateTime::from_unix_timestamp(1_770_000_000).unwrap();
        start + Duration::from_secs(60 * self.turn)
    }

    fn random(&self) -> io::Result<[u8; 6]> {
        self.given.set(self.given.get() + 1);
        let number = (self.turn << 32) + self.given.get();
        let bytes = number.to_be_bytes();
        Ok([bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }
}

impl<'d> Desk<'d> {
    pub fn new(filesystem: &'d dyn Filesystem, turn: u64) -> Self {
        let given = Cell::new(0);
        let sources = Counted { turn, given };
        Self {
            filesystem,
            sources,
        }
    }

    pub fn work<T>(
        &self,
        what: impl FnOnce(&Workspace<'_>) -> Result<T, EvolveError>,
    ) -> Result<T, String> {
        let engine = Engine {
            actor: "test".into(),
            markers: Markers::default(),
            lock_timeout: Duration::ZERO,
            sources: &self.sources,
            advisor: None,
        };
        what(&Workspace::new(self.filesystem, &engine)).map_err(|e| e.to_string())
    }

    pub fn init(&self, governor: Option<&str>) -> Result<(), String> {
        let new = NewManifest {
            id: "demo-skill",
            name: "Demo Skill",
            description: "Shows how.",
            governor,
            ..NewManifest::default()
        };
        self.work(|workspace| workspace.init(&new))
    }

    /// Learns a lesson; `more` of a judgement says what becomes of it.
    fn learn(&self, lesson: &str, confidence: f64, more: Value) -> Result<Learned, String> {
        let mut judgement = json!({"feedback": {
            "status": "positive", "lesson": lesson, "source": "user_input", "confidence": confidence
        }});
        let fields = judgement.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let task = Task {
            signature: Some(SIGNATURE),
            judgement: Judgement::parse(&judgement.to_string()).unwrap(),
            ..Task::default()
        };
        self.work(|workspace| workspace.learn(&task))
    }

    pub fn add(&self, lesson: &str) -> Result<(), String> {
        let learned = self.learn(lesson, 0.8, json!({"match": {"relation": "none"}}))?;
        assert!(["ADD", "PROPOSE"].contains(&learned.action), "{learned:?}");
        Ok(())
    }

    /// Puts a lesson to an entry; says whether that was made shorter.
    pub fn merge(&self, lesson: &str, entry: &str) -> Result<bool, String> {
        let judgement = json!({"match": {"skill_entry_id": entry, "relation": "compatible"}});
        let learned = self.learn(lesson, 0.8, judgement)?;
        assert_eq!(learned.action, "MERGE");
        Ok(learned.synthesized)
    }

    fn rollback(&self) -> Result<(), String> {
        self.work(|workspace| workspace.rollback(None, "a test"))?;
        Ok(())
    }

    /// Promotes the only proposal.
    fn promote(&self) -> Result<(), String> {
        let mut open = self.work(|workspace| workspace.proposals())?;
        let proposal = open.pop().ok_or("/simulated has no proposal")?;
        let decision = json!({
            "schema_name": "PromotionDecision", "schema_version": "1.0.0", "protocol_version": "1.0.0",
            "decision_id": proposal["proposal_id"].as_str().unwrap().replace("prop-", "dec-"), "proposal_id": proposal["proposal_id"],
            "skill_id": proposal["skill_id"], "decided_at": "2026-04-01T00:00:00Z",
            "decider": {"authority": "governor", "id": GOVERNOR}, "outcome": "promoted",
            "reason": "it was looked at", "effective_version": proposal["target_version"], "evidence_refs": []
        });
        let decided = self.work(|workspace| workspace.decide(&decision.to_string()))?;
        assert!(decided.applied, "{decided:?}");
        Ok(())
    }

    pub fn import(&self, bank: &Value) -> Result<usize, String> {
        self.work(|workspace| workspace.import(&bank.to_string()))
    }

    /// Counts that these entries were given.
    pub fn count(&self, entries: impl IntoIterator<Item = String>) -> Result<(), String> {
        let once = entries.into_iter().map(|entry| (entry, Count::RETRIEVED));
        let counts: Counts = once.collect();
        self.work(|workspace| workspace.add_counts(&counts))
    }
}

/// A bank with so many entries; the first is as long as may be, and says something twice.
pub fn bank(entries: u64) -> Value {
    let entry = |number: u64| {
        let mut lines: Vec<String> = (1..=12)
            .map(|line| format!("- Habit {number} number {line} of {}", line * line))
            .collect();
        if number == 1 {
            lines.extend_from_within(3..6);
        }
        json!({
            "skill_entry_id": format!("skl-{number:012x}"), "title": format!("Habits {number}"),
            "content": lines.join("\n"), "version": "0.1.3", "task_signature": SIGNATURE, "keywords": ["habit"],
            "source_experience_ids": [], "updated_at": "2026-01-01T00:00:00Z"
        })
    };
    json!({"skills": (1..=entries).map(entry).collect::<Vec<Value>>()})
}

fn fresh(desk: &Desk<'_>) {
    desk.init(None).unwrap();
}

/// It has learned two things, and has imported two entries.
fn used(desk: &Desk<'_>) {
    fresh(desk);
    desk.add("Always take a screenshot first").unwrap();
    assert_eq!(desk.import(&bank(2)), Ok(2));
    desk.add("Never send a message unasked").unwrap();
}

fn governed(desk: &Desk<'_>) {
    desk.init(Some(GOVERNOR)).unwrap();
}

fn learn_more(desk: &Desk<'_>) -> Result<(), String> {
    desk.add("Print tickets before travelling")
}

pub fn operations() -> Vec<Operation> {
    let operation = |name, prepare, act| Operation {
        name,
        prepare,
        spoil: |_| {},
        act,
        next: learn_more,
    };
    vec![
        Operation {
            next: |desk| {
                match desk.init(None) {
                    Err(e) if !e.contains("already") => return Err(e),
                    _ => {}
                }
                learn_more(desk)
            },
            ..operation("workspace made", |_| {}, |desk| desk.init(None))
        },
        operation("first lesson added", fresh, |desk| {
            desk.add("Dim lamps after sunset")
        }),
        operation("lesson added", used, |desk| {
            desk.add("Dim lamps after sunset")
        }),
        operation("lesson merged, and its entry made shorter", used, |desk| {
            assert!(desk.merge("Charge the vacuum cleaner", LONG)?, "it was not");
            Ok(())
        }),
        operation("lesson that is not trusted", used, |desk| {
            let learned = desk.learn("Dim lamps after sunset", 0.1, json!({}))?;
            assert_eq!(learned.action, "GATE_BLOCKED");
            Ok(())
        }),
        operation("lesson proposed", governed, |desk| {
            desk.add("Dim lamps after sunset")
        }),
        operation(
            "proposal promoted",
            |desk| {
                governed(desk);
                desk.add("Dim lamps after sunset").unwrap();
            },
            |desk| desk.promote(),
        ),
        operation("bank rolled back", used, |desk| desk.rollback()),
        Operation {
            spoil: |board| board.write(BANK, "{\"skills\": ["),
            next: |desk| desk.rollback(),
            ..operation("torn bank rolled back", used, |desk| desk.rollback())
        },
        operation("bank imported", used, |desk| {
            assert_eq!(desk.import(&bank(4))?, 2);
            Ok(())
        }),
        operation("retrievals counted", used, |desk| {
            desk.count([LONG.to_owned()])
        }),
    ]
}

/// A workspace with a bank of so many entries.
pub fn with_bank(entries: u64) -> Simulated {
    let board = Board::new();
    let desk = Desk::new(&board.filesystem, PREPARES);
    fresh(&desk);
    desk.import(&bank(entries)).unwrap();
    board.filesystem
}
