//! Boards switched off at random moments: while they boot, with now the one and now the other firmware, and while a
//! user and the program work on the library. The disk of one cut is the next one's.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tempfile::TempDir;

use crate::board::{Board, Machine, Slot};
use crate::chance::{rng, soak};
use crate::cycle::{self, LENGTH, program, user};
use crate::log::Disk;
use crate::recording::{boards, introduction};
use crate::state::{Bench, EXT4, Way, scratch};
use crate::table;
use crate::verdict::{self, Case, fork};

const PATIENCE: Duration = Duration::from_secs(120);
/// Then a board gets an empty disk, for first seeds are to be cut too.
const CUTS_OF_A_LIFE: usize = 10;
const LATEST: f64 = 1.1;

/// What a board was at when it was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Until the hook has said that its sync is done.
    Booting,
    Booted,
    /// Of the cycle's work of this number.
    User(usize),
    Program(usize),
    Done(usize, i32),
}

impl Moment {
    fn of(console: &str) -> Self {
        let mut moment = Self::Booting;
        for line in console.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
            moment = match (words.first(), number(1)) {
                (Some(&"user"), Some(number)) => Self::User(number),
                (Some(&"begin"), Some(number)) => Self::Program(number),
                (Some(&"done"), Some(done)) => {
                    let code = number(2).expect("a whole line has the exit code");
                    Self::Done(done, i32::try_from(code).unwrap())
                }
                // Before it may stand what a logger adds.
                _ if line.ends_with("aiden-skills: sync: done") => Self::Booted,
                _ => moment,
            };
        }
        moment
    }
}

/// A board that is switched on, until it is switched off.
struct On {
    child: Child,
    console: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
    since: Instant,
}

