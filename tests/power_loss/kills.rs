//! Boards switched off at random moments: while they boot, with now the one and now the other firmware, and while a
//! user and the program work on the library. The disk of one cut is the next one's.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::board::{Board, Machine, Slot};
use crate::log::Disk;
use crate::operations::PRELUDE;
use crate::random::{Random, seed, soak};
use crate::recording::{boards, introduction};
use crate::state::{Bench, EXT4, Way, scratch};
use crate::table;
use crate::verdict::{self, Case, fork};

const PATIENCE: Duration = Duration::from_secs(120);
/// Then a board gets an empty disk, for first seeds are to be cut too.
const CUTS_OF_A_LIFE: usize = 10;
const LATEST: f64 = 1.1;

/// What a user does, then what the program does, and with which firmware.
struct Work {
    user: &'static str,
    command: &'static str,
    firmware: Slot,
}

/// Done again and again.
const CYCLE: &[Work] = &[
    Work {
        user: "true",
        command: "sync",
        firmware: Slot::B,
    },
    Work {
        user: "edit research/SKILL.md",
        command: "sync",
        firmware: Slot::A,
    },
    Work {
        user: "delete ui-operator/SKILL.md",
        command: "sync",
        firmware: Slot::B,
    },
    Work {
        user: "delete planner/templates/plan.md",
        command: "reset research ui-operator planner --restore",
        firmware: Slot::B,
    },
    Work {
        user: "true",
        command: "sync",
        firmware: Slot::A,
    },
];

/// A user's program that knows how to replace a file, so that a file that is torn was not its doing. On this machine
/// `flush` does nothing.
const USER: &str = r#"
edit() {
[ ! -e "$C/skills/$1" ] || { cp "$C/skills/$1" "$C/../new" && echo "The user's own words." >>"$C/../new" && flush &&
mv "$C/../new" "$C/skills/$1"; }
}
delete() { rm -f "$C/skills/$1"; }
"#;

/// The cycle as words for a board's shell. It says what begins and what is done.
fn cycle() -> String {
    let mut words = format!(
        "flush() {{ sync; }}\n{}\nC=/userdata/agent n=0\n",
        USER.trim()
    );
    words += "while :; do\n";
    for work in CYCLE {
        let bundle = match work.firmware {
            Slot::A => "$A",
            Slot::B => "$B",
        };
        let Work { user, command, .. } = work;
        words += &format!("echo \"user $n\"; {user}; flush; echo \"begin $n\"\n");
        words +=
            &format!("skills {bundle} {command} 2>/run/said; echo \"done $n $?\"; n=$((n + 1))\n");
    }
    words + "done"
}

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
                _ if line.contains("aiden-skills: sync: done") => Self::Booted,
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
    reader: thread::JoinHandle<()>,
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
            reader,
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
        loop {
            if self.heard().lines().any(|line| line == wanted) {
                return self.since.elapsed();
            }
            if self.since.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("{wanted} does not come: {}", self.heard());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn type_lines(&mut self, lines: &str) {
        let console = self.child.stdin.as_mut().unwrap();
        writeln!(console, "stty -echo; PS1= PS2=\n{lines}").unwrap();
        console.flush().unwrap();
    }

    fn switch_off(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        let console = Arc::into_inner(self.console).unwrap().into_inner().unwrap();
        let whole = console.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        String::from_utf8_lossy(&console[..whole]).replace('\r', "")
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
        on.type_lines(&format!("{}\n{}", introduction(), cycle()));
        let begin = on.wait_for("user 0");
        let cycle = on.wait_for(&format!("user {}", CYCLE.len())) - begin;
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
    fn cut(
        &self,
        slot: Slot,
        while_booting: bool,
        durations: &Durations,
        random: &mut Random,
    ) -> String {
        let mut on = On::new(&self.board, slot);
        let whole = if while_booting {
            durations.boot
        } else {
            on.wait_for("board: ready");
            on.type_lines(&format!("{}\n{}", introduction(), cycle()));
            on.wait_for("user 0");
            durations.cycle
        };
        thread::sleep(whole.mul_f64(LATEST * random.fraction()));
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
        let firmware = |number: usize| CYCLE[number % CYCLE.len()].firmware;
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
                Case::new("agent", &before, firmware(number), run)
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

/// The user's part of a work, on this machine.
fn user(config: &Path, number: usize) -> i32 {
    let words = CYCLE[number % CYCLE.len()].user;
    let mut shell = Command::new("sh");
    shell.env("C", config);
    shell
        .arg("-c")
        .arg(format!("{PRELUDE}\nflush() {{ :; }}\n{USER}\n{words}"));
    shell.status().unwrap().code().unwrap()
}

/// The program's part.
fn program(config: &Path, number: usize) -> i32 {
    let work = &CYCLE[number % CYCLE.len()];
    verdict::run(config, work.firmware, work.command)
}

#[track_caller]
fn assert_every_cut_ends_well(machine: Machine, cuts: usize) {
    let seed = seed(machine.name());
    let mut random = Random::new(seed, machine.name());
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
        let slot = [Slot::A, Slot::B][random.below(2)];
        let console = life.cut(slot, random.once_in(2), &durations, &mut random);
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
                "VIOLATION: {} cut {cut}, seed {seed}, slot {slot:?}: {moment:?}",
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
    let name = format!("ext4 on {}", machine.name());
    table::line("switched off at random moments", &name, cuts, violations);
    assert_eq!(violations, 0, "of {cuts} cuts; each is told above");
}

#[test]
fn aarch64_switched_off_at_any_moment_goes_on_well() {
    assert_every_cut_ends_well(Machine::Aarch64, 44 * soak());
}

#[test]
fn armv7_switched_off_at_any_moment_goes_on_well() {
    assert_every_cut_ends_well(Machine::Armv7, 6 * soak());
}
