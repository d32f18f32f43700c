//! Weights of content negotiation (RFC 9110 section 12.4.2).

/// The number of digits after the point.
const DECIMALS_MAX: usize = 3;

/// Parses the value of a parameter `q`, such as `0.5`. Returns it in thousandths, from 0 to 1000,
/// or `None` if it is not a number from 0 to 1 with at most three decimals.
///
/// RFC 9110 does not define the meaning of an invalid weight, so each caller chooses one.
///
/// ```
/// use weir_net::parse_weight;
///
/// assert_eq!(parse_weight("0.25"), Some(250));
/// assert_eq!(parse_weight("2"), None);
/// ```
pub fn parse_weight(value: &str) -> Option<u16> {
    let (whole, decimals) = value.split_once('.').unwrap_or((value, ""));
    if decimals.len() > DECIMALS_MAX || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(DECIMALS_MAX);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1_000),
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
