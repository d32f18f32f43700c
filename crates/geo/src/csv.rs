//! CSV ranges, as ip-location-db publishes them: first address, last address, and what is known.
//!
//! Addresses may be numbers. There is no header by the convention of these files; one that is there
//! names the columns.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field::{Family, GeoField, VALUE_BYTES_MAX, push_asn};
use crate::ranges::{Range, Ranges};

/// The most columns of a line.
const COLUMNS_MAX: usize = 32;

/// The values of one range, by field.
type Values = [Option<Box<[u8]>>; 4];

/// The ranges of a file, in memory.
#[derive(Debug)]
pub(crate) struct CsvRanges {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
    /// The distinct values of the ranges.
    values: Vec<Values>,
    has_field: [bool; 4],
    memory_bytes: usize,
}

/// A line that is not a range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CsvError {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) mistake: String,
}

impl CsvRanges {
    /// # Errors
    /// If a line is not a range with values.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, CsvError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut collected = Collected::default();
        let mut columns: Option<Columns> = None;
        let lines = bytes.split(|byte| *byte == b'\n').zip(1..);
        for (line, number) in lines {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let at_line = |mistake| CsvError { line: number, mistake };
            let cells = cells(line).map_err(at_line)?;
            let Some(known) = &columns else {
                let has_digit = cells[0].iter().any(u8::is_ascii_digit);
                let is_header = !has_digit && address(&cells[0]).is_err();
                let of_line = if is_header { Columns::of_header } else { Columns::of_cells };
                let found = of_line(&cells).map_err(at_line)?;
                if !is_header {
                    collected.add(&found, &cells).map_err(at_line)?;
                }
                columns = Some(found);
                continue;
            };
            collected.add(known, &cells).map_err(at_line)?;
        }
        Ok(collected.finish())
    }

    /// Whether it has values of this field for addresses of the family.
    pub(crate) fn has(&self, field: GeoField, family: Family) -> bool {
        let is_empty = match family {
            Family::V4 => self.v4.is_empty(),
            Family::V6 => self.v6.is_empty(),
        };
        self.has_field[field.index()] && !is_empty
    }

    /// Appends the value of a field for an address. Returns false, and appends nothing, if there is
    /// none.
    pub(crate) fn append(&self, field: GeoField, address: IpAddr, value: &mut Vec<u8>) -> bool {
        let found = match address {
            IpAddr::V4(address) => self.v4.find(address.to_bits()),
            IpAddr::V6(address) => self.v6.find(address.to_bits()),
        };
        let values = found.and_then(|number| self.values.get(number as usize));
        let Some(found) = values.and_then(|values| values[field.index()].as_deref()) else {
            return false;
        };
        value.extend_from_slice(found);
        true
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

/// The ranges that were read so far.
#[derive(Default)]
struct Collected {
    v4: Vec<Range<u32>>,
    v6: Vec<Range<u128>>,
    values: Vec<Values>,
    number_by_values: HashMap<Values, u32>,
}

impl Collected {
    fn add(&mut self, columns: &Columns, cells: &[Cell<'_>]) -> Result<(), String> {
        if cells.len() != columns.count {
            return Err(format!("{} columns, and {} before", cells.len(), columns.count));
        }
        let (first, last) = (address(&cells[0])?, address(&cells[1])?);
        let mut values = Values::default();
        for (field, place) in GeoField::ALL.into_iter().zip(columns.places) {
            let Some(cell) = place.map(|place| cells[place].as_ref()) else { continue };
            values[field.index()] = checked(field, cell)?.map(Vec::into_boxed_slice);
        }
        let number = self.number(values)?;
        match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) if first <= last => {
                self.v4.push((first.to_bits(), last.to_bits(), number));
            }
            (IpAddr::V6(first), IpAddr::V6(last)) if first <= last => {
                self.v6.push((first.to_bits(), last.to_bits(), number));
            }
            (first, last) => return Err(format!("the range {first} to {last} is not one")),
        }
        Ok(())
    }

    /// The number of these values.
    fn number(&mut self, values: Values) -> Result<u32, String> {
        if let Some(number) = self.number_by_values.get(&values) {
            return Ok(*number);
        }
        let number = u32::try_from(self.values.len()).map_err(|_| "too many values".to_owned())?;
        self.values.push(values.clone());
        self.number_by_values.insert(values, number);
        Ok(number)
    }

    fn finish(self) -> CsvRanges {
        let (v4, v6) = (Ranges::new(self.v4), Ranges::new(self.v6));
        let texts = self.values.iter().flatten().flatten();
        let values_bytes = texts.map(|text| text.len()).sum::<usize>()
            + self.values.capacity() * size_of::<Values>();
        let has = |field: GeoField| self.values.iter().any(|it| it[field.index()].is_some());
        CsvRanges {
            has_field: GeoField::ALL.map(has),
            memory_bytes: v4.memory_bytes() + v6.memory_bytes() + values_bytes,
            v4,
            v6,
            values: self.values,
        }
    }
}

