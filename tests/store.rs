//! How the store reaches files: confined, never through a link, without touching access times; its lock; its
//! flushes.

#![allow(clippy::disallowed_methods)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use aiden_skills::store::{
    Attributes, Bounded, Filesystem, Kind, LinuxFilesystem, LockError, Owner, RelPath, Resolve,
    WriteLock, is_link, layout, read_bounded,
};
use tempfile::TempDir;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// A tree, reached both ways of resolving paths.
fn both_ways(check: impl Fn(&TempDir, &LinuxFilesystem)) {
    for resolve in [Resolve::Kernel, Resolve::ByComponent] {
        let directory = tempfile::tempdir().unwrap();
        let tree = LinuxFilesystem::open(directory.path())
            .unwrap()
            .with_resolve(resolve);
        check(&directory, &tree);
    }
}

fn attributes(tree: &LinuxFilesystem, mode: u32) -> Attributes {
    let owner = tree.metadata(&RelPath::root()).unwrap().owner;
    Attributes { owner, mode }
}

#[test]
fn no_call_goes_through_a_link() {
    both_ways(|directory, tree| {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        fs::create_dir(outside.path().join("sub")).unwrap();
        let root = directory.path();
        symlink(outside.path(), root.join("link")).unwrap();
        symlink(outside.path().join("secret"), root.join("file")).unwrap();
        symlink("self", root.join("self")).unwrap();
        fs::write(root.join("plain"), "plain").unwrap();
        fs::create_dir(root.join("inner")).unwrap();
        symlink("../plain", root.join("inner/up")).unwrap();
        let new = attributes(tree, 0o644);
        let refused = |result: std::io::Result<()>, what: &str| {
            assert!(is_link(&result.unwrap_err()), "{what}");
        };
        for inside in ["link/secret", "file", "self", "link/sub/x", "inner/up"] {
            refused(tree.open(&path(inside)).map(drop), inside);
        }
        refused(tree.read_dir(&path("link")).map(drop), "list");
        refused(tree.create(&path("link/new"), new).map(drop), "create");
        refused(tree.create_dir(&path("link/new"), new), "mkdir");
        refused(tree.rename(&path("plain"), &path("link/new")), "rename to");
        refused(
            tree.rename(&path("link/secret"), &path("got")),
            "rename from",
        );
        refused(
            tree.rename_new(&path("plain"), &path("link/new")),
            "rename new",
        );
        refused(tree.hard_link(&path("link/secret"), &path("got")), "link");
        refused(tree.remove_file(&path("link/secret")), "unlink");
        refused(tree.remove_dir(&path("link/sub")), "rmdir");
        refused(tree.truncate(&path("file")), "truncate");
        refused(tree.sync_dir(&path("link")), "fsync");
        refused(
            tree.metadata(&path("link/secret")).map(drop),
            "stat behind a link",
        );
        assert_eq!(tree.metadata(&path("link")).unwrap().kind, Kind::Link);
        assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 2);
    });
}

#[test]
fn a_missing_file_is_told_from_a_file_where_a_directory_belongs() {
    both_ways(|directory, tree| {
        fs::write(directory.path().join("file"), "").unwrap();
        let kind = |inside: &str| tree.open(&path(inside)).map(drop).unwrap_err().kind();
        assert_eq!(kind("none"), std::io::ErrorKind::NotFound);
        assert_eq!(kind("none/below"), std::io::ErrorKind::NotFound);
        assert_eq!(kind("file/below"), std::io::ErrorKind::NotADirectory);
    });
}

#[test]
fn a_pipe_a_device_or_a_directory_is_refused_without_waiting() {
    both_ways(|directory, tree| {
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        assert!(tree.open(&path("pipe")).is_err());
        let error = tree.open(&path("directory")).map(drop).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::IsADirectory);
    });
}

#[test]
fn a_large_file_is_not_read() {
    both_ways(|directory, tree| {
        let file = fs::File::create(directory.path().join("large")).unwrap();
        file.set_len(300 * 1024 * 1024).unwrap();
        let read = read_bounded(tree, &path("large"), 64 * 1024).unwrap();
        assert_eq!(
            read,
            Some(Bounded::TooLarge {
                bytes: 300 * 1024 * 1024
            })
        );
    });
}

