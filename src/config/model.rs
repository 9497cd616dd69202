//! Which model merges: `[model]` and `[model_providers.<name>]` as the existing agent writes them, and what
//! `[skills.merge]` says otherwise (contract §2).

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agent_toml::AgentToml;
use super::read_small;
use crate::merge::NoModel;
use crate::merge::llm::{ModelSettings, Provider, Secret};

const DEFAULT_TIMEOUT_S: u32 = 300;
const DEFAULT_MAX_ATTEMPTS: u32 = 5;
/// Readable for everybody.
const WORLD_READABLE: u32 = 0o004;

/// What `agent.toml` says of the model that merges. No key is read before it is needed.
#[derive(Debug, Clone)]
pub struct ModelChoice {
    /// The most requests that may reach a server for one merge between two starts.
    pub max_attempts: u32,
    provider: Option<String>,
    /// Whether the provider has a section.
    has_section: bool,
    /// `type` of the provider's section, if it has one.
    kind: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    key: Key,
    ca_file: Option<PathBuf>,
    timeout_s: u32,
    max_output_tokens: Option<u32>,
    context_window: Option<u32>,
}

#[derive(Clone)]
enum Key {
    None,
    /// As it stands there, or `$NAME`.
    Written(String),
    File(PathBuf),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "no key",
            Self::Written(_) => "a key",
            Self::File(_) => "a key in a file",
        })
    }
}

impl ModelChoice {
    pub(super) fn read(file: &mut AgentToml) -> Self {
        let own = |file: &mut AgentToml, key: &str| Some(file.text(&["skills", "merge", key])?.0);
        let agents = |file: &mut AgentToml, key: &str| Some(file.text(&["model", key])?.0);
        let own_provider = own(file, "provider");
        let is_own = own_provider.is_some();
        let provider = own_provider.or_else(|| agents(file, "provider"));
        let has_section = provider
            .as_deref()
            .is_some_and(|name| file.has(&["model_providers", name]));
        let mut section = |key: &str| {
            let provider = provider
                .as_deref()
                .filter(|name| file.has(&["model_providers", name]))?;
            Some(file.text(&["model_providers", provider, key])?.0)
        };
        let (kind, section_url, section_key) =
            (section("type"), section("base_url"), section("api_key"));
        let key_file = own(file, "api_key_file").map(PathBuf::from);
        let written = own(file, "api_key").or(section_key).or_else(|| {
            // The agent's key is for the agent's provider only.
            let key = agents(file, "api_key");
            key.filter(|_| !is_own)
        });
        Self {
            max_attempts: file
                .number(&["skills", "merge", "max_attempts"])
                .unwrap_or(DEFAULT_MAX_ATTEMPTS),
            kind,
            model: own(file, "model").or_else(|| agents(file, "model")),
            base_url: own(file, "base_url").or(section_url),
            key: match (key_file, written) {
                (Some(path), _) => Key::File(path),
                (None, Some(key)) if !key.trim().is_empty() => Key::Written(key),
                _ => Key::None,
            },
            ca_file: own(file, "ca_file").map(PathBuf::from),
            timeout_s: file
                .number(&["skills", "merge", "timeout_s"])
                .unwrap_or(DEFAULT_TIMEOUT_S),
            max_output_tokens: file.number(&["model", "model_max_output_tokens"]),
            context_window: file.number(&["model", "context_window"]),
            has_section,
            provider,
        }
    }

    /// Whether anything says which model merges.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.provider.is_some()
    }

    /// The model, with its key read from where it is.
    ///
    /// # Errors
    /// What is missing.
    pub fn settings(
        &self,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<ModelSettings, NoModel> {
        let no_model = |why: &str| NoModel(why.to_owned());
        let Some(named) = &self.provider else {
            return Err(no_model(
                "agent.toml names no provider, in [model] or in [skills.merge]",
            ));
        };
        let provider: Provider = match self.kind.as_ref().unwrap_or(named).parse() {
            Err(_) if self.has_section && self.kind.is_none() => {
                return Err(NoModel(format!("[model_providers.{named}] has no type")));
            }
            parsed => parsed.map_err(NoModel)?,
        };
        let Some(model) = self.model.clone().filter(|model| !model.trim().is_empty()) else {
            return Err(no_model("agent.toml names no model"));
        };
        let api_key = self.api_key(environment).map_err(NoModel)?;
        if api_key.is_none() && provider.needs_key() && self.base_url.is_none() {
            let key = format!(
                "{} wants an api_key, and agent.toml has none",
                provider.as_str()
            );
            return Err(NoModel(key));
        }
        let base_url = self
            .base_url
            .clone()
            .unwrap_or_else(|| provider.base_url().into());
        ModelSettings::check_base_url(&base_url).map_err(NoModel)?;
        Ok(ModelSettings {
            provider,
            base_url,
            model,
            api_key,
            ca_file: self.ca_file.clone(),
            timeout: Duration::from_secs(u64::from(self.timeout_s)),
            max_output_tokens: self.max_output_tokens,
            context_window: self.context_window,
        })
    }

    fn api_key(
        &self,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Secret>, String> {
        let key = match &self.key {
            Key::None => return Ok(None),
            Key::Written(key) => match key.strip_prefix('$').filter(|name| is_variable(name)) {
                None => key.clone(),
                Some(name) => {
                    let value = environment(name).and_then(|value| value.into_string().ok());
                    value
                        .filter(|value| !value.trim().is_empty())
                        .ok_or_else(|| {
                            format!("the variable {name}, which api_key names, is not set")
                        })?
                }
            },
            Key::File(path) => read_key(path)?,
        };
        let key = key.trim();
        // Anything else would end the header that it goes into.
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the api_key has characters that no key has".into());
        }
        Ok(Some(Secret::new(key.to_owned())))
    }
}

/// Whether this can be the name of a variable; a key may begin with `$`, too.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn read_key(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let metadata = std::fs::metadata(path)
        .map_err(|e| format!("the api_key_file {shown} can't be read: {e}"))?;
    if metadata.permissions().mode() & WORLD_READABLE != 0 {
        return Err(format!(
            "the api_key_file {shown} can be read by everybody; make it 0600"
        ));
    }
    let bytes = read_small(path).map_err(|e| format!("the api_key_file {shown}: {e}"))?;
    let key = String::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| format!("the api_key_file {shown} is not text"))?;
    if key.trim().is_empty() {
        return Err(format!("the api_key_file {shown} is empty"));
    }
    Ok(key)
}
