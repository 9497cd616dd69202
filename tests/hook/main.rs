//! The boot hook on this machine, by the shell that is here: what the program's end becomes, and the daemon's switch.
//! On the boards, under BusyBox, `tests/qemu` runs it.

#![allow(missing_docs, clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The component's init files, installed below a directory of their own.
struct Hook {
    root: TempDir,
}

impl Hook {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let install = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/install.sh");
        let installed = Command::new(install)
            .arg("init")
            .env("PREFIX", root.path().join("usr"))
            .env("SYSCONFDIR", root.path().join("etc"))
            .status()
            .unwrap();
        assert!(installed.success());
        fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        let hook = Self { root };
        hook.default(&format!("PIDFILE={}", hook.path("pid").display()));
        hook.default("USERDATA_IS_MOUNT=no");
        hook
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn default(&self, line: &str) {
        let file = self.path("etc/default/aiden-skills");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}{line}\n")).unwrap();
    }

    /// Puts a shell script in the program's place.
    fn program(&self, script: &str) {
        let program = self.path("usr/bin/aiden-skills");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts the program itself there, with a bundle of one skill.
    fn real_program(&self) {
        fs::copy(
            env!("CARGO_BIN_EXE_aiden-skills"),
            self.path("usr/bin/aiden-skills"),
        )
        .unwrap();
        fs::create_dir_all(self.path("bundle/planner")).unwrap();
        let text = "---\nname: planner\ndescription: Plans\n---\n\nPlan.\n";
        fs::write(self.path("bundle/planner/SKILL.md"), text).unwrap();
        fs::create_dir(self.path("userdata")).unwrap();
        let (config, bundle) = (self.path("userdata/agent"), self.path("bundle"));
        self.default(&format!("AIDEN_CONFIG_DIR={}", config.display()));
        self.default(&format!("AIDEN_BUNDLED_SKILLS_DIR={}", bundle.display()));
    }

    /// Puts a program there that can be a daemon; see `stand-in.c`.
    fn daemon(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hook/stand-in.c");
        let compiled = Command::new("cc")
            .arg("-o")
            .arg(self.path("usr/bin/aiden-skills"))
            .arg(source)
            .status()
            .expect("cc runs");
        assert!(compiled.success());
        self.default(&format!("NOTES={}", self.path("notes").display()));
        self.default(&format!("ENV_FILE={}", self.path("env").display()));
        self.default("SERVE=yes");
        self.default("SERVE_ARGS=\"--http 127.0.0.1:8791\"");
    }

    fn notes(&self) -> String {
        fs::read_to_string(self.path("notes")).unwrap_or_default()
    }

    fn boot_sync(&self, arguments: &[&str]) -> Output {
        self.run("usr/libexec/aiden-skills/boot-sync", arguments)
    }

    fn init(&self, action: &str) -> Output {
        self.run("etc/init.d/S38aiden-skills", &[action])
    }

    /// Under systemd's journal the messages go to standard error alone, and not to this machine's log.
    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        Command::new(self.path(script))
            .args(arguments)
            .env("JOURNAL_STREAM", "0:0")
            .output()
            .unwrap()
    }
}

