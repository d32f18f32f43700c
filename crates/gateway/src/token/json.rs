//! A JSON parser that refuses duplicate names in objects.
//!
//! RFC 7515 section 4 and RFC 7519 section 4 forbid duplicate names, or let the last one win. If
//! two programs choose differently, one checks a value that the other does not use. Duplicates are
//! therefore refused at every depth; serde_json alone would keep the last one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The reason why a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonFault {
    /// The text is not JSON (RFC 8259), not UTF-8, or nested deeper than 127 levels.
    Malformed,
    /// An object has a duplicate name.
    DuplicateName,
    /// The text is JSON, but not an object.
    NotObject,
}

/// Parses a JSON object. Numbers that do not fit a 64-bit integer become floating-point numbers.
pub(super) fn parse_object(text: &[u8]) -> Result<Map<String, Value>, JsonFault> {
    match serde_json::from_slice::<UniqueNames>(text) {
        Ok(UniqueNames(Value::Object(members))) => Ok(members),
        Ok(_) => Err(JsonFault::NotObject),
        // This is serde_json's only way to distinguish a custom error from its own.
        Err(error) if error.is_data() => Err(JsonFault::DuplicateName),
        Err(_) => Err(JsonFault::Malformed),
    }
}

/// A value in which each name of an object is unique.
struct UniqueNames(Value);

impl<'de> Deserialize<'de> for UniqueNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueNamesVisitor).map(Self)
    }
}

struct UniqueNamesVisitor;

impl<'de> Visitor<'de> for UniqueNamesVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON without duplicate names in an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueNames(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, UniqueNames(value))) = entries.next_entry::<String, _>()? {
            if members.insert(name, value).is_some() {
                return Err(Error::custom("a duplicate name"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{JsonFault, parse_object};

    #[test]
    fn values_of_any_shape_survive() {
        let text = r#"{"a":[1,-2,2.5,true,null,{"b":{"c":["\u00e9","\ud83d\ude00"]}}],"":"",
            "18446744073709551615":18446744073709551615}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse_object(text.as_bytes()).map(Value::Object), Ok(expected));
    }

    #[test]
    fn refused_texts_have_a_reason() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for (text, expected) in [
            (&br#"{"a":1,"a":1}"#[..], JsonFault::DuplicateName),
            (br#"{"a":1,"\u0061":2}"#, JsonFault::DuplicateName),
            (br#"{"x":[{"a":{"b":1,"b":2}}]}"#, JsonFault::DuplicateName),
            (br#"[1]"#, JsonFault::NotObject),
            (b"null", JsonFault::NotObject),
            (b"", JsonFault::Malformed),
            (b"{}x", JsonFault::Malformed),
            (b"{} {}", JsonFault::Malformed),
            (b"\xef\xbb\xbf{}", JsonFault::Malformed),
            (b"{\"a\":\"\xff\"}", JsonFault::Malformed),
            (br#"{"a":"\ud800"}"#, JsonFault::Malformed),
            (br#"{"a":NaN}"#, JsonFault::Malformed),
            (br#"{"a":1e999}"#, JsonFault::Malformed),
            (br#"{"a":01}"#, JsonFault::Malformed),
            (br#"{'a':1}"#, JsonFault::Malformed),
            (br#"{"a":1,}"#, JsonFault::Malformed),
            (deep.as_bytes(), JsonFault::Malformed),
        ] {
            let text_shown = String::from_utf8_lossy(text);
            assert_eq!(parse_object(text), Err(expected), "{text_shown}");
        }
    }
}
