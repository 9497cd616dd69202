//! The process is killed in each mutating call in turn.

use crate::board::Board;
use crate::faulty::Fault;
use crate::scenario::{Scenario, check_recovered, scenarios, ship_all};

fn crash_everywhere(scenario: &Scenario, per_file: bool) -> u64 {
    let shipped = Board::new();
    let bundles = ship_all(&shipped);
    let mut states = 0;
    for next in 0..3 {
        for call in 1.. {
            let mut board = Board::new();
            board.per_file = per_file;
            (scenario.prepare)(&board, &bundles[0], &bundles[1]);
            let filesystem = board.filesystem(Fault::Crash(call));
            let outcome = (scenario.act)(&board, &filesystem, &bundles[1]);
            let finished = filesystem.calls() < call;
            let last = filesystem.log().pop().unwrap_or_default();
            drop(filesystem);
            let case = format!(
                "{}, killed in call {call} ({last}), then bundle {next}",
                scenario.name
            );
            if finished {
                assert_eq!(outcome, Ok(true), "{case}");
            }
            let report = board.sync(&bundles[next]);
            assert!(report.failed.is_empty(), "{case}: {report:?}");
            let conflicts = |names: Vec<&String>| -> Vec<String> {
                let user = |name: &String| {
                    scenario.edited.contains(&name.as_str())
                        || scenario.is_open(name, &bundles[next])
                };
                let reset = scenario.name == "reset";
                names
                    .into_iter()
                    .filter(|name| !user(name) && !reset)
                    .cloned()
                    .collect()
            };
            let kept = conflicts(report.kept_user.iter().collect());
            let merges = conflicts(report.merge_needed.iter().map(|job| &job.name).collect());
            assert!(kept.is_empty() && merges.is_empty(), "{case}: {report:?}");
            check_recovered(&board, scenario, &bundles[next], finished, &case);
            board.check_at_rest(&bundles[next], &case);
            states += 1;
            if finished {
                break;
            }
        }
    }
    states
}

#[test]
fn killed_in_any_call_the_next_sync_ends_complete() {
    for scenario in scenarios() {
        let states = crash_everywhere(&scenario, false);
        println!("{}: {states} states", scenario.name);
        assert!(states > 10, "{}: too few calls were seen", scenario.name);
    }
}

#[test]
fn the_same_where_syncfs_is_not_trusted() {
    for scenario in scenarios() {
        crash_everywhere(&scenario, true);
    }
}
