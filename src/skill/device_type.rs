//! The kinds of target device a skill may be made for.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::shown;

/// A kind of target device. Displayed in its canonical spelling, read in any of its aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceType {
    /// `iOS`
    Ios,
    /// `Android`
    Android,
    /// `macOS`, also read as `mac` and `darwin`
    MacOs,
    /// `windows`, also read as `win`
    Windows,
    /// `linux`
    Linux,
}

/// A text that names no supported device type; the message lists those.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not a device type: supported are iOS, Android, macOS, windows, linux")]
pub struct DeviceTypeError {
    given: String,
}

impl DeviceType {
    /// Every device type, in the order messages list them.
    pub const ALL: [Self; 5] = [
        Self::Ios,
        Self::Android,
        Self::MacOs,
        Self::Windows,
        Self::Linux,
    ];

    /// The canonical spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ios => "iOS",
            Self::Android => "Android",
            Self::MacOs => "macOS",
            Self::Windows => "windows",
            Self::Linux => "linux",
        }
    }
}

impl FromStr for DeviceType {
    type Err = DeviceTypeError;

    /// Ignores case and white space around; an empty text is an error, "unset" is the caller's word.
    fn from_str(text: &str) -> Result<Self, DeviceTypeError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "ios" => Ok(Self::Ios),
            "android" => Ok(Self::Android),
            "macos" | "mac" | "darwin" => Ok(Self::MacOs),
            "windows" | "win" => Ok(Self::Windows),
            "linux" => Ok(Self::Linux),
            _ => Err(DeviceTypeError {
                given: shown(text, 40),
            }),
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for DeviceType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_become_the_canonical_spelling() {
        for (text, canonical) in [
            ("ios", "iOS"),
            (" iOS ", "iOS"),
            ("ANDROID", "Android"),
            ("macos", "macOS"),
            ("mac", "macOS"),
            ("Darwin", "macOS"),
            ("windows", "windows"),
            ("WIN", "windows"),
            ("Linux\t", "linux"),
        ] {
            assert_eq!(text.parse::<DeviceType>().unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn the_error_names_the_supported_ones() {
        for text in ["", "iphone", "i\nOS", "android tv", &"x".repeat(9999)] {
            let message = text.parse::<DeviceType>().unwrap_err().to_string();
            for supported in DeviceType::ALL {
                assert!(message.contains(supported.as_str()), "{message}");
            }
            assert!(
                message.len() < 200 && !message.chars().any(char::is_control),
                "{message}"
            );
        }
    }
}
