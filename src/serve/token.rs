//! The secret that whoever started the daemon sees, and the page must send.

use std::fmt;

use crate::store::Hash;

const RANDOM_BYTES: usize = 16;

/// Only its hash is kept beside it, so that comparing tells nothing of how near a guess was.
pub(super) struct Token {
    text: String,
    hash: Hash,
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn random() -> std::io::Result<Self> {
        let text = nonce()?;
        let hash = Hash::of(text.as_bytes());
        Ok(Self { text, hash })
    }

    pub fn is(&self, said: &str) -> bool {
        Hash::of(said.as_bytes()) == self.hash
    }
}

/// A text that nobody can guess.
///
/// # Errors
/// The kernel's.
pub(super) fn nonce() -> std::io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
