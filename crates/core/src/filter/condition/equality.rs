//! Equality with texts, addresses and classes of statuses.

use std::net::IpAddr;

use super::error::ConditionError;
use super::tree::{ConditionValue, FieldCondition};
use super::wildcard::without_wildcards;
use crate::field::Field;
use crate::filter::clause::TextTest;
use crate::value::{AddressBlock, METHODS};

/// Returns a test for equality with one of several values, each with whether it may stand for
/// an address or a block of addresses.
pub(super) fn test(values: impl Iterator<Item = (Vec<u8>, bool)>) -> TextTest {
    let (mut blocks, mut texts) = (Vec::new(), Vec::new());
    for (text, is_plain) in values {
        blocks.extend(Some(&text).filter(|_| is_plain).and_then(|text| block(text)));
        texts.push(text);
    }
    if blocks.is_empty() { TextTest::OneOf(texts) } else { TextTest::InBlocks(blocks, texts) }
}

/// The block that a text stands for: that of an address is the address alone.
pub(super) fn block(text: &[u8]) -> Option<AddressBlock> {
    let text = std::str::from_utf8(text).ok()?;
    let address = || text.parse::<IpAddr>().ok().map(AddressBlock::of);
    AddressBlock::parse(text).or_else(address)
}

/// Whether a text without quotation marks stands for several: a block of addresses or a class of
/// statuses.
pub(super) fn stands_for_several(text: &[u8]) -> bool {
    let class = || std::str::from_utf8(text).ok().and_then(status_class);
    block(text).is_some() || class().is_some()
}

/// The statuses of a class such as `4xx`.
pub(super) fn status_class(text: &str) -> Option<(u64, u64)> {
    let (class, rest) = text.split_at_checked(1)?;
    let class: u64 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
    rest.eq_ignore_ascii_case("xx").then_some((100 * class, 100 * class + 99))
}

/// Checks that a value without quotation marks can be a value of a field.
///
/// # Errors
/// If it cannot, with what can.
pub(super) fn check(
    condition: &FieldCondition,
    field: Option<Field>,
    value: &ConditionValue,
) -> Result<(), ConditionError> {
    let text = value.text();
    let (name, sign) = (&condition.field, condition.operator.sign());
    let refuse = |message: String| Err(ConditionError::new(value.position.clone(), message));
    if text.contains('*') {
        let instead = without_wildcards(name, field, &text);
        return refuse(format!(
            "`*` stands for itself only in quotation marks: {name}{sign}\"{text}\"; write {instead}"
        ));
    }
    match field {
        Some(Field::Status) if !is_status(&text) => refuse(format!(
            "`{text}` is not a valid status; write {name}{sign}404 or {name}{sign}4xx"
        )),
        Some(Field::Method) if METHODS.iter().any(|method| is_misspelled(&text, method)) => {
            let method = text.to_ascii_uppercase();
            refuse(format!("methods are case-sensitive; write {name}{sign}{method}"))
        }
        Some(Field::Client) => match address_defect(&text) {
            Some(defect) => refuse(defect),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_status(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) || status_class(text).is_some()
}

fn is_misspelled(text: &str, method: &str) -> bool {
    text != method && text.eq_ignore_ascii_case(method)
}

/// Why a text that looks like addresses is not an address or a block, and what to write.
fn address_defect(text: &str) -> Option<String> {
    let looks_like_v4 = |text: &str| {
        text.contains('.') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let Some((address, prefix)) = text.split_once('/') else {
        let is_wrong = looks_like_v4(text) && text.parse::<IpAddr>().is_err();
        return is_wrong.then(|| match whole_address(text) {
            Some((address, bits)) => {
                format!(
                    "`{text}` is not a valid IPv4 address; write {address}/{bits} for a network"
                )
            }
            None => format!("`{text}` is not a valid IPv4 address; it has four numbers up to 255"),
        });
    };
    let Ok(parsed) = address.parse::<IpAddr>() else {
        return Some(match whole_address(address) {
            Some((whole, _)) => {
                format!("`{address}` is not a valid IPv4 address; write {whole}/{prefix}")
            }
            None => format!("`{address}` is not a valid address; write a network as 192.0.2.0/24"),
        });
    };
    let (version, bits) = if parsed.is_ipv4() { ("IPv4", 32) } else { ("IPv6", 128) };
    AddressBlock::parse(text)
        .is_none()
        .then(|| format!("`/{prefix}` is not a valid {version} prefix (0 to {bits})"))
}

/// The IPv4 address that begins with fewer numbers, and the length of their prefix in bits.
fn whole_address(text: &str) -> Option<(String, usize)> {
    let numbers: Result<Vec<u8>, _> =
        text.trim_end_matches('.').split('.').map(str::parse).collect();
    let mut numbers = numbers.ok().filter(|numbers| numbers.len() < 4)?;
    let bits = 8 * numbers.len();
    numbers.resize(4, 0);
    let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
    Some((numbers.join("."), bits))
}

/// The network that a text with a wildcard at its end stands for.
pub(super) fn network(text: &str) -> Option<String> {
    let (address, bits) = whole_address(text.strip_suffix('*')?)?;
    Some(format!("{address}/{bits}"))
}
