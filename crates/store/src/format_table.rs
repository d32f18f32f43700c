//! Formats as bytes. Each is stored once, and others refer to it by its number.

use std::sync::Arc;

use weir_core::{Field, Format, FormatDescription, FormatTraits, YearOrigin, YearReference};

use crate::code::{Decoder, Encoder};
use crate::segment::{decode_kind, encode_kind};

const ORIGINS: [YearOrigin; 6] = [
    YearOrigin::Stated,
    YearOrigin::Name,
    YearOrigin::NextLog,
    YearOrigin::LeapDay,
    YearOrigin::Written,
    YearOrigin::Clock,
];

/// The formats that were written so far.
#[derive(Debug, Default)]
pub(crate) struct FormatTable {
    /// The same formats are asked for again and again.
    known: Vec<Arc<Format>>,
    numbers: Vec<u32>,
    descriptions: Vec<FormatDescription>,
    written: usize,
}

/// The most formats that are remembered without comparing their descriptions.
const KNOWN_MAX: usize = 256;

impl FormatTable {
    /// The number of a format.
    pub(crate) fn number(&mut self, format: &Arc<Format>) -> u32 {
        if let Some(at) = self.known.iter().position(|known| Arc::ptr_eq(known, format)) {
            return self.numbers[at];
        }
        let description = format.description();
        let known = self.descriptions.iter().position(|known| *known == description);
        let number = known.unwrap_or_else(|| {
            self.descriptions.push(description);
            self.descriptions.len() - 1
        });
        if self.known.len() == KNOWN_MAX {
            self.known.clear();
            self.numbers.clear();
        }
        self.known.push(format.clone());
        self.numbers.push(number as u32);
        number as u32
    }

    /// Counts these formats, which were read, as written.
    pub(crate) fn continue_after(&mut self, formats: &[Arc<Format>]) {
        self.descriptions = formats.iter().map(|format| format.description()).collect();
        self.written = self.descriptions.len();
    }

    /// Writes the formats that were not written yet, if there are any.
    pub(crate) fn encode_new(&mut self) -> Option<Encoder> {
        let fresh = &self.descriptions[self.written..];
        let mut encoder = Encoder::default();
        encoder.list(fresh.iter(), encode);
        let has_some = !fresh.is_empty();
        self.written = self.descriptions.len();
        has_some.then_some(encoder)
    }
}

fn encode(encoder: &mut Encoder, format: &FormatDescription) {
    let text = |encoder: &mut Encoder, text: &String| encoder.text(text.as_bytes());
    text(encoder, &format.name);
    text(encoder, &format.definition);
    encoder.u8(encode_kind(format.kind));
    encoder.list(format.fields.iter(), |encoder, field| encoder.text(field.name().as_bytes()));
    encoder.list(format.extra_fields.iter(), text);
    encoder.option(format.year, |encoder, year| {
        encoder.i64(year.unix_s);
        let origin = ORIGINS.iter().position(|origin| *origin == year.origin);
        encoder.u8(origin.unwrap_or_default() as u8);
    });
    encoder.option(format.suggestion.as_ref(), text);
    encoder.list(format.unitless_members.iter(), text);
    encoder.option(format.client_field.as_ref(), text);
    for is_set in flags(&format.traits) {
        encoder.bool(is_set);
    }
}

fn flags(traits: &FormatTraits) -> [bool; 7] {
    [
        traits.has_local_times,
        traits.lacks_year,
        traits.has_arrival_times,
        traits.has_plain_texts,
        traits.has_literal_dashes,
        traits.has_request_target,
        traits.has_fixed_fields,
    ]
}

/// Reads formats that [`FormatTable::encode_new`] has written.
pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Option<Vec<Arc<Format>>> {
    decoder.list(|decoder| Some(Arc::new(Format::of_description(description(decoder)?))))
}

fn description(decoder: &mut Decoder<'_>) -> Option<FormatDescription> {
    let field = |decoder: &mut Decoder<'_>| {
        let name = decoder.string()?;
        Field::by_name(&name).filter(|field| field.name() == name)
    };
    let year = |decoder: &mut Decoder<'_>| {
        let unix_s = decoder.i64()?;
        let origin = *ORIGINS.get(usize::from(decoder.u8()?))?;
        Some(YearReference { unix_s, origin })
    };
    Some(FormatDescription {
        name: decoder.string()?,
        definition: decoder.string()?,
        kind: decode_kind(decoder.u8()?)?,
        fields: decoder.list(field)?,
        extra_fields: decoder.list(Decoder::string)?,
        year: decoder.option(year)?,
        suggestion: decoder.option(Decoder::string)?,
        unitless_members: decoder.list(Decoder::string)?,
        client_field: decoder.option(Decoder::string)?,
        traits: FormatTraits {
            has_local_times: decoder.bool()?,
            lacks_year: decoder.bool()?,
            has_arrival_times: decoder.bool()?,
            has_plain_texts: decoder.bool()?,
            has_literal_dashes: decoder.bool()?,
            has_request_target: decoder.bool()?,
            has_fixed_fields: decoder.bool()?,
        },
    })
}
