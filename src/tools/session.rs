//! Who calls, and what they have read: a text is changed only by those who know it.

use std::collections::BTreeMap;

use crate::store::Hash;

/// What one agent has read. A session ends with its connection.
#[derive(Debug, Default)]
pub struct Session {
    read: BTreeMap<String, Hash>,
}

impl Session {
    /// A skill's text was handed out, or written by this agent.
    pub(super) fn note(&mut self, name: &str, text: Hash) {
        self.read.insert(name.to_owned(), text);
    }
}

/// Who calls a tool.
#[derive(Debug)]
pub enum Caller<'s> {
    /// A person, or a script: they know what they do.
    CommandLine,
    /// An agent.
    Session(&'s mut Session),
}

impl Caller<'_> {
    pub(super) fn note(&mut self, name: &str, text: Hash) {
        if let Self::Session(session) = self {
            session.note(name, text);
        }
    }

    /// Whether a text may be changed; else what to do.
    pub(super) fn knows(&self, name: &str, text: Hash) -> Result<(), String> {
        let Self::Session(session) = self else {
            return Ok(());
        };
        match session.read.get(name) {
            Some(read) if *read == text => Ok(()),
            Some(_) => Err(format!(
                "skill {name:?} has changed since you read it: read it again with skill_read, then apply your change to the text of now"
            )),
            None => Err(format!(
                "read skill {name:?} with skill_read before you change it, or pass the sha256 of its text as expect_sha256"
            )),
        }
    }
}
