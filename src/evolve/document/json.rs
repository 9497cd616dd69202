//! JSON objects as they were written: keys keep their order, values their text, and what is not known stays.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// An object of which single keys are changed.
#[derive(Debug, Clone, Default)]
pub struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    /// The value of a key, if it is there and of this type.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let (_, raw) = self.0.iter().find(|(known, _)| known == key)?;
        serde_json::from_str(raw.get()).ok()
    }

    /// A key that it has more than once.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        let keys = self.0.iter().enumerate();
        let mut again =
            keys.filter(|(at, (key, _))| self.0[..*at].iter().any(|(other, _)| other == key));
        again.next().map(|(_, (key, _))| key.as_str())
    }

    /// Puts a value in the place of the key's, or behind all others.
    pub fn set(&mut self, key: &str, value: &impl Serialize) {
        let Ok(raw) = serde_json::value::to_raw_value(value) else {
            return;
        };
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = raw,
            None => self.0.push((key.to_owned(), raw)),
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A text as JSON.
///
/// # Errors
/// What is wrong with it.
pub fn value_of(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// What a JSON object says; serde alone would take a list for one, too.
///
/// # Errors
/// What is wrong with it.
pub fn object_of<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    if !value.is_object() {
        return Err("it is no JSON object".into());
    }
    T::deserialize(value.clone()).map_err(|e| e.to_string())
}

/// A document as it is written to a file: two spaces a level, and a line break at the end.
#[must_use]
pub fn to_file(document: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_stays_as_it_was_written() {
        let text = r#"{"b": 1.50, "a": {"y":  2, "x": [ ]}, "c": "old"}"#;
        let mut object: Object = serde_json::from_str(text).unwrap();
        object.set("c", &"new");
        object.set("d", &true);
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            r#"{"b":1.50,"a":{"y":  2, "x": [ ]},"c":"new","d":true}"#
        );
        assert_eq!(object.get::<String>("c").as_deref(), Some("new"));
        assert_eq!(object.get::<String>("b"), None);
    }
}
