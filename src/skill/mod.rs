//! What a skill is: its name, its SKILL.md, the devices and tools it names, and what is wrong with it.
//!
//! Pure functions over bytes and text; nothing here opens a file. One reader serves sync, merge, tools and
//! `lint`, so that all of them agree on what a valid skill is. A skill loads whole or not at all: a recognised
//! field of the wrong shape is an error, never a field left out. Every message reads after the file's name
//! ("SKILL.md is too large …"), is one line, and says what to do.

mod bounded;
pub mod device_type;
pub mod document;
pub(crate) mod fields;
pub mod frontmatter;
pub mod lint;
pub mod name;
mod repair;
mod section;
pub mod tools;

pub use device_type::{DeviceType, DeviceTypeError};
pub use document::{SkillDocument, SkillError, turns_direction};
pub use frontmatter::{FrontmatterError, Limit, Parts, Warning};
pub use lint::{Finding, Severity, lint_document};
pub use name::{NameError, SkillName};
pub use section::{Fence, SECTION_BEGIN, SECTION_END, check_section, section_range};
pub use tools::{ToolCatalog, ToolCatalogError};

/// The file that makes a directory a skill; exactly this spelling.
pub const SKILL_FILE: &str = "SKILL.md";
/// A SKILL.md larger than this many bytes is invalid and is not read.
pub const MAX_READ_BYTES: u64 = 64 * 1024;
/// A SKILL.md larger than this many bytes can be read, but not created, edited or merged.
pub const MAX_EDIT_BYTES: u64 = 32 * 1024;
/// A supporting file larger than this many bytes is not handed out as text.
pub const MAX_SUPPORTING_TEXT_BYTES: u64 = 64 * 1024;
/// The directories of a skill that hold its supporting files.
pub const FILE_DIRECTORIES: [&str; 4] = ["references", "templates", "scripts", "assets"];

/// Whether a file or directory of this name is no part of any skill (contract §4): desktop, editor and
/// interpreter leftovers, and this program's own temporary names.
#[must_use]
pub fn is_junk(name: &str) -> bool {
    matches!(name, ".DS_Store" | "Thumbs.db" | "__pycache__")
        || name.ends_with(".pyc")
        || name.ends_with(".swp")
        || name.ends_with('~')
        || name.starts_with(".aiden-")
}

/// Whether a file name was probably meant to be [`SKILL_FILE`] but is not: other case, plural, other extension.
#[must_use]
pub fn is_near_miss(name: &str) -> bool {
    const EXTENSIONS: [&str; 7] = ["md", "markdown", "mdown", "mkd", "mdx", "txt", "md.txt"];
    if name == SKILL_FILE {
        return false;
    }
    let lower = name.trim().to_lowercase();
    lower
        .split_once('.')
        .is_some_and(|(stem, ext)| matches!(stem, "skill" | "skills") && EXTENSIONS.contains(&ext))
}

/// Whether a file holds nothing: zero bytes, or only white space and NULs, as a power cut leaves it behind.
#[must_use]
pub fn is_blank(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|b| b.is_ascii_whitespace() || matches!(b, 0 | 0x0b))
}

/// Someone else's text, fit for one line of a message: control characters escaped, at most `max` characters.
pub(crate) fn shown(text: &str, max: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == max {
            out.push('…');
            break;
        }
        // `escape_debug` also escapes what cannot be seen, such as text-direction marks.
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_is_known_by_name() {
        for name in [
            ".DS_Store",
            "Thumbs.db",
            "__pycache__",
            "a.pyc",
            ".SKILL.md.swp",
            "SKILL.md~",
            ".aiden-tmp",
        ] {
            assert!(is_junk(name), "{name}");
        }
        for name in ["SKILL.md", "a.py", ".aiden", "pycache", "a~b", ".gitignore"] {
            assert!(!is_junk(name), "{name}");
        }
    }

    #[test]
    fn near_misses_are_named_and_the_exact_name_is_not() {
        for name in [
            "skill.md",
            "SKILL.MD",
            "Skill.md",
            "SKILLS.md",
            "SKILL.markdown",
            "SKILL.txt",
            "SKILL.md ",
            "SKILL.md.txt",
        ] {
            assert!(is_near_miss(name), "{name}");
        }
        for name in [
            "SKILL.md",
            "skills",
            "skill",
            "SKILL.md.bak",
            "myskill.md",
            "README.md",
            "",
        ] {
            assert!(!is_near_miss(name), "{name}");
        }
    }

    #[test]
    fn blank_is_what_a_power_cut_leaves() {
        for bytes in [&b""[..], b"\0\0\0", b" \r\n\t\x0b\x0c", b"\0 \n"] {
            assert!(is_blank(bytes), "{bytes:?}");
        }
        assert!(!is_blank(b"\0\0x"));
        assert!(!is_blank(b"\xef\xbb\xbf"));
    }

    #[test]
    fn shown_text_is_one_line_and_bounded() {
        assert_eq!(shown("a\n\u{1b}[31m\"é\"", 40), "a\\n\\u{1b}[31m\"é\"");
        assert_eq!(shown("abcdef", 3), "abc…");
    }
}
