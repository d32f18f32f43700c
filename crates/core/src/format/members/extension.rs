//! The fields of a JSON log beside those of its known format.

use super::MEMBERS_MAX;
use super::client_texts::ClientTexts;
use super::names::{field_name, make_unique};
use super::sample::{Member, MemberSample};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::notation::{json_without_field, json_without_key};
use crate::format::program::Program;
use crate::format::program::json::JsonProgram;

/// The format with a field for each further member of the objects in these lines; `None` if the format
/// is not one of JSON objects.
pub(in crate::format) fn with_members<'a>(
    format: &Format,
    lines: impl Iterator<Item = &'a [u8]>,
) -> Option<Format> {
    let Program::Json(program) = format.program() else { return None };
    // The detection of the lines in a member has done it.
    if !format.envelopes().is_empty() {
        return None;
    }
    let (mut sample, mut places) = (MemberSample::default(), ClientTexts::new(program));
    for line in lines {
        let inside = format.wrapper().and_then(|wrapper| wrapper.inside(line));
        let line = inside.as_deref().unwrap_or(line);
        let mut order = Vec::new();
        sample.add(program.syntax, line, |index, _| order.push(index));
        places.add(&order, &sample);
    }
    let mut format = format.clone();
    format.rank_keys(&places.key_ranks());
    let Program::Json(program) = format.program() else { return None };
    let is_field = |member: &&Member| is_further(member, program, &sample);
    let paths: Vec<&str> = sample
        .scalars()
        .filter(is_field)
        .map(|member| member.path.as_str())
        .take(MEMBERS_MAX)
        .collect();
    let mut names: Vec<String> = paths.iter().map(|path| field_name(path)).collect();
    make_unique(&mut names, format.extra_fields());
    let is_unitless = |path: &&&str| {
        program.entry_of(path).is_some_and(|index| program.entries()[index].reading.needs_unit())
    };
    let unitless: Vec<String> =
        paths.iter().filter(is_unitless).map(|path| (*path).to_owned()).collect();
    let mut definition = format.definition().to_owned();
    for (name, path) in names.iter().zip(&paths) {
        if unitless.iter().any(|unitless| unitless == path) {
            definition = json_without_key(&definition, path);
        }
        definition.push_str(&format!(",{name}={path}"));
    }
    let paths = paths.into_iter().map(str::to_owned);
    let members: Vec<_> = names.into_iter().zip(paths).collect();
    // A sum of sizes would be 0.
    let mut entries = program.entries().iter().filter(|entry| entry.reading.fills(Field::Bytes));
    let has_sizes = entries.any(|entry| sample.has_values(&entry.path));
    if !has_sizes {
        format.forget_field(Field::Bytes);
        definition = json_without_field(&definition, Field::Bytes);
    }
    format.set_unitless_members(unitless);
    format.add_members(&members, definition);
    Some(format)
}

/// Whether a member has to be a field of its own: the format does not know it, never comes to read it, or
/// cannot tell what it means.
fn is_further(member: &Member, program: &JsonProgram, sample: &MemberSample) -> bool {
    let Some(index) = program.entry_of(&member.path) else { return true };
    let entry = &program.entries()[index];
    let has_all = |other: &Member| member.in_lines.iter().all(|line| other.has_line(*line));
    // A line with another spelling of the key may be one that a client has written, so one is not enough.
    let is_other = |other: &&Member| other.path != member.path && !member.in_lines.is_empty();
    if sample.get(&entry.path).filter(is_other).is_some_and(has_all) {
        return true;
    }
    if entry.reading.needs_unit() {
        return member.evidence.has_bare_numbers();
    }
    let alternatives = program.entries()[..index].iter().rev();
    let mut alternatives = alternatives.take_while(|other| other.group == entry.group);
    alternatives.any(|other| {
        let other = sample.get(&other.path).filter(|_| !member.in_lines.is_empty());
        other.is_some_and(has_all)
    })
}

impl Member {
    /// Whether the object of this number has a value for the member.
    fn has_line(&self, line: u64) -> bool {
        self.in_lines.binary_search(&line).is_ok()
    }
}
