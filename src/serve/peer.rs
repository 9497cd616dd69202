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
        || supplementary(peer).any(|held| held == group.gid.as_raw())
}

/// The groups that the process holds besides its own (proc_pid_status(5)): an init may have given them to it.
fn supplementary(peer: &UCred) -> impl Iterator<Item = u32> {
    let status = peer.pid().map(|pid| format!("/proc/{pid}/status"));
    let status = status.and_then(|path| std::fs::read_to_string(path).ok());
    let groups = status.and_then(|status| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix("Groups:").map(str::to_owned))
    });
    let groups = groups.unwrap_or_default();
    let held: Vec<u32> = groups
        .split_whitespace()
        .filter_map(|gid| gid.parse().ok())
        .collect();
    held.into_iter()
}