impl On {
    fn new(board: &Board, slot: Slot) -> Self {
        let mut child = board.boot(slot).switch_on();
        let mut output = child.stdout.take().unwrap();
        let console = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&console);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                heard.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self {
            child,
            console,
            reader: Some(reader),
            since: Instant::now(),
        }
    }

    fn heard(&self) -> String {
        // What is not yet a whole line was not yet said.
        let bytes = self.console.lock().unwrap();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        String::from_utf8_lossy(&bytes[..whole]).replace('\r', "")
    }

    /// Waits for a line; answers when it came after the board was switched on.
    fn wait_for(&mut self, wanted: &str) -> Duration {
        while !self.hears(wanted, PATIENCE) {
            assert!(
                self.since.elapsed() < PATIENCE,
                "{wanted} does not come: {}",
                self.heard()
            );
        }
        self.since.elapsed()
    }

    fn hears(&self, wanted: &str, patience: Duration) -> bool {
        let since = Instant::now();
        while !self.heard().lines().any(|line| line == wanted) {
            if since.elapsed() > patience {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Starts the cycle on a board that has booted.
    fn start_cycle(&mut self) -> Duration {
        self.wait_for("board: ready");
        // What is typed before the shell listens may be lost in part.
        let mut tries = 0;
        while {
            self.type_lines("stty -echo; PS1= PS2=; echo \"shell $((0 + 1))\"");
            !self.hears("shell 1", Duration::from_secs(5))
        } {
            tries += 1;
            assert!(tries < 20, "no shell answers: {}", self.heard());
        }
        self.type_lines(&format!("{}\n{}", introduction(), cycle::words()));
        self.wait_for("user 0")
    }

    fn type_lines(&mut self, lines: &str) {
        let console = self.child.stdin.as_mut().unwrap();
        writeln!(console, "{lines}").unwrap();
        console.flush().unwrap();
    }

    /// Answers what the console said until then.
    fn switch_off(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.heard()
    }
}

impl Drop for On {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How long a boot and a cycle take when nobody switches off.
struct Durations {
    boot: Duration,
    cycle: Duration,
}

impl Durations {
    fn measure(machine: Machine) -> Self {
        let board = Board::new(machine);
        let mut on = On::new(&board, Slot::A);
        let boot = on.wait_for("board: ready");
        let begin = on.start_cycle();
        let cycle = on.wait_for(&format!("user {}", LENGTH)) - begin;
        on.switch_off();
        Self { boot, cycle }
    }
}

/// A board's disk from one cut to the next.
struct Life {
    board: Board,
    bench: Bench,
    /// What lay in the config dir when the board was last off.
    config: PathBuf,
    place: TempDir,
}

impl Life {
    fn new(machine: Machine) -> Self {
        let board = Board::new(machine);
        EXT4.make(&board.userdata());
        let place = scratch();
        Self {
            board,
            bench: Bench::new(),
            config: place.path().join("config"),
            place,
        }
    }

    /// Switches it on and, at a random moment, off.
    fn cut(&self, slot: Slot, while_booting: bool, durations: &Durations, rng: &mut Rng) -> String {
        let mut on = On::new(&self.board, slot);
        let whole = if while_booting {
            durations.boot
        } else {
            on.start_cycle();
            durations.cycle
        };
        thread::sleep(whole.mul_f64(LATEST * rng.f64()));
        on.switch_off()
    }

    /// What this machine's program and shell make of the config dir by the same steps, up to the one that was cut.
    fn case(&self, slot: Slot, moment: Moment) -> Case {
        let boot = |config: &Path| verdict::run(config, slot, "sync");
        let before = self.place.path().join("before");
        let _ = fs::remove_dir_all(&before);
        fork(&self.config, &before);
        let all_before = |number: usize| {
            boot(&before);
            for number in 0..number {
                user(&before, number);
                program(&before, number);
            }
        };
        match moment {
            Moment::Booting | Moment::Booted => Case::new("agent", &before, slot, boot),
            Moment::User(number) => {
                all_before(number);
                Case::new("agent", &before, slot, |config| user(config, number))
            }
            Moment::Program(number) | Moment::Done(number, _) => {
                all_before(number);
                user(&before, number);
                let run = |config: &Path| program(config, number);
                Case::new("agent", &before, cycle::firmware(number), run)
            }
        }
    }

    /// Judges a copy of the disk, and remembers what lies on it.
    fn judge(&mut self, slot: Slot, moment: Moment) -> Vec<String> {
        let case = self.case(slot, moment);
        let disk = Disk::read(&self.board.userdata());
        let way = Way::of_this_machine();
        let reported = matches!(moment, Moment::Booted | Moment::Done(..));
        let mut wrong = case.judge(&self.bench, &disk, &EXT4, way, reported).wrong;
        if let Moment::Done(_, code) = moment
            && code != case.code
        {
            wrong.push(format!("it ended with {code}, here with {}", case.code));
        }
        let _ = fs::remove_dir_all(&self.config);
        match self.bench.open(&disk, &EXT4, way) {
            Ok(opened) => {
                fork(&opened.directory("agent"), &self.config);
            }
            Err(why) => wrong.push(why),
        }
        wrong
    }

    fn keep(&self, cut: usize) {
        let place = boards().join("kept").join(format!("cut-{cut}"));
        fs::create_dir_all(&place).unwrap();
        fs::copy(self.board.userdata(), place.join("userdata.img")).unwrap();
        println!("  its disk is kept in {}", place.display());
    }
}

#[track_caller]
fn assert_every_cut_ends_well(machine: Machine, cuts: usize) {
    let mut rng = rng(machine.name());
    let durations = Durations::measure(machine);
    let Durations { boot, cycle } = &durations;
    println!(
        "power-loss: a boot of {} takes {boot:.1?}, a cycle {cycle:.1?}",
        machine.name()
    );
    let mut life = Life::new(machine);
    let mut violations = 0;
    let (mut booting, mut booted, mut users, mut programs, mut done) = (0, 0, 0, 0, 0);
    for cut in 0..cuts {
        if cut % CUTS_OF_A_LIFE == 0 {
            life = Life::new(machine);
        }
        let slot = [Slot::A, Slot::B][rng.usize(..2)];
        let console = life.cut(slot, rng.bool(), &durations, &mut rng);
        let moment = Moment::of(&console);
        match moment {
            Moment::Booting => booting += 1,
            Moment::Booted => booted += 1,
            Moment::User(_) => users += 1,
            Moment::Program(_) => programs += 1,
            Moment::Done(..) => done += 1,
        }
        let wrong = life.judge(slot, moment);
        if !wrong.is_empty() {
            violations += 1;
            println!(
                "VIOLATION: {} cut {cut}, slot {slot:?}: {moment:?}",
                machine.name()
            );
            for one in wrong {
                println!("  {}", one.chars().take(2000).collect::<String>());
            }
            life.keep(cut);
        }
    }
    println!(
        "power-loss: {cuts} cuts: {booting} before the boot's sync was done, {booted} after it, {users} while the user \
         worked, {programs} while the program did, {done} right after it"
    );
    let name = format!("{} switched off at random moments", machine.name());
    table::line(&name, EXT4.name, cuts, violations);
    assert_eq!(violations, 0, "of {cuts} cuts; each is told above");
    // Of a few cuts each may by chance be at something else.
    if cuts >= 40 {
        assert!(booting > 0 && programs > 0, "nothing was cut at its work");
    }
}

#[test]
fn aarch64_switched_off_at_any_moment_goes_on_well() {
    assert_every_cut_ends_well(Machine::Aarch64, 44 * soak());
}

#[test]
fn armv7_switched_off_at_any_moment_goes_on_well() {
    assert_every_cut_ends_well(Machine::Armv7, 6 * soak());
}
