//! The documents' JSON Schemas, and what they say of a document. It knows the keywords that they use, and no others.

use serde::Serialize;
use serde_json::{Map, Value};

use super::ids::{Kind, Timestamp, Version, is_skill_id};

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `manifest.json`
    Manifest,
    /// `skill_bank.json`
    Bank,
    /// `experience/exp-….json`
    Experience,
    /// `audit/aud-….json`
    Audit,
    /// `snapshots/snap-….json`
    Snapshot,
    /// `audit/prop-….json`
    Proposal,
    /// `audit/dec-….json`
    Decision,
}

impl DocumentKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Manifest,
        Self::Bank,
        Self::Experience,
        Self::Audit,
        Self::Snapshot,
        Self::Proposal,
        Self::Decision,
    ];

    /// The text of its schema.
    #[must_use]
    pub fn schema(self) -> &'static str {
        match self {
            Self::Manifest => include_str!(concat!(env!("OUT_DIR"), "/manifest.json")),
            Self::Bank => include_str!(concat!(env!("OUT_DIR"), "/bank.json")),
            Self::Experience => include_str!(concat!(env!("OUT_DIR"), "/experience.json")),
            Self::Audit => include_str!(concat!(env!("OUT_DIR"), "/audit.json")),
            Self::Snapshot => include_str!(concat!(env!("OUT_DIR"), "/snapshot.json")),
            Self::Proposal => include_str!(concat!(env!("OUT_DIR"), "/proposal.json")),
            Self::Decision => include_str!(concat!(env!("OUT_DIR"), "/decision.json")),
        }
    }
}

/// What is wrong with a document, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Such as `skills[0].title`; the document itself: empty.
    pub path: String,
    /// In a sentence.
    pub error: String,
}

/// Of a text: what its pattern wants.
type Pattern = (&'static str, fn(&str) -> bool, &'static str);

/// The patterns of the schemas, each as the type that it describes.
const PATTERNS: [Pattern; 9] = [
    (
        "^skl-[a-f0-9]{12}$",
        |text| Kind::Entry.is(text),
        "skl- and 12 hexadecimal digits",
    ),
    (
        "^exp-[a-f0-9]{12}$",
        |text| Kind::Experience.is(text),
        "exp- and 12 hexadecimal digits",
    ),
    (
        "^aud-[a-f0-9]{12}$",
        |text| Kind::Audit.is(text),
        "aud- and 12 hexadecimal digits",
    ),
    (
        "^snap-[a-f0-9]{12}$",
        |text| Kind::Snapshot.is(text),
        "snap- and 12 hexadecimal digits",
    ),
    (
        "^prop-[a-f0-9]{12}$",
        |text| Kind::Proposal.is(text),
        "prop- and 12 hexadecimal digits",
    ),
    (
        "^dec-[A-Za-z0-9._-]+$",
        is_decision_id,
        "dec- and letters, digits, '.', '_' and '-'",
    ),
    (
        "^[0-9]+\\.[0-9]+\\.[0-9]+$",
        |text| Version::parse(text).is_some(),
        "three numbers such as 0.1.0",
    ),
    (
        "^[a-z0-9][a-z0-9._-]*$",
        is_skill_id,
        "lower-case letters, digits, '.', '_' and '-'",
    ),
    (
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
        Timestamp::is,
        "a time such as 2026-03-28T09:15:00Z",
    ),
];

fn is_decision_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.strip_prefix("dec-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(plain))
}

/// What is wrong with a document by its schema.
#[must_use]
pub fn check(kind: DocumentKind, document: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    let Ok(schema) = serde_json::from_str::<Value>(kind.schema()) else {
        return faults;
    };
    let checking = Checking { root: &schema };
    checking.value(&schema, document, "", &mut faults);
    faults
}

struct Checking<'s> {
    root: &'s Value,
}

