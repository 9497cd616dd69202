//! Where connections come in: sockets that systemd hands over, else our own.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Group, chown};
use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};

/// What may connect to the socket: owner and group (contract §7).
const SOCKET_MODE: u32 = 0o660;
const BACKLOG: u32 = 128;

/// Where to listen.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    /// The agent's socket; none: there is none.
    pub socket: Option<PathBuf>,
    /// The group whose members may use it.
    pub socket_group: Option<String>,
    /// For outside agents; none: there is none.
    pub http: Option<SocketAddr>,
    /// The page for people; none: there is none.
    pub console: Option<SocketAddr>,
}

/// Our own socket, unlinked when we end.
pub(super) struct OwnSocket {
    path: PathBuf,
    inode: Option<u64>,
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        // Another daemon may have taken its place.
        if inode(&self.path) == self.inode {
            let _ = remove(&self.path);
        }
    }
}

fn inode(path: &Path) -> Option<u64> {
    let metadata = fs::symlink_metadata(path);
    metadata.ok().map(|metadata| metadata.ino())
}

#[allow(
    clippy::disallowed_methods,
    reason = "a socket is no file of the library"
)]
fn remove(socket: &Path) -> io::Result<()> {
    fs::remove_file(socket)
}

/// What systemd has opened for us (sd_listen_fds(3)).
pub(super) struct HandedOver {
    pub sockets: Vec<UnixListener>,
    pub tcp: Vec<TcpListener>,
}

/// Takes what systemd hands over; nothing where it is not there.
pub(super) fn handed_over() -> io::Result<HandedOver> {
    let mut handed_over = HandedOver {
        sockets: Vec::new(),
        tcp: Vec::new(),
    };
    let mut descriptors = listenfd::ListenFd::from_env();
    for at in 0..descriptors.len() {
        if let Ok(Some(listener)) = descriptors.take_unix_listener(at) {
            listener.set_nonblocking(true)?;
            handed_over.sockets.push(UnixListener::from_std(listener)?);
        } else if let Ok(Some(listener)) = descriptors.take_tcp_listener(at) {
            listener.set_nonblocking(true)?;
            handed_over.tcp.push(TcpListener::from_std(listener)?);
        } else {
            log::warn!("systemd has handed over a descriptor that is no listening stream socket");
        }
    }
    Ok(handed_over)
}

/// Makes the agent's socket. One that nobody listens on is left of a daemon that was killed, and makes room.
pub(super) async fn own_socket(
    path: &Path,
    group: Option<&Group>,
) -> io::Result<(UnixListener, OwnSocket)> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {
            match UnixStream::connect(path).await {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => remove(path)?,
                // Also where it is too busy to answer.
                _ => {
                    let message = "another program listens there already";
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
                }
            }
        }
        Ok(_) => {
            let message = "something that is no socket lies there";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    let own = OwnSocket {
        path: path.to_owned(),
        inode: inode(path),
    };
    // Nobody can connect before it listens.
    if let Some(group) = group {
        chown(path, None, Some(group.gid))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE))?;
    Ok((socket.listen(BACKLOG)?, own))
}

/// The group of this name.
pub(super) fn group(name: &str) -> io::Result<Group> {
    match Group::from_name(name)? {
        Some(group) => Ok(group),
        None => {
            let message = format!("there is no group {name:?}");
            Err(io::Error::new(io::ErrorKind::NotFound, message))
        }
    }
}
