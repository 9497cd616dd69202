//! SIGTERM and SIGHUP, and starting beside another one.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::*;

#[test]
fn it_ends_in_time_and_takes_its_socket_along() {
    let board = Board::synced(&["foo"]);
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let daemon = Daemon::start(&board);
        let socket = daemon.socket_path.clone();
        let metadata = fs::symlink_metadata(&socket).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o660);
        // A client that says nothing does not hold it up.
        let _silent = daemon.socket().stream();
        daemon.signal(signal);
        let ended = daemon.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.took < Duration::from_secs(5), "{ended:?}");
        assert!(!socket.exists());
    }
}

#[test]
fn what_was_killed_leaves_a_socket_that_makes_room_and_a_living_one_does_not() {
    let board = Board::synced(&["foo"]);
    let daemon = Daemon::start(&board);
    let other = [
        "serve",
        "--http",
        "off",
        "--socket",
        daemon.socket_path.to_str().unwrap(),
    ];
    let refused = board.run(&other).expect(1);
    assert!(
        refused.stderr.contains("listens there already"),
        "{}",
        refused.stderr
    );
    assert_eq!(daemon.socket().get("/healthz").status, 200);
    // The socket of another daemon is not taken along.
    fs::remove_file(&daemon.socket_path).unwrap();
    let second = Daemon::start(&board);
    assert_eq!(daemon.stop().code, Some(0));
    assert_eq!(second.socket().get("/healthz").status, 200);
    let daemon = second;
    daemon.signal(Signal::SIGKILL);
    let socket = daemon.socket_path.clone();
    assert_eq!(daemon.ended().code, None);
    assert!(socket.exists());
    assert_eq!(Daemon::start(&board).socket().get("/healthz").status, 200);
    let board = Board::synced(&["foo"]);
    let path = board.root().join("s.sock");
    fs::write(&path, "no socket").unwrap();
    board
        .run(&["serve", "--http", "off", "--socket", path.to_str().unwrap()])
        .expect(1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "no socket");
}

#[test]
fn a_door_that_cannot_be_opened_is_told_and_the_others_serve() {
    let board = Board::synced(&["foo"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let socket = board.root().join("s.sock");
    let command = board.command(&[
        "serve",
        "--http",
        &address,
        "--socket",
        socket.to_str().unwrap(),
    ]);
    let daemon = Daemon::of(command, socket);
    daemon.says(&format!("{address} can't be listened on"));
    daemon.until("it serves", || {
        std::os::unix::net::UnixStream::connect(&daemon.socket_path).is_ok()
    });
    assert_eq!(daemon.socket().get("/healthz").status, 200);
    assert_eq!(daemon.stop().code, Some(3));
    let none = ["serve", "--http", &address, "--socket", "off"];
    board.run(&none).expect(1);
}

#[test]
fn a_hang_up_reads_the_settings_again_and_syncs() {
    let board = Board::synced(&["foo"]);
    let other = board.root().join("other");
    let skill = other.join("bar");
    fs::create_dir_all(&skill).unwrap();
    fs::write(
        skill.join("SKILL.md"),
        version("bar", 1).replace("---\n\n", "metadata:\n  device_types: [iOS]\n---\n\n"),
    )
    .unwrap();
    // Neither flags nor environment say where the bundle is, so that the settings do.
    let toml = |bundle: &std::path::Path, device: &str| {
        let text =
            format!("bundled_skills_dir = {bundle:?}\n[device]\ndevice_type = \"{device}\"\n");
        fs::write(board.agent().join("agent.toml"), text).unwrap();
    };
    toml(&board.bundle(), "linux");
    let socket = board.root().join("s.sock");
    let mut command = common::bare_command();
    command
        .args(["-v", "serve", "--http", "off", "--config-dir"])
        .arg(board.agent());
    command.arg("--socket").arg(&socket);
    let daemon = Daemon::of(command, socket);
    daemon.until("it serves", || {
        std::os::unix::net::UnixStream::connect(&daemon.socket_path).is_ok()
    });
    let listed = || output(&daemon, "skill_list", json!({}));
    assert!(listed().contains("foo"));
    toml(&other, "linux");
    daemon.signal(Signal::SIGHUP);
    daemon.until("it is synced", || board.exists("bar/SKILL.md"));
    assert!(!listed().contains("bar"), "it is for other devices");
    toml(&other, "ios");
    daemon.signal(Signal::SIGHUP);
    daemon.until("the device is another one", || listed().contains("bar"));
    assert!(
        daemon
            .socket()
            .get("/api/profile")
            .text()
            .contains("- bar:")
    );
    fs::write(board.agent().join("agent.toml"), "torn = ").unwrap();
    daemon.signal(Signal::SIGHUP);
    daemon.says("going on with the settings of before");
    assert!(
        daemon
            .socket()
            .get("/api/profile")
            .text()
            .contains("- bar:")
    );
}

#[test]
fn settings_that_are_torn_keep_no_daemon_from_serving() {
    let board = Board::synced(&["foo"]);
    fs::write(board.agent().join("agent.toml"), "[skills\n").unwrap();
    let daemon = Daemon::start(&board);
    assert!(output(&daemon, "skill_list", json!({})).contains("foo"));
    assert_eq!(daemon.stop().code, Some(3));
}
