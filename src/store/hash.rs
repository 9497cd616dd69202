//! SHA-256 of a file's bytes, in the ledger's spelling.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes as they are; written `sha256:` and 64 hexadecimal digits (seed §6.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

/// A text that is not `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hash: expected \"sha256:\" and 64 hexadecimal digits")]
pub struct HashError(String);

/// Size of the buffer through which files are hashed and copied.
pub const CHUNK_BYTES: usize = 64 * 1024;

impl Hash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its 64 hexadecimal digits, without what the ledger writes before them.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The hash of all that `reader` yields, and how many bytes that was, read through `buffer`.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_reader(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<(Self, u64)> {
        let mut hasher = Hasher::default();
        let mut length = 0;
        loop {
            match reader.read(buffer) {
                Ok(0) => return Ok((hasher.finish(), length)),
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                    length += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// A hash in the making.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes added.
    #[must_use]
    pub fn finish(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let error = || HashError(text.chars().take(80).collect());
        let digits = text.strip_prefix("sha256:").ok_or_else(error)?.as_bytes();
        if digits.len() != 64 {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |c: u8| char::from(c).to_digit(16);
            let (high, low) = (digit(pair[0]), digit(pair[1]));
            let value = high.zip(low).map(|(h, l)| h * 16 + l);
            *byte = value.and_then(|v| u8::try_from(v).ok()).ok_or_else(error)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_spelled_as_in_the_ledger_and_read_back() {
        let hash =
            Hash::of(b"---\nname: alpha\ndescription: Alpha skill\n---\n\nDo alpha things.\n");
        let text = "sha256:3526290548fab687da1340a51735abd62f669784b01773dc83db953ddc989025";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "sha256:",
            "sha256:00",
            "md5:00",
            &format!("sha256:{}", "g".repeat(64)),
        ] {
            assert!(text.parse::<Hash>().is_err(), "{text}");
        }
        assert!(
            format!("sha256:{}é", "0".repeat(62))
                .parse::<Hash>()
                .is_err()
        );
    }
}