#[track_caller]
fn assert_says(output: &Output, message: &str) {
    let said = text(output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(message), "{said}");
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn whatever_the_sync_answers_is_said_and_the_hook_succeeds() {
    let hook = Hook::new();
    for (script, message) in [
        ("exit 0", "sync: done\n"),
        (
            "exit 1",
            "nothing could be done; the library is as it was (exit 1)",
        ),
        ("exit 2", "sync: failed"),
        ("exit 3", "done in part"),
        ("exit 4", "another process held the lock (exit 4)"),
        ("kill -SEGV $$", "sync: failed"),
    ] {
        hook.program(script);
        assert_says(&hook.boot_sync(&[]), message);
        assert_says(&hook.init("start"), message);
    }
    fs::remove_file(hook.path("usr/bin/aiden-skills")).unwrap();
    assert_says(&hook.init("start"), "can't be run");
}

#[test]
fn the_program_is_asked_to_sync_and_to_log() {
    let hook = Hook::new();
    hook.program(&format!(
        "echo \"$@\" >{}",
        hook.path("arguments").display()
    ));
    hook.boot_sync(&[]);
    assert_eq!(
        fs::read_to_string(hook.path("arguments")).unwrap(),
        "--log syslog sync\n"
    );
}

#[test]
fn a_sync_that_takes_longer_than_the_limit_is_killed() {
    let hook = Hook::new();
    hook.default("BOOT_LIMIT=1");
    hook.program("exec sleep 30");
    let started = Instant::now();
    // Its standard error is at its end, so nobody holds it any more.
    assert_says(&hook.boot_sync(&[]), "not done after 1 s and stopped");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_quick_sync_does_not_wait_for_the_limit() {
    let hook = Hook::new();
    hook.program("exit 0");
    let started = Instant::now();
    for _ in 0..20 {
        assert_says(&hook.boot_sync(&[]), "sync: done");
    }
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn nothing_is_written_where_the_mount_is_missing() {
    let hook = Hook::new();
    hook.real_program();
    hook.default("USERDATA_IS_MOUNT=yes");
    hook.default(&format!("USERDATA={}", hook.path("userdata").display()));
    hook.default("BOOT_LIMIT=1");
    assert_says(&hook.init("start"), "is not mounted after 1 s");
    assert!(!hook.path("userdata/agent").exists());
    hook.default("USERDATA_IS_MOUNT=no");
    hook.default("BOOT_LIMIT=20");
    assert_says(&hook.init("start"), "sync: done");
    assert!(hook.path("userdata/agent/skills/planner/SKILL.md").exists());
    assert_says(&hook.init("status"), "switched off");
    assert_says(&hook.init("status"), "planner");
}

#[test]
fn a_mount_is_found_through_a_link() {
    let hook = Hook::new();
    hook.default("USERDATA_IS_MOUNT=yes");
    symlink("/proc", hook.path("link")).unwrap();
    hook.default(&format!("USERDATA={}", hook.path("link").display()));
    assert!(hook.boot_sync(&["--mounted"]).status.success());
    hook.default(&format!("USERDATA={}", hook.path("etc").display()));
    assert!(!hook.boot_sync(&["--mounted"]).status.success());
    hook.default(&format!("USERDATA={}", hook.path("not there").display()));
    assert!(!hook.boot_sync(&["--mounted"]).status.success());
}

#[test]
fn what_is_no_setting_in_the_defaults_file_is_not_executed() {
    for line in [
        "if",
        "exit 0",
        "set -e",
        "set -u",
        "exec true",
        "while :; do sleep 1; done",
        "PATH=/nowhere",
        "IFS=abc",
        "UID=1",
        "'",
        "\0\0\0",
        "=",
        "A-B=c",
    ] {
        let hook = Hook::new();
        let program = format!("echo $MARK >{}; exit 3", hook.path("mark").display());
        hook.program(&program);
        hook.default(line);
        hook.default("export MARK=\"two words\"\r");
        assert_says(&hook.init("start"), "done in part");
        assert_eq!(
            fs::read_to_string(hook.path("mark")).unwrap(),
            "two words\n",
            "{line}"
        );
    }
}

#[test]
fn a_defaults_file_that_blocks_or_is_missing_is_done_without() {
    let hook = Hook::new();
    hook.program("exit 0");
    let defaults = hook.path("etc/default/aiden-skills");
    fs::remove_file(&defaults).unwrap();
    let start = || {
        Command::new(hook.path("etc/init.d/S38aiden-skills"))
            .arg("start")
            .env("JOURNAL_STREAM", "0:0")
            .env("USERDATA_IS_MOUNT", "no")
            .output()
            .unwrap()
    };
    assert_says(&start(), "sync: done");
    assert!(
        Command::new("mkfifo")
            .arg(&defaults)
            .status()
            .unwrap()
            .success()
    );
    assert_says(&start(), "sync: done");
}

#[test]
fn a_limit_that_is_no_number_of_seconds_is_20() {
    for limit in ["soon", "08", "-1", "5s", "99999999999999999999", "", "1 2"] {
        let hook = Hook::new();
        hook.program("exit 0");
        hook.default(&format!("BOOT_LIMIT={limit}"));
        let run = hook.boot_sync(&[]);
        assert_says(&run, "taking 20");
        assert_says(&run, "sync: done");
    }
}

#[test]
fn settings_that_could_lead_to_another_place_stop_the_sync() {
    for (lines, message) in [
        (&["USERDATA=userdata"][..], "no absolute path"),
        (&["USERDATA=/user data"], "has a blank"),
        (&["USERDATA_IS_MOUNT=No"], "neither yes nor no"),
        (
            &[
                "USERDATA_IS_MOUNT=yes",
                "USERDATA=/proc",
                "AIDEN_CONFIG_DIR=/data/agent",
            ],
            "not below USERDATA",
        ),
    ] {
        let hook = Hook::new();
        hook.program(&format!("touch {}", hook.path("ran").display()));
        hook.default("USERDATA=/nowhere");
        hook.default("BOOT_LIMIT=0");
        for line in lines {
            hook.default(line);
        }
        assert_says(&hook.init("start"), message);
        assert!(!hook.path("ran").exists(), "{lines:?}");
    }
}

#[test]
fn the_library_is_where_the_mount_is() {
    let hook = Hook::new();
    hook.program(&format!(
        "echo $AIDEN_CONFIG_DIR >{}",
        hook.path("place").display()
    ));
    hook.default("USERDATA=/proc");
    hook.default("USERDATA_IS_MOUNT=yes");
    assert_says(&hook.init("start"), "sync: done");
    assert_eq!(
        fs::read_to_string(hook.path("place")).unwrap(),
        "/proc/agent\n"
    );
}

#[test]
fn a_program_that_is_empty_or_no_program_is_said_to_be_none() {
    let hook = Hook::new();
    hook.program("");
    let program = hook.path("usr/bin/aiden-skills");
    fs::write(&program, "").unwrap();
    assert_says(&hook.init("start"), "can't be run");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&program, "#!/bin/sh\n").unwrap();
    assert_says(&hook.init("start"), "can't be run");
}

#[test]
fn a_hook_that_is_told_to_end_ends_the_sync() {
    let hook = Hook::new();
    hook.program(&format!(
        "echo $$ >{}; exec sleep 30",
        hook.path("process").display()
    ));
    let mut boot_sync = Command::new(hook.path("usr/libexec/aiden-skills/boot-sync"))
        .env("JOURNAL_STREAM", "0:0")
        .spawn()
        .unwrap();
    let process = loop {
        thread::sleep(Duration::from_millis(50));
        let text = fs::read_to_string(hook.path("process")).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
    };
    let told = Command::new("kill")
        .arg(boot_sync.id().to_string())
        .status()
        .unwrap();
    assert!(told.success());
    assert!(boot_sync.wait().unwrap().success());
    let started = Instant::now();
    while Path::new("/proc").join(&process).exists() {
        assert!(started.elapsed() < Duration::from_secs(10), "it goes on");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_daemon_has_its_own_switch() {
    let hook = Hook::new();
    hook.daemon();
    hook.default("USERDATA=/data/");
    hook.default("SERVE=no");
    assert_says(&hook.init("start"), "sync: done");
    assert!(!hook.notes().contains("serve"), "{}", hook.notes());

    hook.default("SERVE=yes");
    fs::write(hook.path("env"), "AIDEN_TEST_KEY='a secret'\n").unwrap();
    assert_says(&hook.init("start"), "OK");
    let notes = hook.notes();
    assert!(
        notes.contains("--log syslog serve --http 127.0.0.1:8791 in /data/agent key=a secret"),
        "{notes}"
    );
    assert_says(&hook.init("status"), "The daemon runs");
    assert_says(&hook.init("start"), "it runs already");
    hook.init("reload");
    thread::sleep(Duration::from_millis(500));
    assert!(hook.notes().contains("HUP"), "{}", hook.notes());
    assert_says(&hook.init("restart"), "OK");
    assert_says(&hook.init("stop"), "OK");
    assert_says(&hook.init("status"), "does not run");
    assert_says(&hook.init("stop"), "");
    assert_eq!(
        hook.notes().matches(" serve ").count(),
        2,
        "{}",
        hook.notes()
    );
    assert_eq!(hook.notes().matches("TERM").count(), 2, "{}", hook.notes());
}

#[test]
fn a_daemon_that_does_not_end_is_killed_after_5_s() {
    let hook = Hook::new();
    hook.daemon();
    hook.default("STUBBORN=yes");
    assert_says(&hook.init("start"), "OK");
    let started = Instant::now();
    assert_says(&hook.init("stop"), "OK");
    assert!(started.elapsed() >= Duration::from_secs(5));
    assert_says(&hook.init("status"), "does not run");
}

#[test]
fn a_daemon_that_ends_at_once_is_no_success_but_no_failed_boot_either() {
    let hook = Hook::new();
    hook.daemon();
    hook.default("SERVE_ARGS=fail");
    assert_says(&hook.init("start"), "FAIL");
    hook.default("USERDATA_IS_MOUNT=yes");
    hook.default("BOOT_LIMIT=0");
    hook.default(&format!("USERDATA={}", hook.path("etc").display()));
    assert_says(&hook.init("start"), "file system is not mounted");
}

#[test]
fn an_env_file_with_a_fault_costs_the_secrets_only() {
    let hook = Hook::new();
    hook.daemon();
    fs::write(
        hook.path("env"),
        "sleep 100\nif\nexport AIDEN_TEST_KEY='kept'\nexit 1\n",
    )
    .unwrap();
    assert_says(&hook.init("start"), "OK");
    assert!(hook.notes().contains("key=kept"), "{}", hook.notes());
    assert_says(&hook.init("stop"), "OK");
    fs::remove_file(hook.path("env")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(hook.path("env"))
            .status()
            .unwrap()
            .success()
    );
    assert_says(&hook.init("start"), "OK");
    assert_says(&hook.init("stop"), "OK");
}