impl Checking<'_> {
    fn value(&self, schema: &Value, value: &Value, path: &str, faults: &mut Vec<Fault>) {
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|name| name.strip_prefix("#/$defs/"))
        {
            return self.value(&self.root["$defs"][name], value, path, faults);
        }
        let mut fault = |error: String| {
            faults.push(Fault {
                path: path.to_owned(),
                error,
            });
        };
        if let Some(wanted) = schema["type"].as_str()
            && !is_of_type(wanted, value)
        {
            return fault(format!(
                "it must be {}, not {}",
                article(wanted),
                article(type_of(value))
            ));
        }
        if let Some(wanted) = schema.get("const").filter(|wanted| *wanted != value) {
            fault(format!("it must be {wanted}"));
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            fault(format!("it must be one of {}", allowed.join(", ")));
        }
        match value {
            Value::String(text) => string(schema, text, &mut fault),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                let bound = |key: &str| schema[key].as_f64();
                if bound("minimum").is_some_and(|least| number < least) {
                    fault(format!("it must be at least {}", schema["minimum"]));
                }
                if bound("maximum").is_some_and(|most| number > most) {
                    fault(format!("it must be at most {}", schema["maximum"]));
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.value(&schema["items"], item, &format!("{path}[{at}]"), faults);
                }
            }
            Value::Object(fields) => self.object(schema, fields, path, faults),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn object(
        &self,
        schema: &Value,
        fields: &Map<String, Value>,
        path: &str,
        faults: &mut Vec<Fault>,
    ) {
        let at = |field: &str| match path {
            "" => field.to_owned(),
            path => format!("{path}.{field}"),
        };
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        for field in required.iter().filter_map(Value::as_str) {
            if !fields.contains_key(field) {
                faults.push(Fault {
                    path: at(field),
                    error: "it is missing".into(),
                });
            }
        }
        for (field, value) in fields {
            match schema["properties"].get(field) {
                Some(schema) => self.value(schema, value, &at(field), faults),
                None if schema["additionalProperties"] == false => faults.push(Fault {
                    path: at(field),
                    error: "there is no such field in this kind of document".into(),
                }),
                None => {}
            }
        }
    }
}

fn string(schema: &Value, text: &str, fault: &mut dyn FnMut(String)) {
    if schema["minLength"]
        .as_u64()
        .is_some_and(|least| (text.chars().count() as u64) < least)
    {
        fault("it is empty".into());
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let known = PATTERNS.iter().find(|(known, _, _)| *known == pattern);
        if let Some((_, _, wanted)) = known.filter(|(_, fits, _)| !fits(text)) {
            fault(format!("{text:?} is not {wanted}"));
        }
    } else if schema["format"] == "date-time" && Timestamp::parse(text).is_none() {
        fault(format!("{text:?} is no time"));
    }
}

fn is_of_type(wanted: &str, value: &Value) -> bool {
    match wanted {
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        wanted => type_of(value) == wanted,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".into(),
        "array" | "object" | "integer" => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: [&str; 19] = [
        "$schema",
        "$id",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "pattern",
        "format",
        "minLength",
        "minimum",
        "maximum",
        "default",
    ];

    /// All schemas within one, those of properties and definitions too.
    fn each(schema: &Value, take: &mut dyn FnMut(&Map<String, Value>)) {
        let Some(object) = schema.as_object() else {
            panic!("{schema} is no schema");
        };
        take(object);
        for key in ["properties", "$defs"] {
            for (_, inner) in schema[key].as_object().into_iter().flatten() {
                each(inner, take);
            }
        }
        if let Some(items) = schema.get("items") {
            each(items, take);
        }
    }

    #[test]
    fn the_schemas_use_nothing_that_is_not_checked() {
        for kind in DocumentKind::ALL {
            let schema: Value = serde_json::from_str(kind.schema()).unwrap();
            each(&schema, &mut |object| {
                for (key, value) in object {
                    assert!(KEYWORDS.contains(&key.as_str()), "{kind:?}: {key}");
                    match key.as_str() {
                        "pattern" => {
                            let known = PATTERNS.iter().any(|(pattern, _, _)| value == pattern);
                            assert!(known, "{kind:?}: {value}");
                        }
                        "additionalProperties" => assert_eq!(value, false),
                        "format" => assert_eq!(value, "date-time"),
                        "$ref" => {
                            let name = value.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                            assert!(schema["$defs"].get(name).is_some(), "{kind:?}: {value}");
                        }
                        _ => {}
                    }
                }
            });
        }
    }
}
