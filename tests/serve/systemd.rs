//! Under systemd: sockets that it hands over, and what it is told.

use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use super::*;

#[test]
fn systemd_is_told_of_readiness_reload_and_end() {
    let board = Board::synced(&["foo"]);
    let path = board.root().join("notify");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let daemon = Daemon::spawn(&board, &[], |command| {
        command.env("NOTIFY_SOCKET", &path);
    });
    let told = || {
        let mut buffer = [0; 200];
        let len = systemd.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    };
    assert_eq!(told().trim(), "READY=1");
    daemon.signal(nix::sys::signal::Signal::SIGHUP);
    let reloading = told();
    assert!(
        reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
        "{reloading}"
    );
    assert_eq!(told().trim(), "READY=1");
    assert_eq!(daemon.stop().code, Some(0));
    assert_eq!(told().trim(), "STOPPING=1");
}

#[test]
fn a_socket_that_is_handed_over_is_served_and_left_in_place() {
    let board = Board::synced(&["foo"]);
    let path = board.root().join("handed.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // As systemd does: the socket is descriptor 3, and the variables name this process.
    let program = common::bare_command().get_program().to_owned();
    let script = "exec env LISTEN_PID=$$ LISTEN_FDS=1 \"$@\" 3<&0 0</dev/null";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program);
    command
        .args(["serve", "--http", "off", "--socket"])
        .arg(board.root().join("own.sock"));
    command.env("AIDEN_CONFIG_DIR", board.agent());
    command.env("AIDEN_BUNDLED_SKILLS_DIR", board.bundle());
    let daemon = Daemon::with_input(command, path.clone(), OwnedFd::from(listener).into());
    daemon.until("it serves", || {
        daemon.socket().get("/healthz").status == 200
    });
    assert!(!board.root().join("own.sock").exists());
    assert_eq!(daemon.stop().code, Some(0));
    assert!(path.exists());
}
