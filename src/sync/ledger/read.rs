//! Reading the ledger, and making it again when it can't be read (contract §5).

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Ledger, Record, Status, VERSION};
use crate::skill::{MAX_READ_BYTES, SKILL_FILE, SkillName};
use crate::store::state_file::{self, previous};
use crate::store::{
    Bounded, Context, Filesystem, Hash, Kind, RelPath, StoreError, absent_as_none, layout,
    read_bounded,
};

/// Why nothing can be decided.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A later version of the program wrote it.
    #[error(
        "{path} has version {version}, but this program knows only version {VERSION}; nothing was changed. Install the version that wrote it"
    )]
    TooNew {
        /// The ledger.
        path: String,
        /// Its version.
        version: String,
    },
    /// The file system.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How the ledger was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerState {
    /// Read.
    Ok,
    /// There is none yet.
    New,
    /// All or a part of it was made again.
    Rebuilt,
}

/// A ledger and how it came.
#[derive(Debug)]
pub struct Loaded {
    /// The records.
    pub ledger: Ledger,
    /// How it was found.
    pub state: LedgerState,
    /// Whether there is a file that can't be read and must be kept aside before it is replaced.
    pub unreadable: bool,
    /// What was wrong, for people.
    pub problems: Vec<String>,
}

/// A parsed document.
#[derive(Debug, Default, PartialEq)]
pub struct Parsed {
    /// What could be read.
    pub ledger: Ledger,
    /// Names of records that could not be read, and why.
    pub unreadable: BTreeMap<String, String>,
    /// `"skills": null`: the existing agent's way to write that there are none.
    pub is_null: bool,
}

/// Why a document is not a ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON, or not of the ledger's shape.
    #[error("{0}")]
    Corrupt(String),
    /// Of a later version.
    #[error("version {0}")]
    TooNew(String),
}

/// Reads a ledger document; a record that can't be read costs only itself.
///
/// # Errors
/// When it is no ledger, or one of a later version.
pub fn parse(bytes: &[u8]) -> Result<Parsed, ParseError> {
    let corrupt = |e: serde_json::Error| ParseError::Corrupt(e.to_string());
    // The version first: a later version may have another shape.
    let document: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes).map_err(corrupt)?;
    if let Some(version) = document.get("version") {
        check_version(version.get())?;
    }
    let Some(skills) = document.get("skills") else {
        return Err(ParseError::Corrupt("there is no \"skills\"".into()));
    };
    let skills: Option<BTreeMap<String, &RawValue>> =
        serde_json::from_str(skills.get()).map_err(corrupt)?;
    let mut parsed = Parsed::default();
    for (key, value) in document {
        if !matches!(key.as_str(), "version" | "skills" | "updated_at") {
            // A number that no reader can hold costs only its own field.
            if let Ok(value) = serde_json::from_str(value.get()) {
                parsed.ledger.other.insert(key, value);
            }
        }
    }
    parsed.is_null = skills.is_none();
    for (name, value) in skills.unwrap_or_default() {
        match serde_json::from_str::<Record>(value.get()) {
            Ok(record) => {
                parsed.ledger.records.insert(name, record);
            }
            Err(e) => {
                parsed.unreadable.insert(name, e.to_string());
            }
        }
    }
    Ok(parsed)
}

/// Numbers are compared as numbers: a later version need not spell its own as this one does.
fn check_version(text: &str) -> Result<(), ParseError> {
    match serde_json::from_str::<f64>(text) {
        #[allow(clippy::cast_precision_loss)] // VERSION is small.
        Ok(version) if version > VERSION as f64 => Err(ParseError::TooNew(text.to_owned())),
        Ok(_) => Ok(()),
        Err(_) => Err(ParseError::Corrupt("\"version\" is not a number".into())),
    }
}

/// Loads the ledger beneath a config dir, or makes it again from what is there; writes nothing.
///
/// # Errors
/// A ledger of a later version; the kernel's errors.
pub fn load(filesystem: &dyn Filesystem) -> Result<Loaded, LedgerError> {
    let path = layout::state_file(layout::LEDGER);
    let location = filesystem.location().join(path.as_str());
    let too_new = |version| LedgerError::TooNew {
        path: location.display().to_string(),
        version,
    };
    let bytes = state_file::read(filesystem, layout::LEDGER)?;
    let reason = match bytes.as_deref().map(parse) {
        Some(Ok(parsed)) if parsed.is_null && has_bases(filesystem)? => {
            Some("it has no records, though there are bases".to_owned())
        }
        Some(Ok(parsed)) => return with_records_again(filesystem, parsed, true),
        Some(Err(ParseError::TooNew(version))) => return Err(too_new(version)),
        Some(Err(ParseError::Corrupt(reason))) => Some(reason),
        None => None,
    };
    let unreadable = reason.is_some();
    let what = match reason {
        Some(reason) => format!("{} can't be read ({reason})", location.display()),
        None => format!("{} is missing", location.display()),
    };
    match read_previous(filesystem)? {
        Some(Ok(parsed)) => {
            let mut loaded = with_records_again(filesystem, parsed, false)?;
            loaded.state = LedgerState::Rebuilt;
            loaded.unreadable = unreadable;
            loaded
                .problems
                .insert(0, format!("{what}; the one before it was taken"));
            return Ok(loaded);
        }
        Some(Err(ParseError::TooNew(version))) => return Err(too_new(version)),
        Some(Err(ParseError::Corrupt(_))) | None => {}
    }
    let records = rebuild(filesystem)?;
    if records.is_empty() && !unreadable {
        return Ok(Loaded {
            ledger: Ledger::default(),
            state: LedgerState::New,
            unreadable: false,
            problems: Vec::new(),
        });
    }
    Ok(Loaded {
        ledger: Ledger {
            records,
            ..Ledger::default()
        },
        state: LedgerState::Rebuilt,
        unreadable,
        problems: vec![format!("{what}; it was made again from the bases")],
    })
}

