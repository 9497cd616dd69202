//! The daemon (contract §7): syncs, serves tools, profile and status over HTTP, and merges in the background.

mod background;
mod connections;
mod console;
mod doors;
mod head;
mod listen;
mod message;
mod metrics;
mod peer;
mod routes;
mod server;
mod skills;
mod token;
mod tools;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use nix::unistd::Group;
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::doors::Doors;
pub use self::listen::Listening;
use self::listen::OwnSocket;
use self::message::Door;
use self::server::Server;
pub use self::server::{Reload, Setup};
use self::token::Token;

/// Threads that make answers; they end when nobody asks.
const MAX_THREADS: usize = 32;
const THREAD_LIFE: Duration = Duration::from_secs(10);
const STACK_BYTES: usize = 512 * 1024;
/// Of the five seconds that a stop may take before the init script kills: for answers under way, and for what the
/// background has begun.
const ANSWERS_END: Duration = Duration::from_millis(1500);
const WORK_ENDS: Duration = Duration::from_millis(1500);
/// For the lock under which the last counts are written.
const LAST_COUNTS_LOCK: Duration = Duration::from_millis(1000);

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The kernel gives no threads, signals or events.
    #[error("the daemon can't start: {0}")]
    Start(#[from] io::Error),
    /// No door could be opened.
    #[error("nothing can be listened on; see above")]
    NoDoor,
}

/// How the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Whether all doors were open and all counts are written.
    pub is_whole: bool,
}

/// Serves until SIGTERM or SIGINT; `announce` is given the address of the page for people.
///
/// # Errors
/// When it can't start.
pub fn serve(
    listening: &Listening,
    setup: Setup,
    reload: Reload,
    announce: &dyn Fn(&str),
) -> Result<Served, ServeError> {
    let token = listening.console.map(|_| Token::random()).transpose()?;
    let server = Arc::new(Server::new(setup, reload, token));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .thread_keep_alive(THREAD_LIFE)
        .thread_stack_size(STACK_BYTES)
        .build()?;
    let served = runtime.block_on(run(&server, listening, announce));
    // What still waits for a lock or a model ends with the process; nothing of it is half done on disk.
    runtime.shutdown_background();
    served
}

async fn run(
    server: &Arc<Server>,
    listening: &Listening,
    announce: &dyn Fn(&str),
) -> Result<Served, ServeError> {
    let [mut terminate, mut interrupt, mut hang_up] = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::hangup())?,
    ];
    let (end, ends) = watch::channel(false);
    let doors = Arc::new(Doors {
        server: Arc::clone(server),
        ends,
        writers: Semaphore::new(MAX_THREADS / 2),
        faults: AtomicU64::new(0),
    });
    let opened = open(&doors, listening, announce).await?;
    let work = {
        let server = Arc::clone(server);
        let begin = thread::Builder::new().name("background".into());
        begin.spawn(move || background::work(&server))?
    };
    let counting = tokio::spawn(Arc::clone(&server.live).keep_writing_counts());
    let ready = Arc::clone(server);
    tokio::task::spawn_blocking(move || {
        ready.await_first_sync();
        tell_systemd(&[NotifyState::Ready]);
    });
    // One after the other; of those that come meanwhile, one is left.
    let reloading = {
        let server = Arc::clone(server);
        tokio::spawn(async move {
            while hang_up.recv().await.is_some() {
                let server = Arc::clone(&server);
                let reload = tokio::task::spawn_blocking(move || {
                    tell_systemd(&[NotifyState::Reloading, monotonic()]);
                    server.reload();
                    tell_systemd(&[NotifyState::Ready]);
                });
                let _ = reload.await;
            }
        })
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    reloading.abort();
    tell_systemd(&[NotifyState::Stopping]);
    server.stop.stop();
    server.inbox.stop();
    end.send_replace(true);
    drop(opened.own_socket);
    let all = [&server.tcp, &server.socket, &server.console];
    let answers = async {
        for connections in all {
            connections.all_ended().await;
        }
    };
    if timeout(ANSWERS_END, answers).await.is_err() {
        log::warn!("some clients did not take their answers: they are given up");
    }
    let works = tokio::task::spawn_blocking(move || work.join());
    if timeout(WORK_ENDS, works).await.is_err() {
        log::warn!("a sync or merge is still under way: it is left, and settled at the next start");
    }
    counting.abort();
    let server = Arc::clone(server);
    let (tell, written) = tokio::sync::oneshot::channel();
    // On a thread of its own, for all others may wait for the lock.
    thread::spawn(move || tell.send(server.live.write_counts(Some(LAST_COUNTS_LOCK))));
    let is_written = match timeout(LAST_COUNTS_LOCK * 2, written).await {
        Ok(Ok(Ok(()))) => true,
        Ok(Ok(Err(e))) => {
            log::error!("the last counts could not be written: {e}");
            false
        }
        _ => {
            log::error!("the last counts could not be written in time");
            false
        }
    };
    Ok(Served {
        is_whole: opened.all && is_written,
    })
}

