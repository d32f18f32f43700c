//! The names of the data sets that a program serves.

use std::fmt;
use std::str::FromStr;

/// The longest name, in bytes.
const BYTES_MAX: usize = 64;

/// The length of the id of an upload, in hexadecimal digits.
const ID_DIGITS: usize = 32;

/// The name of a data set that a program serves. It is the id of its session, and the last part of
/// its address `/d/NAME`, which is the same after every restart.
///
/// ```
/// use weir_server::DataSetName;
///
/// let name: DataSetName = "web1".parse().expect("a name");
/// assert_eq!(name.as_str(), "web1");
/// assert_eq!(DataSetName::default().as_str(), "main");
/// assert!("web 1".parse::<DataSetName>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSetName(String);

impl DataSetName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for DataSetName {
    /// The name of a data set to which the user gave none.
    fn default() -> Self {
        Self("main".to_owned())
    }
}

impl FromStr for DataSetName {
    type Err = InvalidName;

    /// Accepts 1 to 64 ASCII letters, digits, `.`, `_` and `-`, of which the first is a letter or a
    /// digit. These stay the same in an address. Text that looks like the id of an upload is refused.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_valid = (1..=BYTES_MAX).contains(&text.len())
            && text.bytes().all(is_allowed)
            && text.as_bytes()[0].is_ascii_alphanumeric()
            && !is_id;
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidName) }
    }
}

impl fmt::Display for DataSetName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The error for a text that is not a valid [`DataSetName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidName;

impl fmt::Display for InvalidName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "not a valid name: a name has 1 to 64 letters of ASCII, digits, `.`, `_` and `-`, begins with a \
             letter or a digit, and is not 32 hexadecimal digits, like the address of an upload",
        )
    }
}

impl std::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::DataSetName;

    #[test]
    fn names_are_parts_of_addresses() {
        let longest = "a".repeat(64);
        for text in
            ["a", "web1", "shop.example.com", "7", "a_b-c.d", "..a".trim_matches('.'), &longest]
        {
            assert_eq!(text.parse::<DataSetName>().expect(text).as_str(), text);
        }
        let (too_long, id) = ("a".repeat(65), "0123456789abcdef0123456789ABCDEF");
        for text in [
            "", ".", "..", "-a", "_a", "a b", "a/b", "a%2fb", "ä", "a\n", "a?b", "<a>", &too_long,
            id,
        ] {
            assert!(text.parse::<DataSetName>().is_err(), "{text}");
        }
    }
}
