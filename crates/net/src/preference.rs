//! What a client prefers: the items of fields such as `Accept`, with their weights (RFC 9110 section
//! 12.4.2).

/// The number of digits after the point.
const DECIMALS_MAX: usize = 3;

/// The weight of an item without one, in thousandths.
const WEIGHT_MAX: u16 = 1_000;

/// An item of a field such as `Accept` or `Accept-Encoding`, with its parameters.
///
/// ```
/// use weir_net::Preference;
///
/// let items = Preference::list("text/html;level=1, */*;q=0.25");
/// let weights: Vec<_> = items.map(|item| (item.name, item.weight(0))).collect();
/// assert_eq!(weights, [("text/html", 1000), ("*/*", 250)]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Preference<'t> {
    /// The name of the item, such as a media type.
    pub name: &'t str,
    parameters: &'t str,
}

impl<'t> Preference<'t> {
    /// The items of a line of the field.
    pub fn list(line: &'t str) -> impl Iterator<Item = Self> {
        let items = line.split(',').map(|item| {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            Self { name: name.trim(), parameters }
        });
        items.filter(|item| !item.name.is_empty())
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&'t str> {
        let pairs = self.parameters.split(';').filter_map(|pair| pair.split_once('='));
        let mut pairs = pairs.map(|(key, value)| (key.trim(), value.trim()));
        pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The weight in thousandths, from 0 to 1000; 1000 without one. RFC 9110 does not define the
    /// meaning of an invalid weight, so each caller chooses one.
    pub fn weight(&self, if_invalid: u16) -> u16 {
        let weight = self.parameter("q");
        weight.map_or(WEIGHT_MAX, |value| parse_weight(value).unwrap_or(if_invalid))
    }
}

/// Parses a weight, such as `0.5`. Returns `None` if it is not a number from 0 to 1 with at most
/// three decimals.
fn parse_weight(value: &str) -> Option<u16> {
    let (whole, decimals) = value.split_once('.').unwrap_or((value, ""));
    if decimals.len() > DECIMALS_MAX || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(DECIMALS_MAX);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(WEIGHT_MAX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_weight;

    #[test]
    fn weights_have_at_most_three_decimals() {
        for (value, expected) in [
            ("0", Some(0)),
            ("0.", Some(0)),
            ("0.0", Some(0)),
            ("0.001", Some(1)),
            ("0.29", Some(290)),
            ("0.5", Some(500)),
            ("0.999", Some(999)),
            ("1", Some(1_000)),
            ("1.", Some(1_000)),
            ("1.000", Some(1_000)),
            ("1.001", None),
            ("0.5000", None),
            ("00.5", None),
            ("01", None),
            ("2", None),
            ("-0", None),
            ("+1", None),
            ("0.+1", None),
            (".5", None),
            ("0,5", None),
            ("1e-1", None),
            ("NaN", None),
            ("0.5 ", None),
            ("0.٣", None),
            ("high", None),
            ("", None),
        ] {
            assert_eq!(parse_weight(value), expected, "{value}");
        }
    }
}
