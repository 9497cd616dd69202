//! Which answer a request gets (contract §7).

use hyper::http::{Method, StatusCode, header};

use super::message::{Door, Reply, Request};
use super::metrics::Gauges;
use super::server::Server;
use super::{console, skills, tools};
use crate::sync::recorded_statuses;
use crate::tools::Session;

/// Who asks.
pub(super) struct Asking<'s> {
    pub session: &'s std::sync::Mutex<Session>,
    /// The token that came with the request.
    pub token: Option<&'s str>,
}

/// Whether all that is asked is whether the daemon is alive. The page tells nobody without the token.
pub(super) fn is_health(request: &Request) -> bool {
    let is_get = matches!(request.method, Method::GET | Method::HEAD);
    request.door != Door::Console && is_get && request.path == ["healthz"]
}

pub(super) fn health() -> Reply {
    Reply::new(StatusCode::OK, "text/plain; charset=utf-8", "ok\n")
}

/// Whether a request may wait long: for the lock, or for a model.
pub(super) fn may_wait(request: &Request) -> bool {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    match path[..] {
        ["api", "tools", "skill_list" | "skill_read"] => false,
        _ => request.method == Method::POST,
    }
}

/// Answers a request. May wait for locks and disks, so it runs on a thread of its own.
pub(super) fn answer(server: &Server, request: &Request, asking: &Asking<'_>) -> Reply {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let is_get = matches!(request.method, Method::GET | Method::HEAD);
    let is_open = matches!(
        path[..],
        ["healthz"] | ["metrics"] | ["api", "tools", ..] | ["api", "tool-skills"]
    );
    if request.door == Door::Console {
        if path.is_empty() {
            return if is_get {
                console::page()
            } else {
                wrong_method("GET")
            };
        }
        let is_known =
            |token: &super::token::Token| asking.token.is_some_and(|said| token.is(said));
        if !server.token.as_ref().is_some_and(is_known) {
            let message =
                "the token that was printed at start is needed, as `Authorization: Bearer TOKEN`";
            return Reply::error(StatusCode::UNAUTHORIZED, message)
                .with(header::WWW_AUTHENTICATE, "Bearer");
        }
    } else if request.door == Door::Tcp && !is_open {
        return not_found(request.door);
    }
    let get = |answer: &dyn Fn() -> Reply| {
        if is_get {
            answer()
        } else {
            wrong_method("GET")
        }
    };
    let post = |answer: &dyn Fn() -> Reply| match request.method {
        Method::POST => answer(),
        _ => wrong_method("POST"),
    };
    if !matches!(path[..], ["healthz"] | ["metrics"]) {
        server.await_first_sync();
    }
    match path[..] {
        ["healthz"] => get(&health),
        ["metrics"] => get(&|| metrics(server)),
        ["api", "tools"] => get(&|| tools::all(server, request.door)),
        ["api", "tools", name] => post(&|| tools::call(server, request, asking, name)),
        ["api", "tool-skills"] => get(&|| tools::bundle(server, request)),
        ["api", "profile"] => get(&|| skills::profile(server, request)),
        ["api", "skills"] => get(&|| skills::status(server)),
        ["api", "skills", "reload"] => post(&|| {
            server.live.mark_dirty();
            Reply::json(&serde_json::json!({"status": "ok"}))
        }),
        ["api", "skills", name, "diff"] => get(&|| skills::diff(server, request, name)),
        ["api", "skills", name, "reset"] => post(&|| skills::reset(server, name)),
        ["api", "skills", name, "archive"] => post(&|| skills::archive(server, asking, name)),
        ["api", "sync"] => post(&|| skills::sync(server, request)),
        ["api", "merge"] => post(&|| skills::merge(server, request)),
        _ => not_found(request.door),
    }
}

pub(super) fn not_found(door: Door) -> Reply {
    let more = match door {
        Door::Tcp => {
            "; all but these tools, /api/tool-skills, /healthz and /metrics is on the agent's socket only"
        }
        Door::Socket | Door::Console => "",
    };
    let message = format!("there is nothing by this name: GET /api/tools lists the tools{more}");
    Reply::error(StatusCode::NOT_FOUND, message)
}

fn wrong_method(method: &str) -> Reply {
    Reply::error(StatusCode::METHOD_NOT_ALLOWED, format!("use {method}"))
        .with(header::ALLOW, method)
}

fn metrics(server: &Server) -> Reply {
    let skills = recorded_statuses(&server.live.tools().options).unwrap_or_default();
    let gauges = Gauges {
        skills,
        connections: [
            ("tcp", server.tcp.count()),
            ("socket", server.socket.count()),
            ("console", server.console.count()),
        ],
        generation: server.live.begin_run().ok().map(|run| run.generation),
    };
    let text = server.metrics.text(&gauges);
    Reply::new(
        StatusCode::OK,
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    )
}
