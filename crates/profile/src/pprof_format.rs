//! The pprof format: `profile.proto` of github.com/google/pprof, in the Protocol Buffers wire
//! format.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::profile::{Profile, ProfileKind, Stack};

/// Field numbers of the message `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
}

impl Profile {
    /// Encodes the profile for `go tool pprof`, Grafana and others, uncompressed. Each stack has
    /// the label `thread`, and samples and nanoseconds; in a profile of memory only bytes.
    pub fn pprof(&self) -> Vec<u8> {
        self.pprof_labelled(None)
    }

    /// Like [`Self::pprof`], with a further label of each stack: its name, and a function that
    /// returns the value.
    pub fn pprof_with(&self, label: &'static str, value: fn(&Stack) -> &'static str) -> Vec<u8> {
        self.pprof_labelled(Some((label, value)))
    }

    fn pprof_labelled(&self, further: Option<Label>) -> Vec<u8> {
        let mut names = Names::default();
        // The format requires that the first string is empty.
        names.number("");
        let (name, unit) = (names.number(self.kind.pprof_name()), names.number(self.kind.unit()));
        let (samples, count) = (names.number("samples"), names.number("count"));
        let thread = names.number("thread");
        let mut functions = Names::default();
        let mut message = Message::default();
        let has_samples = self.kind.has_samples();
        if has_samples {
            message.message(field::SAMPLE_TYPE, &value_type(samples, count));
        }
        message.message(field::SAMPLE_TYPE, &value_type(name, unit));
        for stack in &self.stacks {
            // The innermost function comes first. Ids start at 1, because 0 means none.
            let locations = stack.functions.iter().rev().map(|name| functions.number(name) + 1);
            let mut sample = Message::default();
            sample.packed(1, locations);
            let samples = has_samples.then_some(stack.samples);
            sample.packed(2, samples.into_iter().chain([self.amount(stack.samples)]));
            let mut label = Message::default();
            label.number(1, thread);
            label.number(2, names.number(&stack.thread));
            sample.message(3, &label);
            if let Some((name, value)) = further {
                let mut label = Message::default();
                label.number(1, names.number(name));
                label.number(2, names.number(value(stack)));
                sample.message(3, &label);
            }
            message.message(field::SAMPLE, &sample);
        }
        for (index, name) in functions.in_order.iter().enumerate() {
            let (id, name) = (index as u64 + 1, names.number(name));
            let (mut line, mut location, mut function) =
                (Message::default(), Message::default(), Message::default());
            line.number(1, id);
            location.number(1, id);
            location.message(4, &line);
            message.message(field::LOCATION, &location);
            function.number(1, id);
            // Without the system's name, `go tool pprof` does not strip `<...>` as the arguments of
            // a C++ template.
            function.number(2, name);
            message.message(field::FUNCTION, &function);
        }
        for name in &names.in_order {
            message.bytes(field::STRING_TABLE, name.as_bytes());
        }
        message.number(field::TIME_NANOS, nanoseconds_since_1970(self.begun));
        message.number(field::DURATION_NANOS, nanoseconds_of(self.duration));
        message.message(field::PERIOD_TYPE, &value_type(name, unit));
        message.number(field::PERIOD, self.period);
        message.0
    }
}

/// A label of stacks: its name, and a function that returns the value.
type Label = (&'static str, fn(&Stack) -> &'static str);

impl ProfileKind {
    /// Returns the name of the sample type. Go's own profiles use the same names for memory.
    fn pprof_name(self) -> &'static str {
        match self {
            Self::Processor => "cpu",
            Self::Waiting => "waiting",
            Self::Allocated => "alloc_space",
            Self::Held => "inuse_space",
        }
    }

    /// Returns whether the profile counts samples. Profiles of memory have bytes only.
    fn has_samples(self) -> bool {
        matches!(self, Self::Processor | Self::Waiting)
    }
}

fn value_type(kind: u64, unit: u64) -> Message {
    let mut message = Message::default();
    message.number(1, kind);
    message.number(2, unit);
    message
}

fn nanoseconds_since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, nanoseconds_of)
}

fn nanoseconds_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A string table. Numbers start at 0.
#[derive(Default)]
struct Names {
    in_order: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Names {
    fn number(&mut self, name: &str) -> u64 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.in_order.len() as u64;
        self.in_order.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// A message in the wire format: a sequence of fields, each with its number and type.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    const VARINT: u32 = 0;
    const LENGTH: u32 = 2;

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | Self::VARINT));
        self.varint(value);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field << 3 | Self::LENGTH));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    fn packed(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let mut packed = Self::default();
        values.for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::Message;
    use crate::profile::{ProfileKind, ProfileMetadata};
    use crate::{Profile, Stack};

    #[test]
    fn fields_match_the_examples_of_the_manual() {
        // Protocol Buffers, "Encoding": field 1 with 150.
        let mut message = Message::default();
        message.number(1, 150);
        assert_eq!(message.0, [0x08, 0x96, 0x01]);
        // Field 2 with "testing".
        let mut message = Message::default();
        message.bytes(2, b"testing");
        assert_eq!(message.0, *b"\x12\x07testing");
        // Field 6 with 3, 270 and 86942, packed.
        let mut message = Message::default();
        message.packed(6, [3, 270, 86_942].into_iter());
        assert_eq!(message.0, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
    }

    #[test]
    fn each_string_is_stored_once() {
        let stack = |samples| Stack {
            thread: "weir-parse".to_owned(),
            functions: ["start_of_thread".into(), format!("function {samples}").into()].into(),
            samples,
        };
        let metadata = ProfileMetadata {
            kind: ProfileKind::Processor,
            begun: UNIX_EPOCH + Duration::from_secs(1),
            duration: Duration::from_secs(2),
            period: 10_101_010,
            total: 1_000_000_000,
            lost: 0,
        };
        let profile = Profile::new(vec![stack(1), stack(2)], metadata);
        let bytes = profile.pprof();
        for text in ["weir-parse", "start_of_thread", "function 1", "function 2", "nanoseconds"] {
            let found = bytes.windows(text.len()).filter(|it| *it == text.as_bytes()).count();
            assert_eq!(found, 1, "{text}");
        }
        let labelled = profile.pprof_with("stage", |_| "parse a block");
        for text in ["stage", "parse a block"] {
            let found = labelled.windows(text.len()).filter(|it| *it == text.as_bytes()).count();
            assert_eq!(found, 1, "{text}");
        }
    }
}
