//! Formats numbers and times.

use weir_core::{Timestamp, format_rfc3339};

/// Returns a number with grouped digits: `1,234,567`.
pub fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a share in percent, with one decimal. Only an empty part is `0%`, and only the whole is
/// `100%`. A share of zero is `–`.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        _ if part == 0 => "0%".to_owned(),
        _ if part == whole => "100%".to_owned(),
        p if p < 0.05 => "<0.1%".to_owned(),
        p if p >= 99.95 => ">99.9%".to_owned(),
        p => format!("{}%", rounded(p, 1)),
    }
}

/// Rounds a number to this many decimals. Ties are rounded up, as by the page's `toFixed`, not to
/// the even digit as by `format!`: 87.25 becomes `87.3`.
pub fn rounded(number: f64, decimals: usize) -> String {
    let scale = 10_f64.powi(decimals as i32);
    let scaled = number * scale;
    let is_exact = number.mul_add(scale, -scaled) == 0.0;
    if is_exact && scaled.fract() == 0.5 {
        return format!("{:.decimals$}", scaled.ceil() / scale);
    }
    format!("{number:.decimals$}")
}

/// Formats a duration in its two largest units: `17 days 3 h`, `5 min 2 s`.
pub fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str, &str); 4] =
        [(86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min"), (1, "s", "s")];
    let mut rest = seconds;
    let mut words: Vec<String> = Vec::new();
    for (unit_s, one, many) in UNITS {
        let count = rest / unit_s;
        rest %= unit_s;
        if count > 0 {
            words.push(format!("{count} {}", if count == 1 { one } else { many }));
        } else if !words.is_empty() {
            break;
        }
    }
    words.truncate(2);
    if words.is_empty() { "0 s".to_owned() } else { words.join(" ") }
}

// serde determines the signature.
#[expect(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Formats an instant as RFC 3339 in UTC.
pub(crate) fn instant_stamp(unix_ns: i64) -> String {
    format_rfc3339(Timestamp { unix_ns, offset_s: 0 })
}
