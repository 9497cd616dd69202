//! The skill tools as a Model Context Protocol server on standard input and output, and the skills as its resources.

mod notify;
mod server;
mod transport;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::signal::unix::{SignalKind, signal};

use self::server::SkillServer;
use self::transport::Bounded;
use crate::live::LiveLibrary;
use crate::tools::SkillTools;

/// A whole SKILL.md or file, every character escaped, and what goes with it.
const MAX_LINE_BYTES: usize = 1024 * 1024;
/// For the lock under which the last counts are written.
const LAST_COUNTS_LOCK: Duration = Duration::from_secs(1);
const MAX_THREADS: usize = 4;
const THREAD_LIFE: Duration = Duration::from_secs(10);

/// Why the server ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The kernel gives no threads, signals or events.
    #[error("the MCP server can't start: {0}")]
    Start(#[from] io::Error),
    /// Reads and uses of the last seconds are not counted.
    #[error("the last counts could not be written: {0}")]
    Counts(String),
    /// The client is none of this protocol.
    #[error("the client did not begin as the Model Context Protocol says: {0}")]
    Client(String),
}

/// Serves until the client closes standard input, or SIGTERM.
///
/// # Errors
/// When it can't start, or the client speaks something else.
pub fn serve_standard_streams(tools: SkillTools) -> Result<(), McpError> {
    let live = Arc::new(LiveLibrary::new(tools));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .thread_keep_alive(THREAD_LIFE)
        .build()?;
    let served = runtime.block_on(run(&live));
    // A thread waits for standard input for ever.
    runtime.shutdown_background();
    live.write_counts(Some(LAST_COUNTS_LOCK))
        .map_err(|e| McpError::Counts(e.to_string()))?;
    served
}

async fn run(live: &Arc<LiveLibrary>) -> Result<(), McpError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let server = SkillServer::new(Arc::clone(live));
    let changes = server.changes();
    let watching = (Arc::clone(live), Arc::clone(&changes));
    thread::Builder::new()
        .name("watch".into())
        .spawn(move || notify::watch(&watching.0, &watching.1))?;
    let streams = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout())
        .with_max_line_length(MAX_LINE_BYTES);
    let transport = Bounded::new(streams);
    let serve = async {
        let begun = server.serve(transport).await;
        let running = begun.map_err(|e| McpError::Client(e.to_string()))?;
        let told = tokio::spawn(notify::tell(running.peer().clone(), changes));
        let ended = running.waiting().await;
        told.abort();
        ended.map(drop).map_err(|e| McpError::Client(e.to_string()))
    };
    tokio::select! {
        served = serve => served,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = Arc::clone(live).keep_writing_counts() => Ok(()),
    }
}