/// Where the fields are in a line.
#[derive(Debug, PartialEq, Eq)]
struct Columns {
    /// By field.
    places: [Option<usize>; 4],
    count: usize,
}

impl Columns {
    /// By the names of a header.
    fn of_header(cells: &[Cell<'_>]) -> Result<Self, String> {
        let named = |names: &[&str]| {
            let is_named = |cell: &Cell<'_>| names.iter().any(|it| cell.as_ref() == it.as_bytes());
            cells.iter().skip(2).position(is_named).map(|place| place + 2)
        };
        let places = GeoField::ALL.map(|field| match field {
            GeoField::Country => named(&["country_code", "country"]),
            GeoField::City => named(&["city"]),
            GeoField::Asn => named(&["autonomous_system_number", "as_number", "asn"]),
            GeoField::AsnName => {
                named(&["autonomous_system_organization", "as_organization", "as_name", "asn_name"])
            }
        });
        Self::new(places, cells.len())
    }

    /// By the number of columns and the values of the first line.
    fn of_cells(cells: &[Cell<'_>]) -> Result<Self, String> {
        let is_number = cells.get(2).is_some_and(|cell| push_asn(cell, &mut Vec::new()));
        let places = match cells.len() {
            3 if is_number => [None, None, Some(2), None],
            3 => [Some(2), None, None, None],
            4 if is_number => [None, None, Some(2), Some(3)],
            // Country, two levels of states, city, and further ones.
            10 => [Some(2), Some(5), None, None],
            _ => [None; 4],
        };
        Self::new(places, cells.len())
    }

    fn new(places: [Option<usize>; 4], count: usize) -> Result<Self, String> {
        match places.iter().any(Option::is_some) {
            true => Ok(Self { places, count }),
            false => Err(format!("these {count} columns are none of the known kinds of ranges")),
        }
    }
}

/// A value of a field. None if the cell is empty.
fn checked(field: GeoField, cell: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let shown = || String::from_utf8_lossy(&cell[..cell.len().min(40)]).escape_debug().to_string();
    if cell.len() > VALUE_BYTES_MAX {
        return Err(format!("`{}...` is longer than {VALUE_BYTES_MAX} bytes", shown()));
    }
    let mut value = Vec::new();
    match field {
        _ if cell.is_empty() => return Ok(None),
        GeoField::Asn => {
            if !push_asn(cell, &mut value) {
                let is_none = cell.iter().all(|byte| *byte == b'0');
                return if is_none {
                    Ok(None)
                } else {
                    Err(format!("`{}` is not the number of an autonomous system", shown()))
                };
            }
        }
        GeoField::Country if cell.len() != 2 || !cell.iter().all(u8::is_ascii_alphabetic) => {
            return Err(format!("`{}` is not a country's code of two letters", shown()));
        }
        _ => value.extend_from_slice(cell),
    }
    Ok(Some(value))
}

/// An address, or a number that stands for one. No number of an IPv6 address in use is as small as
/// those of IPv4.
fn address(cell: &Cell<'_>) -> Result<IpAddr, String> {
    let text = std::str::from_utf8(cell).ok();
    let of_number = |text: &str| {
        let number: u128 = text.parse().ok()?;
        Some(match u32::try_from(number) {
            Ok(number) => Ipv4Addr::from_bits(number).into(),
            Err(_) => Ipv6Addr::from_bits(number).into(),
        })
    };
    let address = text.and_then(|text| text.parse().ok().or_else(|| of_number(text)));
    address.ok_or_else(|| {
        let shown = String::from_utf8_lossy(&cell[..cell.len().min(40)]);
        format!("`{}` is not an address", shown.escape_debug())
    })
}

type Cell<'a> = std::borrow::Cow<'a, [u8]>;

/// The cells of a line, without their quotes.
fn cells(line: &[u8]) -> Result<Vec<Cell<'_>>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        if cells.len() == COLUMNS_MAX {
            return Err(format!("more than {COLUMNS_MAX} columns"));
        }
        let (cell, after) = match rest.strip_prefix(b"\"") {
            Some(quoted) => quoted_cell(quoted)?,
            None => {
                let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
                (Cell::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        cells.push(cell);
        match after.split_first() {
            None => return Ok(cells),
            Some((b',', after)) => rest = after,
            Some(_) => return Err("text after a closing quote".to_owned()),
        }
    }
}

/// The cell up to its closing quote, and what is after that. Two quotes are one in the cell.
fn quoted_cell(quoted: &[u8]) -> Result<(Cell<'_>, &[u8]), String> {
    let mut cell = Vec::new();
    let mut rest = quoted;
    loop {
        let end = rest.iter().position(|byte| *byte == b'"').ok_or("a quote is not closed")?;
        let (part, after) = (&rest[..end], &rest[end + 1..]);
        cell.extend_from_slice(part);
        match after.strip_prefix(b"\"") {
            Some(after) => {
                cell.push(b'"');
                rest = after;
            }
            None => return Ok((Cell::Owned(cell), after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CsvError, CsvRanges};
    use crate::field::{Family, GeoField};

    fn read(text: &str) -> CsvRanges {
        CsvRanges::read(text.as_bytes()).expect(text)
    }

    fn value(ranges: &CsvRanges, field: GeoField, address: &str) -> Option<String> {
        let mut value = Vec::new();
        let found = ranges.append(field, address.parse().expect("an address"), &mut value);
        found.then(|| String::from_utf8(value).expect("text"))
    }

    #[test]
    fn countries_of_both_families() {
        let ranges = read("192.0.2.0,192.0.2.9,NL\r\n2001:db8::,2001:db8::ff,DE\r\n");
        assert_eq!(value(&ranges, GeoField::Country, "192.0.2.0").as_deref(), Some("NL"));
        assert_eq!(value(&ranges, GeoField::Country, "192.0.2.9").as_deref(), Some("NL"));
        assert_eq!(value(&ranges, GeoField::Country, "192.0.2.10"), None);
        assert_eq!(value(&ranges, GeoField::Country, "2001:db8::7").as_deref(), Some("DE"));
        assert_eq!(value(&ranges, GeoField::Country, "2001:db7::"), None);
        assert!(ranges.has(GeoField::Country, Family::V4));
        assert!(!ranges.has(GeoField::Asn, Family::V4));
    }

    #[test]
    fn systems_with_quoted_names() {
        let ranges = read(
            "3221225984,3221226239,64500,\"Example \"\"One\"\", Inc.\"\n198.51.100.0,198.51.100.255,AS64501,Two\n\
             42540766411282592856903984951653826560,42540766411282592856903984951653826561,0,\n",
        );
        let system = |address| value(&ranges, GeoField::Asn, address);
        let name = |address| value(&ranges, GeoField::AsnName, address);
        assert_eq!(system("192.0.2.1").as_deref(), Some("AS64500"));
        assert_eq!(name("192.0.2.1").as_deref(), Some("Example \"One\", Inc."));
        assert_eq!(system("198.51.100.1").as_deref(), Some("AS64501"));
        assert_eq!((system("2001:db8::1"), name("2001:db8::1")), (None, None));
    }

    #[test]
    fn cities_and_headers() {
        let ranges =
            read("192.0.2.0,192.0.2.9,NL,North Holland,,Amsterdam,,52.3,4.9,Europe/Amsterdam\n");
        assert_eq!(value(&ranges, GeoField::City, "192.0.2.1").as_deref(), Some("Amsterdam"));
        assert_eq!(value(&ranges, GeoField::Country, "192.0.2.1").as_deref(), Some("NL"));
        let ranges = read("start_ip,end_ip,city,country\n192.0.2.0,192.0.2.9,Oslo,NO\n");
        assert_eq!(value(&ranges, GeoField::City, "192.0.2.1").as_deref(), Some("Oslo"));
        assert_eq!(value(&ranges, GeoField::Country, "192.0.2.1").as_deref(), Some("NO"));
    }

    #[test]
    fn other_lines_are_refused_with_their_number() {
        for (text, line, mistake) in [
            (
                "192.0.2.0,192.0.2.9,NL\nexample.org,192.0.2.9,NL\n",
                2,
                "`example.org` is not an address",
            ),
            ("192.0.2.9,192.0.2.0,NL\n", 1, "the range 192.0.2.9 to 192.0.2.0 is not one"),
            ("192.0.2.9,2001:db8::,NL\n", 1, "the range 192.0.2.9 to 2001:db8:: is not one"),
            ("192.0.2.0,192.0.2.9,NL\n192.0.2.10,192.0.2.11\n", 2, "2 columns, and 3 before"),
            (
                "192.0.2.0,192.0.2.9,Holland\n",
                1,
                "`Holland` is not a country's code of two letters",
            ),
            ("192.0.2.0,192.0.2.9\n", 1, "these 2 columns are none of the known kinds of ranges"),
            ("192.0.2.0,192.0.2.9,1,\"a\n", 1, "a quote is not closed"),
            ("192.0.2.0,192.0.2.9,1,\"a\"b\n", 1, "text after a closing quote"),
            (
                "192.0.2.0,192.0.2.9,1,a\n192.0.3.0,192.0.3.9,x\u{1b},a",
                2,
                "`x\\u{1b}` is not the number of an autonomous system",
            ),
        ] {
            let expected = CsvError { line, mistake: mistake.to_owned() };
            assert_eq!(CsvRanges::read(text.as_bytes()).err(), Some(expected), "{text}");
        }
        let columns = format!("192.0.2.0{}", ",".repeat(40));
        assert!(CsvRanges::read(columns.as_bytes()).is_err());
    }
}