/// The ledger before the last rewrite; what stands in its way is as if there were none.
fn read_previous(
    filesystem: &dyn Filesystem,
) -> Result<Option<Result<Parsed, ParseError>>, StoreError> {
    let bytes = state_file::read(filesystem, &previous(layout::LEDGER)).unwrap_or_else(|e| {
        log::warn!("{e}");
        None
    });
    Ok(bytes.as_deref().map(parse).map(|parsed| {
        parsed.map(|mut parsed| {
            let records = parsed.ledger.records.values_mut();
            for pending in records.filter_map(|record| record.pending.as_mut()) {
                pending.is_past = true;
            }
            parsed
        })
    }))
}

fn has_bases(filesystem: &dyn Filesystem) -> Result<bool, StoreError> {
    let bases = layout::bases();
    let entries = absent_as_none(filesystem.read_dir(&bases)).during(filesystem, "list", &bases)?;
    Ok(entries.is_some_and(|entries| !entries.is_empty()))
}

/// A record that can't be read is taken from the ledger before, where that has it, else made again from its
/// base.
fn with_records_again(
    filesystem: &dyn Filesystem,
    parsed: Parsed,
    look_back: bool,
) -> Result<Loaded, LedgerError> {
    let mut ledger = parsed.ledger;
    let mut problems = Vec::new();
    let mut before = BTreeMap::new();
    if look_back
        && !parsed.unreadable.is_empty()
        && let Some(Ok(parsed)) = read_previous(filesystem)?
    {
        before = parsed.ledger.records;
    }
    for (name, reason) in parsed.unreadable {
        let record = match before.remove(&name) {
            Some(record) => Some(record),
            None => match SkillName::try_from(name.as_str()) {
                Ok(skill) => rebuild_record(filesystem, &skill)?,
                Err(_) => None,
            },
        };
        problems.push(format!(
            "the ledger's record of {name:?} can't be read ({reason}); it was made again from the ledger before, or from its base"
        ));
        if let Some(record) = record {
            ledger.records.insert(name, record);
        }
    }
    Ok(Loaded {
        ledger,
        state: if problems.is_empty() {
            LedgerState::Ok
        } else {
            LedgerState::Rebuilt
        },
        unreadable: false,
        problems,
    })
}

fn rebuild(filesystem: &dyn Filesystem) -> Result<BTreeMap<String, Record>, StoreError> {
    let bases = layout::bases();
    let entries = absent_as_none(filesystem.read_dir(&bases)).during(filesystem, "list", &bases)?;
    let mut records = BTreeMap::new();
    for entry in entries.unwrap_or_default() {
        let name = entry.name.to_str().map(SkillName::try_from);
        if let Some(Ok(name)) = name.filter(|_| entry.kind == Kind::Directory)
            && let Some(record) = rebuild_record(filesystem, &name)?
        {
            records.insert(name.to_string(), record);
        }
    }
    Ok(records)
}

/// A record by its base: file gone, the user deleted it (unless the whole library is gone); file equal,
/// synced; any other, the user's.
fn rebuild_record(
    filesystem: &dyn Filesystem,
    name: &SkillName,
) -> Result<Option<Record>, StoreError> {
    let base_path = base_path(name);
    let Text::Hash(base) = text(filesystem, &base_path).during(filesystem, "read", &base_path)?
    else {
        return Ok(None);
    };
    let library = layout::library();
    let library = absent_as_none(filesystem.metadata(&library))
        .during(filesystem, "examine", &library)?
        .is_some();
    // A link or a directory there is neither equal nor gone; the sync says what to do about it.
    let status = match text(filesystem, &library_path(name)).unwrap_or(Text::TooLarge) {
        Text::Absent if library => Status::DeletedByUser,
        Text::Hash(user) if user == base => Status::Synced,
        Text::Absent => Status::Synced,
        Text::Hash(_) | Text::TooLarge => Status::UserModified,
    };
    Ok(Some(Record {
        origin_hash: Some(base),
        effective_hash: Some(base),
        status: Some(status),
        base_path: Some(base_path.to_string()),
        ..Record::default()
    }))
}

enum Text {
    Absent,
    Hash(Hash),
    TooLarge,
}

fn text(filesystem: &dyn Filesystem, path: &RelPath) -> std::io::Result<Text> {
    let content = read_bounded(filesystem, path, MAX_READ_BYTES)?;
    Ok(match content {
        None => Text::Absent,
        Some(Bounded::Whole(bytes)) => Text::Hash(Hash::of(&bytes)),
        Some(Bounded::TooLarge { .. }) => Text::TooLarge,
    })
}

/// Where the base of a skill lies.
pub(crate) fn base_path(name: &SkillName) -> RelPath {
    text_below(&layout::bases(), name)
}

/// Where the library has the text of a skill.
pub(crate) fn library_path(name: &SkillName) -> RelPath {
    text_below(&layout::library(), name)
}

fn text_below(directory: &RelPath, name: &SkillName) -> RelPath {
    let directory = directory
        .child(name.as_str())
        .unwrap_or_else(|_| directory.clone());
    directory.child(SKILL_FILE).unwrap_or(directory)
}
