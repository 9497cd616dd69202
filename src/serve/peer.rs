//! Who is at the other end of the socket.

use nix::unistd::{Group, User, geteuid};
use tokio::net::unix::UCred;

/// Whether a peer may use the socket: root, our own user, and members of the group.
pub(super) fn is_allowed(peer: &UCred, group: Option<&Group>) -> bool {
    if peer.uid() == 0 || peer.uid() == geteuid().as_raw() {
        return true;
    }
    let Some(group) = group else {
        return false;
    };
    if peer.gid() == group.gid.as_raw() {
        return true;
    }
    let user = User::from_uid(peer.uid().into()).ok().flatten();
    user.is_some_and(|user| user.gid == group.gid || group.mem.contains(&user.name))
}
