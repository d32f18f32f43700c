//! Sizes in bytes, with or without a unit.

/// Parses a size such as `4096`, `512MiB`, `1.5GB` or `2G`. K, M, G and T are powers of 1024,
/// alone and with `iB`; with `B` they are powers of 1000. Case is ignored.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let bytes = number.parse::<f64>().ok()? * unit_bytes(unit.trim())?;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn unit_bytes(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    if matches!(unit.as_str(), "" | "b") {
        return Some(1.0);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = "kmgt".find(letter)? as i32 + 1;
    match rest {
        "" | "ib" => Some(1024f64.powi(power)),
        "b" => Some(1000f64.powi(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn parses_sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("12b", 12),
            ("512MiB", 512 << 20),
            ("2G", 2 << 30),
            ("1.5 kb", 1500),
            ("1tib", 1 << 40),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "G", "-1", "1.2.3", "5XB", "1 Gbit", "99999999999T", "1é"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }
}