struct Opened {
    /// Whether all that was asked for are.
    all: bool,
    own_socket: Option<OwnSocket>,
}

/// Opens the doors. One that can't be is told; none at all is an error.
async fn open(
    doors: &Arc<Doors>,
    listening: &Listening,
    announce: &dyn Fn(&str),
) -> Result<Opened, ServeError> {
    let mut own_socket = None;
    let mut open: Vec<JoinHandle<()>> = Vec::new();
    let mut all = true;
    let mut missing = |reason: String| {
        log::error!("{reason}");
        all = false;
    };
    let group: Option<Group> = match listening.socket_group.as_deref().map(listen::group) {
        None => None,
        Some(Ok(group)) => Some(group),
        Some(Err(e)) => {
            missing(format!("{e}: the socket is for root and this user only"));
            None
        }
    };
    let handed_over = listen::handed_over()?;
    let has_socket = !handed_over.sockets.is_empty();
    let has_tcp = !handed_over.tcp.is_empty();
    for socket in handed_over.sockets {
        open.push(tokio::spawn(
            Arc::clone(doors).accept_unix(socket, group.clone()),
        ));
    }
    for tcp in handed_over.tcp {
        open.push(tokio::spawn(Arc::clone(doors).accept_tcp(tcp, Door::Tcp)));
    }
    if let Some(path) = listening.socket.as_ref().filter(|_| !has_socket) {
        match listen::own_socket(path, group.as_ref()).await {
            Ok((socket, own)) => {
                log::info!("listening on {}", path.display());
                own_socket = Some(own);
                open.push(tokio::spawn(Arc::clone(doors).accept_unix(socket, group)));
            }
            Err(e) => missing(format!("{} can't be listened on: {e}", path.display())),
        }
    }
    let tcp = listening
        .http
        .filter(|_| !has_tcp)
        .map(|address| (address, Door::Tcp));
    let console = listening.console.map(|address| (address, Door::Console));
    for (address, door) in tcp.into_iter().chain(console) {
        match tokio::net::TcpListener::bind(address).await {
            Ok(listener) => {
                let local = listener.local_addr()?;
                if let Some(token) = doors
                    .server
                    .token
                    .as_ref()
                    .filter(|_| door == Door::Console)
                {
                    announce(&format!("http://{local}/#token={token}"));
                } else {
                    log::info!("listening on http://{local}");
                    if !local.ip().is_loopback() {
                        log::warn!(
                            "{local} is open to the network: whoever reaches it can list and read all skills"
                        );
                    }
                }
                open.push(tokio::spawn(Arc::clone(doors).accept_tcp(listener, door)));
            }
            Err(e) => missing(format!("{address} can't be listened on: {e}")),
        }
    }
    if open.is_empty() {
        return Err(ServeError::NoDoor);
    }
    Ok(Opened { all, own_socket })
}

/// Under systemd, which says where it listens; elsewhere nothing.
fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(states) {
        log::debug!("systemd was not told: {e}");
    }
}

fn monotonic() -> NotifyState<'static> {
    NotifyState::monotonic_usec_now().unwrap_or(NotifyState::Status("reloading"))
}
