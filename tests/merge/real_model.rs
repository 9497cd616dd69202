//! A real model server, with a model so small that it answers mostly nonsense: the wire is real, and no bad answer reaches
//! the library. `make install-tools` builds it; without it these tests fail.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aiden_skills::skill::SkillDocument;

use super::common::{Board, edited, names, skill_text, version};
use super::*;

/// Loading the model on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The server, until it is dropped.
struct Server {
    child: Child,
    port: u16,
    log: PathBuf,
    _place: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let said = fs::File::create(&log).unwrap();
        let child = Command::new(tools::fetched("model/venv/bin/python"))
            .args([
                "-m",
                "llama_cpp.server",
                "--n_ctx",
                "8192",
                "--host",
                "127.0.0.1",
            ])
            .args(["--port", &port.to_string(), "--model"])
            .arg(tools::fetched("model/model.gguf"))
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut server = Self {
            child,
            port,
            log,
            _place: place,
        };
        let since = Instant::now();
        while !server.answers() {
            assert!(
                since.elapsed() < PATIENCE,
                "it does not start: {}",
                server.said()
            );
            assert!(
                server.child.try_wait().unwrap().is_none(),
                "{}",
                server.said()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let asked = stream.write_all(b"GET /v1/models HTTP/1.0\r\n\r\n");
        let mut start = [0; 12];
        asked.is_ok() && stream.read_exact(&mut start).is_ok() && start.ends_with(b" 200")
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn configure(&self, board: &Board, more: &str) {
        let toml = format!(
            "[model]\nprovider = \"here\"\nmodel = \"smollm2\"\ncontext_window = 8192\n[model_providers.here]\n\
             type = \"openai\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n[skills.merge]\n{more}\n",
            self.port
        );
        common::write(&board.agent().join("agent.toml"), toml);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Skills of which both sides changed the same.
fn clashing_board(names: &[&str]) -> Board {
    let board = Board::synced(names);
    for name in names {
        board.user_skill(name, &edited(name));
    }
    board.sync().expect(0);
    for name in names {
        board.skill(name, &version(name, 2));
    }
    board
}

/// One server for all, for it takes seconds to start and one core to answer.
#[test]
fn no_bad_answer_of_a_real_model_reaches_the_library() {
    let server = Server::start();
    answers_are_applied_only_if_they_are_valid(&server);
    a_model_that_takes_too_long_is_given_up(&server);
    a_stop_does_not_wait_for_it(&server);
    a_wrong_address_is_told(&server);
}

fn answers_are_applied_only_if_they_are_valid(server: &Server) {
    let all = ["alpha", "beta", "gamma", "delta"];
    let board = clashing_board(&all);
    server.configure(&board, "");
    let report = merge(&board, &[]).expect(0).json();
    let (merged, failed) = (names(&report, "merged"), names(&report, "merge_failed"));
    assert_eq!(merged.len() + failed.len(), all.len(), "{report:#}");
    for name in &merged {
        let document = SkillDocument::parse(board.text(name).as_bytes()).unwrap();
        assert_eq!(document.name(), name);
        assert_eq!(board.record(name)["last_merge_engine"], "llm");
    }
    for failed in report["merge_failed"].as_array().unwrap() {
        let name = failed["name"].as_str().unwrap();
        assert_eq!(
            failed["transient"],
            false,
            "an answer was had: {failed}\n{}",
            server.said()
        );
        assert_eq!(board.text(name), edited(name));
        assert_eq!(board.base(name), version(name, 1));
    }
    let said = server.said();
    let answered = said
        .matches("\"POST /v1/chat/completions HTTP/1.1\" 200")
        .count();
    assert_eq!(answered, all.len(), "{said}");
    board.assert_at_rest();
    println!(
        "a real model: {} of {} answers were valid",
        merged.len(),
        all.len()
    );
}

fn a_model_that_takes_too_long_is_given_up(server: &Server) {
    let board = Board::new();
    let long = |text: &str| {
        skill_text(
            "long",
            text,
            &format!("{text}\n{}", "It goes on and on.\n".repeat(150)),
        )
    };
    board.skill("long", &long("One."));
    board.sync().expect(0);
    board.user_skill("long", &long("Mine."));
    board.sync().expect(0);
    board.skill("long", &long("Two."));
    server.configure(&board, "timeout_s = 1");
    let report = merge(&board, &[]).expect(0).json();
    let failed = &report["merge_failed"][0];
    assert_eq!(failed["transient"], true, "{failed}");
    let error = format!(
        "the model's server 127.0.0.1:{} took too long to answer",
        server.port
    );
    assert_eq!(failed["error"], error);
    assert_eq!(board.text("long"), long("Mine."));
}

fn a_stop_does_not_wait_for_it(server: &Server) {
    let board = clashing_board(&["alpha"]);
    server.configure(&board, "");
    let mut command = board.command(&["--json", "merge"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(since.elapsed() < Duration::from_secs(5));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(board.record("alpha")["last_merge_transient"], true);
    assert_eq!(board.text("alpha"), edited("alpha"));
}

fn a_wrong_address_is_told(server: &Server) {
    let board = clashing_board(&["alpha"]);
    let base_url = format!("base_url = \"http://127.0.0.1:{}/v2\"", server.port);
    server.configure(&board, &base_url);
    let report = merge(&board, &[]).expect(0).json();
    let error = report["merge_failed"][0]["error"].as_str().unwrap();
    assert!(
        error.ends_with("answered with HTTP status 404: check base_url and model"),
        "{error}"
    );
}
