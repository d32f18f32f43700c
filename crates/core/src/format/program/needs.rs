//! What each line of a program has.
//!
//! Detection tries every format with every line. Nearly all lines lack something that most formats need: a
//! bracket, a bar, a key of their objects. So a line is looked at once, and only formats whose needs it meets
//! read it. The needs are fewer than what a program checks: a line that meets them may be refused.

use super::keyed::{MemberSink, Place, scan};
use super::span::Span;

/// What each line of a program has.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::format) struct Needs<'a> {
    pub(in crate::format) bytes: ByteSet,
    /// For each of these the line is an object that has one of its keys.
    pub(in crate::format) keys: &'a [AnyKey],
}

/// What a line has.
#[derive(Debug, Clone)]
pub(in crate::format) struct LineMarks {
    bytes: ByteSet,
    /// The keys of an object.
    keys: Option<Box<KeySet>>,
}

impl LineMarks {
    /// Looks at a line.
    pub(in crate::format) fn of(line: &[u8]) -> Self {
        let bytes = ByteSet::of(line);
        let keys = bytes.contains_all(ByteSet::of(b"{}")).then(|| KeySet::of(line)).flatten();
        Self { bytes, keys }
    }

    /// Whether the line may be one of a program with these needs.
    pub(in crate::format) fn meet(&self, needs: &Needs<'_>) -> bool {
        self.have_bytes(needs)
            && (needs.keys.is_empty()
                || self
                    .keys
                    .as_ref()
                    .is_some_and(|keys| needs.keys.iter().all(|any| any.is_in(keys))))
    }

    /// Whether a part of the line may be one of a program with these needs.
    pub(in crate::format) fn have_bytes(&self, needs: &Needs<'_>) -> bool {
        self.bytes.contains_all(needs.bytes)
    }
}

/// A set of ASCII characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::format) struct ByteSet([u64; 2]);

impl ByteSet {
    /// The ASCII characters of a text.
    pub(in crate::format) fn of(text: &[u8]) -> Self {
        // The last two stand for bytes that are none.
        let mut words = [0; 4];
        for byte in text {
            words[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        Self([words[0], words[1]])
    }

    /// Both sets together.
    pub(in crate::format) fn and(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    fn contains_all(self, other: Self) -> bool {
        self.and(other) == self
    }
}

/// The keys of an object, at any depth, in any case: a bit for each. Two keys may have the same bit.
#[derive(Debug, Clone)]
struct KeySet([u64; Self::WORDS]);

impl KeySet {
    const WORDS: usize = 32;

    /// The keys of a line; `None` if it is no object.
    fn of(line: &[u8]) -> Option<Box<Self>> {
        let mut keys = Box::new(Self([0; Self::WORDS]));
        scan(line, &mut *keys).is_ok().then_some(keys)
    }

    fn contains(&self, bit: u16) -> bool {
        self.0[usize::from(bit / 64)] & 1 << (bit % 64) != 0
    }

    /// The bit of a key without dots.
    fn bit(key: &[u8]) -> u16 {
        let add = |hash: u32, byte: &u8| {
            (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
        };
        let hash = key.iter().fold(0x811c_9dc5, add);
        ((hash ^ hash >> 16) % (Self::WORDS as u32 * 64)) as u16
    }
}

impl MemberSink for KeySet {
    fn below(&mut self, object: Place, key: &[u8]) -> Place {
        // Encoders flatten objects.
        for bit in key.split(|byte| *byte == b'.').map(Self::bit) {
            self.0[usize::from(bit / 64)] |= 1 << (bit % 64);
        }
        object
    }

    fn take(&mut self, _place: Place, _scalar: Span, _member: usize) {}

    fn take_null(&mut self, _place: Place) {}
}

/// Paths of keys of which an object has one: the bits of each path's keys.
#[derive(Debug, Clone)]
pub(in crate::format) struct AnyKey(Vec<Box<[u16]>>);

impl AnyKey {
    pub(in crate::format) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let bits = |path: &str| path.split('.').map(|key| KeySet::bit(key.as_bytes())).collect();
        Self(paths.map(bits).collect())
    }

    fn is_in(&self, keys: &KeySet) -> bool {
        self.0.iter().any(|path| path.iter().all(|bit| keys.contains(*bit)))
    }
}

#[cfg(test)]
mod tests {
    use super::{AnyKey, ByteSet, LineMarks, Needs};

    #[test]
    fn a_line_meets_the_needs_that_it_has() {
        let meets = |line: &str, bytes: &str, keys: &[AnyKey]| {
            LineMarks::of(line.as_bytes())
                .meet(&Needs { bytes: ByteSet::of(bytes.as_bytes()), keys })
        };
        assert!(meets("", "", &[]) && meets("a [b] \"c\" é", "[]\"", &[]));
        assert!(!meets("a [b]", "[]\"", &[]) && !meets("é", "~", &[]));

        let keys = [AnyKey::of(["time", "a.ts"].into_iter()), AnyKey::of(["status"].into_iter())];
        for (line, expected) in [
            (r#"{"time":1,"status":200}"#, true),
            (r#"{"status":null,"A":{"TS":""}}"#, true),
            (r#"[{"a.ts":1,"Status":[]},"#, true),
            (r#"{"x":[{"time":1,"status":2}]}"#, true),
            (r#"{"time":1}"#, false),
            (r#"{"status":1,"a":{}}"#, false),
            (r#"{"time":1,"status":200"#, false),
            ("time status", false),
        ] {
            assert_eq!(meets(line, "", &keys), expected, "{line}");
        }
    }
}
