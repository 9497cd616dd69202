//! The files of skills as resources, `skill://NAME/SKILL.md` and the others, for clients that read by address.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::read::{file_path, files};
use super::resolve::{Resolved, find, scan};
use super::session::Caller;
use super::{SkillTools, ToolError};
use crate::skill::{MAX_READ_BYTES, SKILL_FILE, shown};
use crate::store::{Bounded, Filesystem, Hash, RelPath, layout, read_bounded};
use crate::sync::open_to_look;
use crate::usage::{Counter, State};

const SCHEME: &str = "skill://";
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillResource {
    /// Its address.
    pub uri: String,
    /// What it is called: the skill, and for others than SKILL.md the path.
    pub name: String,
    /// That of the skill, for SKILL.md.
    pub description: Option<String>,
    /// In bytes.
    pub size: u64,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceContent {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl SkillTools {
    /// The files of the skills that an agent is shown: those for its device that are not archived.
    ///
    /// # Errors
    /// When the library can't be listed.
    pub fn resources(&self) -> Result<Vec<SkillResource>, ToolError> {
        let filesystem = open_to_look(&self.options.config_dir)?;
        let library = scan(&*filesystem)?;
        let usage = self.usage(&*filesystem);
        let mut resources = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for skill in library.skills {
            let Ok(document) = &skill.document else {
                continue;
            };
            let name = document.name().to_owned();
            // Of two skills of one name the first is the one that loads.
            let is_shown = document.suits(self.device)
                && usage.lifecycle(&name) != State::Archived
                && known.insert(name.clone());
            if is_shown {
                let description = document.description().to_owned();
                let resolved = Resolved {
                    name,
                    directory: skill.directory.clone(),
                    skill,
                };
                of_skill(&*filesystem, &resolved, description, &mut resources);
            }
        }
        resources.sort_by(|a, b| a.uri.cmp(&b.uri));
        Ok(resources)
    }

    /// What is at an address. It counts as a read, and who has read SKILL.md may change it.
    ///
    /// # Errors
    /// When there is no such file, or it can't be handed out.
    pub fn read_resource(
        &self,
        uri: &str,
        caller: &mut Caller<'_>,
    ) -> Result<ResourceContent, ToolError> {
        let (name, path) = parse(uri)?;
        let filesystem = open_to_look(&self.options.config_dir)?;
        let resolved = find(scan(&*filesystem)?, &name)?;
        let bytes = bytes(&*filesystem, &resolved, path.as_ref(), uri)?;
        if path.is_none() {
            caller.note(&name, Hash::of(&bytes));
        }
        self.count(&name, Counter::View);
        Ok(match String::from_utf8(bytes) {
            Ok(text) => ResourceContent::Text(text),
            Err(other) => ResourceContent::Bytes(other.into_bytes()),
        })
    }

    /// The hashes of what is at these addresses; `None` if nothing is. They do not count as reads.
    #[must_use]
    pub fn resource_hashes(&self, uris: &[String]) -> BTreeMap<String, Option<Hash>> {
        let nothing = || uris.iter().map(|uri| (uri.clone(), None)).collect();
        let Ok(filesystem) = open_to_look(&self.options.config_dir) else {
            return nothing();
        };
        let Ok(library) = scan(&*filesystem) else {
            return nothing();
        };
        let hash = |uri: &String| {
            let (name, path) = parse(uri).ok()?;
            let directory = &library.find(&name)?.directory;
            let path = match path {
                Some(path) => path,
                None => RelPath::parse(SKILL_FILE).ok()?,
            };
            let path = layout::library().join(directory).join(&path);
            match read_bounded(&*filesystem, &path, MAX_READ_BYTES) {
                Ok(Some(Bounded::Whole(bytes))) => Some(Hash::of(&bytes)),
                _ => None,
            }
        };
        uris.iter().map(|uri| (uri.clone(), hash(uri))).collect()
    }
}

fn of_skill(
    filesystem: &dyn Filesystem,
    resolved: &Resolved,
    description: String,
    resources: &mut Vec<SkillResource>,
) {
    let name = &resolved.name;
    let mut add = |path: &str, shown: String, description: Option<String>| {
        let inside = RelPath::parse(path).map(|path| resolved.root().join(&path));
        let metadata = inside.ok().and_then(|path| filesystem.metadata(&path).ok());
        if let Some(metadata) = metadata {
            resources.push(SkillResource {
                uri: uri(name, path),
                name: shown,
                description,
                size: metadata.len,
            });
        }
    };
    add(SKILL_FILE, name.clone(), Some(description));
    for path in files(filesystem, resolved) {
        add(&path, format!("{name}/{path}"), None);
    }
}

fn bytes(
    filesystem: &dyn Filesystem,
    resolved: &Resolved,
    path: Option<&RelPath>,
    uri: &str,
) -> Result<Vec<u8>, ToolError> {
    let Some(path) = path else {
        return Ok(resolved.text(filesystem)?.text.into_bytes());
    };
    match read_bounded(filesystem, &resolved.root().join(path), MAX_READ_BYTES) {
        Ok(Some(Bounded::Whole(bytes))) => Ok(bytes),
        Ok(Some(Bounded::TooLarge { bytes })) => Err(ToolError::new(format!(
            "{uri} is too large ({bytes} bytes > {MAX_READ_BYTES} bytes): it can't be handed out"
        ))),
        Ok(None) => Err(none(uri)),
        Err(e) => Err(ToolError::new(format!("{uri} can't be read: {e}"))),
    }
}

/// The address of a file of a skill.
fn uri(name: &str, path: &str) -> String {
    let path: Vec<String> = path
        .split('/')
        .map(|part| utf8_percent_encode(part, KEPT).to_string())
        .collect();
    format!(
        "{SCHEME}{}/{}",
        utf8_percent_encode(name, KEPT),
        path.join("/")
    )
}

/// The skill's name, and the path of a file other than SKILL.md.
fn parse(uri: &str) -> Result<(String, Option<RelPath>), ToolError> {
    let rest = uri.strip_prefix(SCHEME);
    let (name, path) = rest
        .and_then(|rest| rest.split_once('/'))
        .ok_or_else(|| none(uri))?;
    let decode = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map(|text| text.into_owned()).map_err(|_| none(uri))
    };
    let (name, path) = (decode(name)?, decode(path)?);
    if path == SKILL_FILE {
        return Ok((name, None));
    }
    Ok((name, Some(file_path(&path)?)))
}

fn none(uri: &str) -> ToolError {
    ToolError::new(format!(
        "there is nothing at {:?}: resources/list shows what there is, such as skill://NAME/SKILL.md",
        shown(uri, 120)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_file() {
        for (name, path) in [
            ("app-login", "references/a.md"),
            ("名字", "assets/ü ?#%.png"),
            ("a/b c", "scripts/deep/er/x.sh"),
        ] {
            let address = uri(name, path);
            let (found, inside) = parse(&address).unwrap();
            assert_eq!(
                (found.as_str(), inside.unwrap().as_str()),
                (name, path),
                "{address}"
            );
        }
        assert_eq!(uri("a", SKILL_FILE), "skill://a/SKILL.md");
        assert_eq!(parse("skill://a/SKILL.md").unwrap(), ("a".into(), None));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for address in [
            "skill://a",
            "skill://a/",
            "file:///etc/passwd",
            "skill://a/../b/SKILL.md",
            "skill://a/references/../../x",
            "skill://a/references/%2e%2e/%2e%2e/x",
            "skill://a/other.md",
            "skill://a/%ff",
            "",
        ] {
            assert!(parse(address).is_err(), "{address}");
        }
    }
}
