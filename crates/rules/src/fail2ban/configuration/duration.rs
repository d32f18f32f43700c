//! Durations, such as `1h 30m` or `60*10`.
//!
//! Source: `MyTime.str2seconds` of fail2ban, which replaces units by factors and evaluates the
//! rest as an expression.

/// Units by their names, in seconds. A month is a twelfth of 365.25 days.
const UNITS: [(&[&str], f64); 7] = [
    (&["s", "ss", "se", "sec", "second", "seconds"], 1.0),
    (&["m", "mm", "mi", "min", "minute", "minutes"], 60.0),
    (&["h", "hh", "ho", "hou", "hour", "hours"], 3_600.0),
    (&["d", "dd", "da", "day", "days"], 86_400.0),
    (&["w", "ww", "we", "wee", "week", "weeks"], 604_800.0),
    (&["mo", "mon", "month", "months"], 2_629_800.0),
    (&["y", "yy", "ye", "yea", "year", "years"], 31_557_600.0),
];

/// The deepest nesting of parentheses and signs.
const DEPTH_MAX: usize = 20;

/// Parses a duration to seconds; `None` if it is not valid.
pub(in crate::fail2ban) fn seconds(text: &str) -> Option<f64> {
    let mut reader = Reader { rest: text.trim(), depth: 0 };
    let sum = reader.sum()?;
    (reader.rest.is_empty() && sum.is_finite()).then_some(sum)
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl Reader<'_> {
    fn eat(&mut self, sign: char) -> bool {
        let after = self.rest.trim_start().strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn sum(&mut self) -> Option<f64> {
        let mut sum = self.product()?;
        loop {
            let is_less = self.eat('-');
            if !is_less && !self.eat('+') && !self.begins_number() {
                return Some(sum);
            }
            let next = self.product()?;
            sum += if is_less { -next } else { next };
        }
    }

    fn begins_number(&self) -> bool {
        self.rest.trim_start().starts_with(|char: char| char.is_ascii_digit())
    }

    fn product(&mut self) -> Option<f64> {
        let mut product = self.factor()?;
        loop {
            if self.eat('*') {
                product *= self.factor()?;
            } else if self.eat('/') {
                product /= self.factor()?;
            } else {
                return Some(product);
            }
        }
    }

    fn factor(&mut self) -> Option<f64> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let factor = if self.eat('-') {
            -self.factor()?
        } else if self.eat('(') {
            let sum = self.sum()?;
            self.eat(')').then_some(sum)?
        } else {
            self.number()?
        };
        self.depth -= 1;
        Some(factor)
    }

    fn number(&mut self) -> Option<f64> {
        let rest = self.rest.trim_start();
        let end = |text: &str, is_part: fn(char) -> bool| {
            text.find(|char| !is_part(char)).unwrap_or(text.len())
        };
        let (number, rest) = rest.split_at(end(rest, |char| char.is_ascii_digit() || char == '.'));
        let number: f64 = number.parse().ok()?;
        self.rest = rest;
        let unit = rest.trim_start();
        let (name, after) = unit.split_at(end(unit, |char| char.is_ascii_alphabetic()));
        if name.is_empty() {
            return Some(number);
        }
        let name = name.to_ascii_lowercase();
        let (_, factor) = UNITS.iter().find(|(names, _)| names.contains(&&*name))?;
        self.rest = after;
        Some(number * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_are_those_of_fail2ban() {
        for (text, expected) in [
            ("600", 600.0),
            ("10m", 600.0),
            ("1h 30m", 5_400.0),
            ("1hour+30min", 5_400.0),
            ("1d12h", 129_600.0),
            ("1year-6mo", 15_778_800.0),
            ("6 months", 15_778_800.0),
            ("60*(5+5)", 600.0),
            ("-1", -1.0),
            ("1.5h", 5_400.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "ten", "10x", "1/0", "5 *", "((1)", &"(".repeat(1_000)] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
