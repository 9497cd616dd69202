//! What lies on a medium: inodes, and the directory entries that name them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::rc::Rc;

use aiden_skills::store::{Attributes, Kind, Metadata, Owner, RelPath};

use crate::judge::Tree;

pub type Inode = u64;
pub const ROOT: Inode = 1;

/// A directory entry: the directory and the name in it.
pub type Slot = (Inode, String);

#[derive(Debug, Clone)]
pub struct Node {
    pub body: Body,
    pub attributes: Attributes,
}

#[derive(Debug, Clone)]
pub enum Body {
    File(Rc<Vec<u8>>),
    Directory(BTreeMap<String, Inode>),
}

#[derive(Debug, Clone)]
pub struct Disk {
    pub nodes: BTreeMap<Inode, Node>,
    next: Inode,
}

pub fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

pub const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const EEXIST: i32 = 17;
pub const ENOTDIR: i32 = 20;
pub const EISDIR: i32 = 21;
pub const EINVAL: i32 = 22;
pub const ENOTEMPTY: i32 = 39;

impl Disk {
    pub fn empty() -> Self {
        let mut disk = Self {
            nodes: BTreeMap::new(),
            next: ROOT,
        };
        disk.make(Body::Directory(BTreeMap::new()), 0o755);
        disk
    }

    /// A node that no entry names yet.
    pub fn make(&mut self, body: Body, mode: u32) -> Inode {
        let inode = self.next;
        self.next += 1;
        let owner = Owner { uid: 0, gid: 0 };
        let attributes = Attributes { owner, mode };
        self.nodes.insert(inode, Node { body, attributes });
        inode
    }

    /// A node of another disk, with its number.
    pub fn put(&mut self, inode: Inode, node: Node) {
        self.next = self.next.max(inode + 1);
        self.nodes.insert(inode, node);
    }

    pub fn names(&self, directory: Inode) -> io::Result<&BTreeMap<String, Inode>> {
        match &self.nodes[&directory].body {
            Body::Directory(names) => Ok(names),
            Body::File(_) => Err(errno(ENOTDIR)),
        }
    }

    pub fn set(&mut self, slot: &Slot, inode: Inode) {
        if let Some(Node {
            body: Body::Directory(names),
            ..
        }) = self.nodes.get_mut(&slot.0)
        {
            names.insert(slot.1.clone(), inode);
        }
    }

    /// Takes the entry away, if it names this inode.
    pub fn clear(&mut self, slot: &Slot, inode: Inode) {
        if let Some(Node {
            body: Body::Directory(names),
            ..
        }) = self.nodes.get_mut(&slot.0)
            && names.get(&slot.1) == Some(&inode)
        {
            names.remove(&slot.1);
        }
    }

    pub fn bytes(&self, file: Inode) -> Option<&Rc<Vec<u8>>> {
        match &self.nodes.get(&file)?.body {
            Body::File(bytes) => Some(bytes),
            Body::Directory(_) => None,
        }
    }

    pub fn set_bytes(&mut self, file: Inode, bytes: Rc<Vec<u8>>) {
        if let Some(node) = self.nodes.get_mut(&file) {
            node.body = Body::File(bytes);
        }
    }

    pub fn find(&self, path: &RelPath) -> io::Result<Inode> {
        if path.is_root() {
            return Ok(ROOT);
        }
        let slot = self.slot(path)?;
        let names = self.names(slot.0)?;
        names.get(&slot.1).copied().ok_or_else(|| errno(ENOENT))
    }

    /// Where a path's last component is, or would be.
    pub fn slot(&self, path: &RelPath) -> io::Result<Slot> {
        let (parent, name) = path.split_last().ok_or_else(|| errno(EINVAL))?;
        let mut directory = ROOT;
        for component in parent.components() {
            let names = self.names(directory)?;
            directory = *names.get(component).ok_or_else(|| errno(ENOENT))?;
        }
        self.names(directory)?;
        Ok((directory, name.to_owned()))
    }

    pub fn metadata(&self, inode: Inode) -> Metadata {
        let node = &self.nodes[&inode];
        let (kind, len) = match &node.body {
            Body::File(bytes) => (Kind::File, bytes.len() as u64),
            Body::Directory(_) => (Kind::Directory, 0),
        };
        Metadata {
            kind,
            len,
            mode: node.attributes.mode,
            owner: node.attributes.owner,
            id: (1, inode),
        }
    }

    /// The same for disks of which nobody could tell the difference.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.feed(ROOT, &mut BTreeMap::new(), &mut hasher);
        hasher.finish()
    }

    fn feed(&self, inode: Inode, seen: &mut BTreeMap<Inode, usize>, hasher: &mut DefaultHasher) {
        let count = seen.len();
        // Which names are of one file can be told.
        seen.entry(inode).or_insert(count).hash(hasher);
        let node = &self.nodes[&inode];
        node.attributes.mode.hash(hasher);
        match &node.body {
            Body::File(bytes) => bytes.hash(hasher),
            Body::Directory(names) => {
                names.len().hash(hasher);
                for (name, inode) in names {
                    name.hash(hasher);
                    self.feed(*inode, seen, hasher);
                }
            }
        }
    }

    /// All that can be reached.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        self.gather(ROOT, "", &mut tree);
        tree
    }

    fn gather(&self, directory: Inode, prefix: &str, tree: &mut Tree) {
        let Body::Directory(names) = &self.nodes[&directory].body else {
            return;
        };
        for (name, inode) in names {
            let path = format!("{prefix}{name}");
            let node = &self.nodes[inode];
            match &node.body {
                Body::File(bytes) => {
                    tree.file(&path, bytes.to_vec(), node.attributes.mode & 0o111 != 0);
                }
                Body::Directory(_) => {
                    tree.directory(&path);
                    self.gather(*inode, &format!("{path}/"), tree);
                }
            }
        }
    }
}
