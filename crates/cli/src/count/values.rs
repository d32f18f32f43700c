//! Counts the records of an input by the values of their fields.

use std::borrow::Cow;

use weir_core::{Format, Record};
use weir_ingest::{FormatChoice, Input, Text};

use super::{Counted, Tally};
use crate::lines::{Failed, LineBlocks, each_text};
use crate::records::{Conditions, Place, Placed, Reader, find};

/// What is asked of every record.
pub(super) struct Asked<'a> {
    pub(super) by: &'a [String],
    pub(super) conditions: &'a Conditions,
    pub(super) format: &'a FormatChoice,
}

/// The same, of the records of one format.
struct Known<'a> {
    places: Vec<Place>,
    conditions: Placed<'a>,
}

impl Asked<'_> {
    /// Counts the records of an input. What was counted before an error stands.
    pub(super) fn count(&self, input: &Input) -> Counted<Tally> {
        let mut counted = Counted::<Tally>::default();
        let complaints = each_text(input, |text| {
            let name = text.name().to_owned();
            let mut reader = Reader::new(self.format);
            let result = self.read(text, &mut reader, &mut counted.count);
            if reader.unmatched() > 0 {
                counted.unmatched.push((name, reader.unmatched()));
            }
            result
        });
        // Nothing is written, so that nothing can fail but reading.
        counted.complaints = complaints.unwrap_or_default();
        counted
    }

    fn read(
        &self,
        text: &mut Text<'_>,
        reader: &mut Reader,
        tally: &mut Tally,
    ) -> Result<(), Failed> {
        let mut blocks = LineBlocks::new(text);
        let (mut known, mut version) = (None, 0);
        let mut room = Vec::new();
        while let Some(block) = blocks.next_block().map_err(Failed::Input)? {
            reader.learn(block);
            for line in block.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                if version != reader.version() {
                    // Lists of fields that come later may lack some.
                    known = match reader.format().map(|format| self.known(format)).transpose() {
                        Err(sentence) if version == 0 => return Err(Failed::Sentence(sentence)),
                        known => known.ok().flatten(),
                    };
                    version = reader.version();
                }
                let mut record = Record::new();
                if reader.read(line, &mut room, &mut record)
                    && let Some(known) = &known
                {
                    known.count(&record, tally);
                }
            }
        }
        Ok(())
    }

    fn known(&self, format: &Format) -> Result<Known<'_>, String> {
        let places: Result<Vec<Place>, String> =
            self.by.iter().map(|name| find(name, format)).collect();
        let places = places.map_err(|sentence| format!("--by: {sentence}"))?;
        Ok(Known { places, conditions: self.conditions.on(format)? })
    }
}

impl Known<'_> {
    fn count(&self, record: &Record<'_>, tally: &mut Tally) {
        if self.conditions.pass(record) {
            let value = |index| {
                let place: Option<&Place> = self.places.get(index);
                let value = place.and_then(|place| place.value(record));
                value.unwrap_or(Cow::Borrowed(b""))
            };
            tally.add(&value(0), &value(1));
        }
    }
}
