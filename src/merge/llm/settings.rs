//! Which model is asked, and how.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::wire::{Way, Wire};

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text from being shown.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The services that the existing agent knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or any server with its wire format.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Moonshot's Kimi, international.
    Kimi,
    /// The same in China.
    KimiCn,
    /// ByteDance's Volcengine Ark.
    Volcengine,
    /// OpenRouter.
    OpenRouter,
    /// Ollama, on this machine unless told otherwise.
    Ollama,
}

impl Provider {
    const ALL: [Self; 7] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Kimi,
        Self::KimiCn,
        Self::Volcengine,
        Self::OpenRouter,
        Self::Ollama,
    ];

    /// The word in `agent.toml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Kimi => "kimi",
            Self::KimiCn => "kimi-cn",
            Self::Volcengine => "volcengine",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
        }
    }

    /// Where its API lies.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Kimi => "https://api.moonshot.ai/v1",
            Self::KimiCn => "https://api.moonshot.cn/v1",
            Self::Volcengine => "https://ark.cn-beijing.volces.com/api/v3",
            Self::OpenRouter => "https://openrouter.ai/api/v1",
            Self::Ollama => "http://localhost:11434/v1",
        }
    }

    /// Whether it serves nobody without a key.
    #[must_use]
    pub fn needs_key(self) -> bool {
        self != Self::Ollama
    }

    pub(super) fn wire(self) -> Wire {
        match self {
            Self::Anthropic => Wire::Anthropic,
            _ => Wire::OpenAi,
        }
    }

    /// The ways to ask for an answer in JSON, best first.
    pub(super) fn ways(self) -> &'static [Way] {
        match self {
            Self::OpenAi | Self::OpenRouter | Self::Ollama => {
                &[Way::JsonSchema, Way::JsonObjectOfSchema, Way::Plain]
            }
            Self::Kimi | Self::KimiCn | Self::Volcengine => &[Way::JsonObject, Way::Plain],
            Self::Anthropic => &[Way::Tool, Way::Plain],
        }
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|one| one.as_str() == text);
        known.ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("{text:?} is no provider that can merge; there are {all}")
        })
    }
}

/// A model and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Whose wire format.
    pub provider: Provider,
    /// The part of the address that all its requests have.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// The key; none where none is needed.
    pub api_key: Option<Secret>,
    /// A file of certificates to trust in place of the system's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// After this the request is given up.
    pub timeout: Duration,
    /// The most tokens that the model may answer with, if that is known.
    pub max_output_tokens: Option<u32>,
    /// Tokens of question and answer together, if that is known.
    pub context_window: Option<u32>,
}

impl ModelSettings {
    /// The server's name, for messages; not what may stand before it, which can be a password.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.base_url.split_once("://");
        let rest = rest.map_or(&*self.base_url, |(_, rest)| rest);
        // A password may hold any of the signs that end a host.
        let rest = rest.rsplit('@').next().unwrap_or_default();
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// Says what is wrong with an address that requests are to go to.
    ///
    /// # Errors
    /// That, without the address: it may hold a password.
    pub fn check_base_url(url: &str) -> Result<(), String> {
        if !(url.starts_with("https://") || url.starts_with("http://")) {
            return Err("base_url is no http:// or https:// address".into());
        }
        let uri: ureq::http::Uri = url.parse().map_err(|_| "base_url is no URL".to_owned())?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host = authority.rsplit('@').next().unwrap_or_default();
        // Of an address in brackets only what is behind them may be a port.
        let port = host.rsplit(']').next().unwrap_or_default().rsplit_once(':');
        if port.is_some_and(|(_, port)| port.parse::<u16>().is_err())
            || uri.host().is_none_or(str::is_empty)
        {
            return Err("base_url has no such host or port".into());
        }
        if uri.query().is_some() {
            return Err("base_url has a query, behind which no path can be put".into());
        }
        Ok(())
    }
}