#[test]
fn reading_leaves_the_access_time_alone() {
    both_ways(|directory, tree| {
        let file = directory.path().join("file");
        fs::write(&file, "text").unwrap();
        let long_ago = nix::sys::time::TimeSpec::new(1_000_000, 0);
        nix::sys::stat::utimensat(
            nix::fcntl::AT_FDCWD,
            &file,
            &long_ago,
            &long_ago,
            nix::sys::stat::UtimensatFlags::FollowSymlink,
        )
        .unwrap();
        let mut text = String::new();
        tree.open(&path("file"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "text");
        assert_eq!(fs::metadata(&file).unwrap().atime(), 1_000_000);
    });
}

#[test]
fn a_new_file_has_the_mode_it_was_given_whatever_the_umask_and_must_not_exist() {
    let old = nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    both_ways(|directory, tree| {
        let mut file = tree.create(&path("file"), attributes(tree, 0o644)).unwrap();
        file.write_all(b"text").unwrap();
        file.sync().unwrap();
        tree.create_dir(&path("directory"), attributes(tree, 0o755))
            .unwrap();
        let mode = |name: &str| {
            let metadata = fs::metadata(directory.path().join(name)).unwrap();
            metadata.permissions().mode() & 0o7777
        };
        assert_eq!((mode("file"), mode("directory")), (0o644, 0o755));
        let again = tree
            .create(&path("file"), attributes(tree, 0o644))
            .map(drop);
        assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(tree.flushes(), 1);
    });
    nix::sys::stat::umask(old);
}

#[test]
fn a_rename_that_must_not_replace_does_not() {
    both_ways(|directory, tree| {
        for name in ["a", "b"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let refused = tree.rename_new(&path("a"), &path("b")).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
        tree.rename_new(&path("a"), &path("c")).unwrap();
        assert!(directory.path().join("c").is_dir());
    });
}

#[test]
fn a_listing_is_sorted_and_types_what_it_finds() {
    both_ways(|directory, tree| {
        let root = directory.path();
        fs::write(root.join("b"), "").unwrap();
        fs::create_dir(root.join("a")).unwrap();
        symlink("b", root.join("c")).unwrap();
        let entries = tree.read_dir(&RelPath::root()).unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|e| (e.name.to_str().unwrap(), e.kind))
            .collect();
        assert_eq!(
            found,
            [("a", Kind::Directory), ("b", Kind::File), ("c", Kind::Link)]
        );
    });
}

#[test]
fn the_lock_is_exclusive_and_its_file_stays() {
    let directory = tempfile::tempdir().unwrap();
    let one = LinuxFilesystem::open(directory.path()).unwrap();
    let two = LinuxFilesystem::open(directory.path()).unwrap();
    let held = WriteLock::acquire(&one, Duration::ZERO).unwrap();
    let started = Instant::now();
    let refused = WriteLock::acquire(&two, Duration::from_millis(100));
    assert!(matches!(refused, Err(LockError::Busy { .. })));
    assert!(started.elapsed() >= Duration::from_millis(100));
    drop(held);
    assert!(WriteLock::acquire(&two, Duration::ZERO).is_ok());
    assert!(directory.path().join("skill-state/.lock").is_file());
}

/// A lock on a file that the path does not name any more guards nothing.
#[test]
fn a_lock_file_that_was_replaced_is_locked_anew() {
    let directory = tempfile::tempdir().unwrap();
    let one = LinuxFilesystem::open(directory.path()).unwrap();
    let held = WriteLock::acquire(&one, Duration::ZERO).unwrap();
    let lock = directory.path().join(layout::lock().as_str());
    fs::rename(&lock, lock.with_extension("old")).unwrap();
    fs::write(&lock, "").unwrap();
    let two = LinuxFilesystem::open(directory.path()).unwrap();
    let other = WriteLock::acquire(&two, Duration::ZERO).unwrap();
    drop(held);
    let three = LinuxFilesystem::open(directory.path()).unwrap();
    assert!(WriteLock::acquire(&three, Duration::ZERO).is_err());
    drop(other);
}

#[test]
fn a_state_dir_that_is_a_link_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), directory.path().join("skill-state")).unwrap();
    let tree = LinuxFilesystem::open(directory.path()).unwrap();
    let error = WriteLock::acquire(&tree, Duration::ZERO)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("skill-state") && error.contains("symbolic link"),
        "{error}"
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn new_files_belong_to_the_owner_of_the_library_and_before_there_is_one_of_the_config_dir() {
    let directory = tempfile::tempdir().unwrap();
    let chown = |path: &Path, id: u32| std::os::unix::fs::chown(path, Some(id), Some(id)).unwrap();
    chown(directory.path(), 1234);
    let tree = LinuxFilesystem::open(directory.path()).unwrap();
    let lock = WriteLock::acquire(&tree, Duration::ZERO).unwrap();
    assert_eq!(
        lock.owner(),
        Owner {
            uid: 1234,
            gid: 1234
        }
    );
    assert_eq!(
        fs::metadata(directory.path().join("skill-state/.lock"))
            .unwrap()
            .uid(),
        1234
    );
    drop(lock);
    fs::create_dir(directory.path().join("skills")).unwrap();
    chown(&directory.path().join("skills"), 4321);
    let lock = WriteLock::acquire(&tree, Duration::ZERO).unwrap();
    assert_eq!(
        lock.owner(),
        Owner {
            uid: 4321,
            gid: 4321
        }
    );
}
