//! The events that observers extract from the lines of a log, and that rules count.

use crate::evidence::LineTally;

/// Events in the order of the lines, packed.
///
/// # Memory
///
/// 40 bytes for each event, plus the length of each of its texts and 4 bytes.
#[derive(Debug, Clone, Default)]
pub struct Events {
    entries: Vec<EventEntry>,
    texts: Vec<u8>,
    /// What an observer of whole lines found in them.
    pub(crate) tally: LineTally,
}

#[derive(Debug, Clone, Copy)]
struct EventEntry {
    line: u64,
    time_ns: Option<i64>,
    duration_ns: u64,
    tag: u32,
    /// The end of the event's texts, where those of the next begin.
    texts_end: u32,
}

/// An event without its texts.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventHead {
    /// The number of the line in its part of the log, from 0.
    pub line: u64,
    /// See [`Event::time_ns`].
    pub time_ns: Option<i64>,
    /// See [`Event::duration_ns`].
    pub duration_ns: u64,
    /// See [`Event::tag`].
    pub tag: u32,
}

/// One event.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The number of the line in its part of the log, from 0.
    pub line: u64,
    /// The time stamp of the line, in nanoseconds since 1970; `None` if it has none.
    pub time_ns: Option<i64>,
    /// The time by which the event precedes the stamp, in nanoseconds. It is the request time, if
    /// the log has it and the stamp is that of the end of the request.
    pub duration_ns: u64,
    /// A number whose meaning is private to the rule's observer and replay.
    pub tag: u32,
    /// The texts of the event, such as its keys.
    pub texts: Texts<'a>,
}

/// The texts of an event, in the order in which they were put.
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a>(&'a [u8]);

impl Events {
    /// The most bytes of texts that fit.
    pub const TEXT_BYTES_MAX: usize = u32::MAX as usize;

    /// Appends an event with texts in this order. Returns false, and appends nothing, if the texts
    /// do not fit. Callers should empty the events long before that.
    pub fn put<'t>(&mut self, head: EventHead, texts: impl IntoIterator<Item = &'t [u8]>) -> bool {
        let start = self.texts.len();
        for text in texts {
            self.texts.extend_from_slice(&(text.len() as u32).to_le_bytes());
            self.texts.extend_from_slice(text);
        }
        let Ok(texts_end) = u32::try_from(self.texts.len()) else {
            self.texts.truncate(start);
            return false;
        };
        let EventHead { line, time_ns, duration_ns, tag } = head;
        self.entries.push(EventEntry { line, time_ns, duration_ns, tag, texts_end });
        true
    }

    /// Appends bytes to the text of the last event, if it has exactly one text. Returns whether
    /// they were appended; false also if they do not fit.
    pub fn extend_last(&mut self, bytes: &[u8]) -> bool {
        let start = match &self.entries[..] {
            [] => return false,
            [_] => 0,
            [.., before, _] => before.texts_end as usize,
        };
        let new_end = u32::try_from(self.texts.len() + bytes.len());
        let (Some(last), Ok(texts_end)) = (self.entries.last_mut(), new_end) else { return false };
        let Some((length, text)) = self.texts[start..].split_first_chunk_mut::<4>() else {
            return false;
        };
        if u32::from_le_bytes(*length) as usize != text.len() {
            return false;
        }
        *length = ((text.len() + bytes.len()) as u32).to_le_bytes();
        last.texts_end = texts_end;
        self.texts.extend_from_slice(bytes);
        true
    }

    /// Returns what an observer of whole lines found in them, besides the events.
    pub fn tally(&self) -> &LineTally {
        &self.tally
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the events in their order.
    pub fn iter(&self) -> impl Iterator<Item = Event<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let end = entry.texts_end as usize;
            let texts = Texts(&self.texts[std::mem::replace(&mut start, end)..end]);
            let EventEntry { line, time_ns, duration_ns, tag, .. } = *entry;
            Event { line, time_ns, duration_ns, tag, texts }
        })
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<EventEntry>() + self.texts.capacity()
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{EventHead, Events};

    #[test]
    fn only_the_single_text_of_the_last_event_is_extended() {
        let mut events = Events::default();
        assert!(!events.extend_last(b"a"));
        for (texts, extended) in [
            (&[&b"ab"[..]][..], Some("abcd")),
            (&[], None),
            (&[b""], Some("cd")),
            (&[b"a", b"b"], None),
        ] {
            events.put(EventHead::default(), texts.iter().copied());
            assert_eq!(events.extend_last(b"c") && events.extend_last(b"d"), extended.is_some());
            let last = events.iter().last().expect("an event").texts.collect::<Vec<_>>();
            match extended {
                Some(text) => assert_eq!(last, [text.as_bytes()]),
                None => assert_eq!(last, texts),
            }
        }
        assert_eq!(events.iter().next().expect("an event").texts.next(), Some(&b"abcd"[..]));
    }

    #[test]
    fn events_are_returned_as_they_were_put() {
        let lists: [&[&[u8]]; 4] = [&[b"a", b"bc"], &[], &[b""], &[b"\0\xff"]];
        let mut events = Events::default();
        for (line, texts) in lists.iter().enumerate() {
            let head = EventHead { line: line as u64, time_ns: Some(5), duration_ns: 3, tag: 7 };
            assert!(events.put(head, texts.iter().copied()));
        }
        assert_eq!(events.len(), 4);
        for (event, texts) in events.iter().zip(lists) {
            assert_eq!(event.texts.collect::<Vec<_>>(), texts);
            assert_eq!((event.time_ns, event.duration_ns, event.tag), (Some(5), 3, 7));
        }
    }
}
