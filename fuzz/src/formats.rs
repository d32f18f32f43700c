//! Log lines, and the definitions of their formats.

use std::sync::Arc;

use weir_core::{Format, LineParser, Record, detect, known_formats};

/// Parses each line with a parser that has read those before it, and with a new one: earlier
/// lines must not change a result.
fn parse_lines(format: &Arc<Format>, lines: &[u8]) {
    let mut parser = LineParser::new(format.clone());
    let mut memory = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let mut record = Record::new();
        let warm = parser.parse(line, &mut record).is_ok();
        let warm_record = warm.then(|| format!("{record:?}"));
        let mut new_record = Record::new();
        let cold = LineParser::new(format.clone()).parse(line, &mut new_record).is_ok();
        assert_eq!(warm_record, cold.then(|| format!("{new_record:?}")), "{}", format.name());
        let mut decoded = Record::new();
        let is_ok = parser.parse_decoding(line, &mut memory, &mut decoded).is_ok();
        // A decoded value differs from its escaped text, and perhaps only one of them is valid.
        assert!(is_ok == warm || line.contains(&b'\\'), "{}", format.name());
    }
}

/// Lines of JSON, in each format that is JSON.
pub(crate) fn json(bytes: &[u8]) {
    for format in known_formats().iter().filter(|format| format.name().contains("JSON")) {
        parse_lines(&Arc::new(format.clone()), bytes);
    }
    if let Ok(format) = Format::parse("json:client=ip,time=ts,status=code,path=request.uri") {
        parse_lines(&Arc::new(format), bytes);
    }
}

/// A definition of a format in its first line, and lines in that format.
pub(crate) fn definitions(bytes: &[u8]) {
    let (definition, lines) = bytes.split_at(bytes.iter().take_while(|b| **b != b'\n').count());
    let Ok(definition) = std::str::from_utf8(definition) else { return };
    match Format::parse(definition) {
        Ok(format) => parse_lines(&Arc::new(format), lines.strip_prefix(b"\n").unwrap_or(lines)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Lines in a known format, by its number in the first byte, and the detection of their format.
pub(crate) fn catalog(bytes: &[u8]) {
    let Some((number, lines)) = bytes.split_first() else { return };
    let formats = known_formats();
    let format = &formats[usize::from(*number) % formats.len()];
    parse_lines(&Arc::new(format.clone()), lines);
    detect(lines);
}
