//! Takes connections in, and requests from them, whole and bounded; the answers are made on other threads.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::http::{HeaderValue, StatusCode, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::unistd::Group;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};

use super::connections::{Connection, Place};
use super::head;
use super::message::{Door, Reply};
use super::peer;
use super::routes::{self, Asking};
use super::server::Server;
use crate::tools::Session;

/// A whole SKILL.md or file, every character escaped, and what goes with it.
const MAX_BODY_BYTES: usize = 512 * 1024;
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// After an error of `accept`, such as that no descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// One of so many such errors is told.
const FAULTS_TOLD: u64 = 600;

/// What all connections share.
pub(super) struct Doors {
    pub server: Arc<Server>,
    /// True when the daemon ends.
    pub ends: watch::Receiver<bool>,
    /// What may wait for the lock or a model takes no more than half of the threads: reads go on.
    pub writers: Semaphore,
    /// Of `accept`, since the start.
    pub faults: AtomicU64,
}

impl Doors {
    pub async fn accept_tcp(self: Arc<Self>, listener: TcpListener, door: Door) {
        while let Some(stream) = self.next(|| listener.accept()).await {
            // A request that is answered in one piece has nothing to wait for.
            let _ = stream.set_nodelay(true);
            // Of a client that is gone already the address is not known.
            if let Ok(local) = stream.local_addr() {
                self.take_in(stream, door, Some(local)).await;
            }
        }
    }

    pub async fn accept_unix(self: Arc<Self>, listener: UnixListener, group: Option<Group>) {
        while let Some(stream) = self.next(|| listener.accept()).await {
            match stream.peer_cred() {
                Ok(peer) if peer::is_allowed(&peer, group.as_ref()) => {
                    self.take_in(stream, Door::Socket, None).await;
                }
                Ok(peer) => {
                    log::warn!(
                        "user {} may not use the socket; --socket-group names a group whose members may",
                        peer.uid()
                    );
                    turn_away(
                        stream,
                        StatusCode::FORBIDDEN,
                        "this user may not use the socket: root, the daemon's user and members of --socket-group may",
                    );
                }
                Err(e) => log::warn!("a peer of the socket is not known: {e}"),
            }
        }
    }

    /// The next connection; none when the daemon ends.
    async fn next<S, A, F>(&self, accept: impl Fn() -> F) -> Option<S>
    where
        F: Future<Output = io::Result<(S, A)>>,
    {
        let mut ends = self.ends.clone();
        loop {
            let accepted = tokio::select! {
                accepted = accept() => accepted,
                () = end(&mut ends) => return None,
            };
            match accepted {
                Ok((stream, _)) => return Some(stream),
                Err(e) => self.make_room(&e).await,
            }
        }
    }

    /// After an error of `accept`, which most often is that no descriptor is left.
    async fn make_room(&self, error: &io::Error) {
        // It may come ten times a second.
        let before = self.faults.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(FAULTS_TOLD) {
            log::warn!("a connection could not be taken in: {error}");
        }
        for connections in [&self.server.tcp, &self.server.console, &self.server.socket] {
            connections.give_one_up();
        }
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    async fn take_in<S>(self: &Arc<Self>, stream: S, door: Door, local: Option<SocketAddr>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match self.server.connections(door).enter().await {
            Some(place) => {
                tokio::spawn(Arc::clone(self).connection(stream, door, local, place));
            }
            None => turn_away(
                stream,
                StatusCode::SERVICE_UNAVAILABLE,
                "all connections are at work: try again",
            ),
        }
    }

    async fn connection<S>(
        self: Arc<Self>,
        stream: S,
        door: Door,
        local: Option<SocketAddr>,
        place: Place,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let session: Arc<Mutex<Session>> = Arc::default();
        let service = service_fn(|request| {
            let (doors, session) = (Arc::clone(&self), Arc::clone(&session));
            let connection = Arc::clone(&place.connection);
            async move {
                let reply = doors
                    .reply(request, door, local, &connection, session)
                    .await;
                connection.waits();
                Ok::<_, Infallible>(response(reply))
            }
        });
        let served = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(served);
        let mut ends = self.ends.clone();
        tokio::select! {
            // What goes wrong on a connection concerns its client alone.
            _ = &mut served => {}
            () = place.connection.is_given_up() => {}
            () = end(&mut ends) => {
                served.as_mut().graceful_shutdown();
                let _ = served.await;
            }
        }
    }

    async fn reply(
        &self,
        request: hyper::Request<Incoming>,
        door: Door,
        local: Option<SocketAddr>,
        connection: &Connection,
        session: Arc<Mutex<Session>>,
    ) -> Reply {
        let (parts, body) = request.into_parts();
        let head = match head::read(&parts, door, local) {
            Ok(head) => head,
            Err(reply) => return reply,
        };
        let too_large = || {
            let message = format!("the body is larger than {MAX_BODY_BYTES} bytes");
            Reply::error(StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
            return too_large();
        }
        let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(e) if e.is::<LengthLimitError>() => return too_large(),
            Err(_) => {
                return Reply::error(StatusCode::BAD_REQUEST, "the body did not come whole");
            }
        };
        connection.works();
        let mut request = head.request;
        request.body = body;
        if routes::is_health(&request) {
            return routes::health();
        }
        let _writer = match routes::may_wait(&request) {
            true => self.writers.acquire().await.ok(),
            false => None,
        };
        let server = Arc::clone(&self.server);
        let answered = tokio::task::spawn_blocking(move || {
            let named = head
                .session
                .map(|name| server.sessions.named(&format!("{door:?} {name}")));
            let asking = Asking {
                session: named.as_ref().unwrap_or(&session),
                token: head.token.as_deref(),
            };
            routes::answer(&server, &request, &asking)
        });
        answered.await.unwrap_or_else(|_| {
            Reply::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the answer could not be made",
            )
        })
    }
}

/// Returns when the daemon ends.
async fn end(ends: &mut watch::Receiver<bool>) {
    let _ = ends.wait_for(|ends| *ends).await;
}

fn response(reply: Reply) -> hyper::Response<Full<Bytes>> {
    let mut response = hyper::Response::new(Full::new(Bytes::from(reply.body)));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(reply.content_type),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if reply.status == StatusCode::PAYLOAD_TOO_LARGE {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in reply.headers {
        headers.insert(name, value);
    }
    response
}

/// Says why without waiting for a whole request, and closes.
fn turn_away<S>(mut stream: S, status: StatusCode, message: &str)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let body = format!("{{\"error\": \"{message}\"}}\n");
    let said = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        let told = async {
            stream.write_all(said.as_bytes()).await?;
            stream.shutdown().await?;
            // Closed over what the client still sends, the answer would be lost to it.
            let mut rest = stream.take(MAX_BODY_BYTES as u64);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
    });
}
