//! YAML values under a budget. YAML lets a few bytes stand for millions of values (aliases) and nest without
//! end; a board must not pay for that, so reading counts as it goes and gives up.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_yaml::value::{Tag, TaggedValue};
use serde_yaml::{Mapping, Value};

use super::frontmatter::{Limit, MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_NODES};
use super::shown;

/// What may still be spent, and what ran out.
pub(super) struct Budget {
    nodes: Cell<usize>,
    bytes: Cell<usize>,
    exceeded: Cell<Option<Limit>>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            nodes: Cell::new(MAX_NODES),
            bytes: Cell::new(MAX_EXPANDED_BYTES),
            exceeded: Cell::new(None),
        }
    }

    /// The limit that stopped the reading, if one did. Errors pass through the library as text only.
    pub(super) fn exceeded(&self) -> Option<Limit> {
        self.exceeded.get()
    }

    /// How many values were read; never more than the limit, whatever the input.
    #[cfg(test)]
    pub(super) fn nodes_spent(&self) -> usize {
        MAX_NODES - self.nodes.get()
    }

    fn stop<E: de::Error>(&self, limit: Limit) -> E {
        self.exceeded.set(Some(limit));
        E::custom(limit)
    }

    fn spend<E: de::Error>(&self, bytes: usize) -> Result<(), E> {
        let nodes = self
            .nodes
            .get()
            .checked_sub(1)
            .ok_or_else(|| self.stop(Limit::Nodes))?;
        let bytes = self
            .bytes
            .get()
            .checked_sub(bytes)
            .ok_or_else(|| self.stop(Limit::Bytes))?;
        self.nodes.set(nodes);
        self.bytes.set(bytes);
        Ok(())
    }
}

/// Reads one value. `keys` is set when that value is a key: the mapping read so far.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    budget: &'a Budget,
    depth: usize,
    keys: Option<&'a Mapping>,
}

impl<'a> Node<'a> {
    pub(super) fn root(budget: &'a Budget) -> Self {
        Self {
            budget,
            depth: 0,
            keys: None,
        }
    }

    fn child<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.budget.stop(Limit::Depth));
        }
        Ok(Self {
            depth: self.depth + 1,
            keys: None,
            ..self
        })
    }

    /// Keys are checked here, inside the reading of the key: so the library's error carries the key's line.
    fn done<E: de::Error>(self, value: Value) -> Result<Value, E> {
        let Some(keys) = self.keys else {
            return Ok(value);
        };
        if self.depth == 1 && !value.is_string() {
            return Err(E::custom("a key is not a string; put it in quotes"));
        }
        if keys.contains_key(&value) {
            let key = value.as_str().unwrap_or("…");
            return Err(E::custom(format_args!(
                "duplicate key `{}`; keep one of them",
                shown(key, 40)
            )));
        }
        Ok(value)
    }

    fn scalar<E: de::Error>(self, bytes: usize, value: impl FnOnce() -> Value) -> Result<Value, E> {
        self.budget.spend(bytes)?;
        self.done(value())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Value, E> {
        self.scalar(0, || Value::Bool(v))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Value, E> {
        self.scalar(0, || Value::Number(v.into()))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Value, E> {
        self.scalar(0, || Value::Number(v.into()))
    }

    // A number too long for 64 bits belongs to a field we do not know: its exact value does not matter.
    fn visit_i128<E: de::Error>(self, v: i128) -> Result<Value, E> {
        self.visit_f64(v as f64)
    }

    fn visit_u128<E: de::Error>(self, v: u128) -> Result<Value, E> {
        self.visit_f64(v as f64)
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Value, E> {
        self.scalar(0, || Value::Number(v.into()))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Value, E> {
        self.scalar(v.len(), || Value::String(v.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.scalar(0, || Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut data: A) -> Result<Value, A::Error> {
        self.budget.spend(0)?;
        let child = self.child()?;
        let mut list = Vec::new();
        while let Some(item) = data.next_element_seed(child)? {
            list.push(item);
        }
        self.done(Value::Sequence(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut data: A) -> Result<Value, A::Error> {
        self.budget.spend(0)?;
        let child = self.child()?;
        let mut map = Mapping::new();
        while let Some(key) = data.next_key_seed(Node {
            keys: Some(&map),
            ..child
        })? {
            let value = data.next_value_seed(child)?;
            map.insert(key, value);
        }
        self.done(Value::Mapping(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (tag, variant) = data.variant_seed(PhantomData::<String>)?;
        self.budget.spend(tag.len())?;
        let value = variant.newtype_variant_seed(self.child()?)?;
        if tag.is_empty() {
            return self.done(value); // `Tag::new` panics on an empty tag.
        }
        self.done(Value::Tagged(Box::new(TaggedValue {
            tag: Tag::new(tag),
            value,
        })))
    }
}
