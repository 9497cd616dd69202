//! Killed at random moments of a first seed and of an update of 150 skills.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::board::{Allowed, Board, Workshop};
use crate::firmware::large;

const MOMENTS: u32 = 100;

/// splitmix64: moments need no better.
struct Random(u64);

impl Random {
    fn new(salt: u64) -> Self {
        let seed = match std::env::var("AIDEN_KILL_SEED") {
            Ok(seed) => seed.parse().expect("AIDEN_KILL_SEED is a number"),
            Err(_) => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                u64::from(now.unwrap().subsec_nanos())
            }
        };
        println!("AIDEN_KILL_SEED={seed} repeats these moments");
        Self(seed ^ salt)
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

fn start_sync(board: &Board<'_>, firmware: usize) -> std::process::Child {
    let mut command = board.command(firmware, &["sync"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// How long an undisturbed run takes; the middle of three.
fn measure(start: &Board<'_>, firmware: usize) -> Duration {
    let mut times: Vec<Duration> = (0..3)
        .map(|_| {
            let board = start.fork("measured");
            let started = Instant::now();
            assert!(start_sync(&board, firmware).wait().unwrap().success());
            started.elapsed()
        })
        .collect();
    times.sort();
    times[1]
}

fn assert_any_moment_is_repaired(start: &Board<'_>, firmware: usize, mut random: Random) {
    let whole = measure(start, firmware);
    let mut killed = 0;
    for moment in 0..MOMENTS {
        let after = whole.mul_f64(random.fraction());
        let board = start.fork("cut");
        let mut child = start_sync(&board, firmware);
        sleep(after);
        child.kill().unwrap();
        killed += u32::from(child.wait().unwrap().code().is_none());
        let case = format!("moment {moment}, {after:?} of {whole:?}");
        board.assert_nothing_torn(&[].into(), &case);
        // Every other time the slot has switched, to each of the other firmwares in turn.
        let others: Vec<usize> = board
            .workshop()
            .numbers()
            .filter(|number| *number != firmware)
            .collect();
        let next = match moment % 2 {
            0 => firmware,
            _ => others[usize::try_from(moment / 2).unwrap() % others.len()],
        };
        let case = format!("{case}, then firmware {next}");
        board.assert_sync_completes(next, &Allowed::default(), &case);
    }
    println!("{killed} of {MOMENTS} runs were killed, within {whole:?}");
    assert!(
        killed >= MOMENTS / 2,
        "only {killed} runs were killed: the moments come too late"
    );
}

#[test]
fn a_first_seed_killed_at_random_moments_is_completed() {
    let workshop = Workshop::new(vec![large(1), large(2), large(3)]);
    let start = workshop.board("start");
    assert_any_moment_is_repaired(&start, 1, Random::new(1));
}

#[test]
fn an_update_killed_at_random_moments_is_completed() {
    let workshop = Workshop::new(vec![large(1), large(2), large(3)]);
    let start = workshop.board("start");
    assert_eq!(start.run(1, &["sync"]).code, 0);
    assert_any_moment_is_repaired(&start, 2, Random::new(2));
}
