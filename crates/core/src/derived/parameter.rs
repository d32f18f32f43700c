//! A parameter of a query.

use std::borrow::Cow;

use super::{Derivation, DerivedField, DerivedInputs};
use crate::field::Field;

/// The value of a parameter, decoded as `application/x-www-form-urlencoded` is (WHATWG URL
/// Standard, section 5.1). Of several, the first.
#[derive(Debug)]
struct Parameter {
    /// Its names, the one to prefer first.
    names: Vec<String>,
}

pub(super) fn field(name: &str, parameters: &[&str]) -> DerivedField {
    let names = parameters.iter().map(|name| (*name).to_owned()).collect();
    DerivedField::of_field(name, Field::Query, Parameter { names })
}

impl Derivation for Parameter {
    fn derive(&self, inputs: &DerivedInputs<'_>, value: &mut Vec<u8>) -> bool {
        let Some(query) = inputs.text(0) else { return false };
        let find = |name: &String| {
            query.split(|byte| *byte == b'&').find_map(|pair| {
                let (key, value) = match memchr::memchr(b'=', pair) {
                    Some(at) => (&pair[..at], &pair[at + 1..]),
                    None => (pair, &pair[pair.len()..]),
                };
                (!pair.is_empty() && decoded(key) == name.as_bytes()).then_some(value)
            })
        };
        let Some(found) = self.names.iter().find_map(find) else { return false };
        value.extend_from_slice(&decoded(found));
        true
    }
}

/// Decodes `+` and `%XX`. Other percent signs stand for themselves.
fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'+', b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%').and_then(byte_of_digits);
        rest = if escaped.is_some() { &tail[2..] } else { tail };
        decoded.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    Cow::Owned(decoded)
}

/// The byte that two hexadecimal digits stand for.
fn byte_of_digits(digits: &[u8]) -> Option<u8> {
    let digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    digits.reduce(|high, low| Some(16 * high? + low?)).flatten().map(|byte| byte as u8)
}
