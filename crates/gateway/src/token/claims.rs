//! The claims that every token needs (RFC 7519 section 4.1), and its period of validity.

use serde_json::{Map, Value};

use super::json::{JsonFault, parse_object};
use super::refusal::TokenRefusal;

/// The last second of the year 9999, in seconds since 1970. Larger times are mistakes, such as
/// milliseconds.
const UNIX_S_MAX: f64 = 253_402_300_799.0;

/// The requirements on the claims of a token.
#[derive(Debug)]
pub(super) struct ClaimRules {
    pub(super) issuer: String,
    /// Empty only for tokens that their issuer is asked about.
    pub(super) audiences: Vec<String>,
    /// How long a token without `exp` counts; `None` refuses it.
    pub(super) default_lifetime_s: Option<i64>,
    /// The tolerated difference between the issuer's clock and ours.
    pub(super) leeway_s: i64,
}

/// The claims of a token with a valid signature.
#[derive(Debug, PartialEq)]
pub(super) struct Claims {
    pub(super) members: Map<String, Value>,
    pub(super) expires_at_unix_s: i64,
}

impl ClaimRules {
    /// Parses claims, and checks them at a time in seconds since 1970.
    ///
    /// Times may have a fraction (RFC 7519 section 2); rounding shortens the life of a token.
    /// Strings, negative numbers, and times after the year 9999 are refused.
    ///
    /// # Errors
    /// The first rule that the claims violate.
    pub(super) fn check(&self, text: &[u8], now_unix_s: i64) -> Result<Claims, TokenRefusal> {
        let members = parse_object(text).map_err(|fault| match fault {
            JsonFault::DuplicateName => TokenRefusal::DuplicateName,
            JsonFault::Malformed | JsonFault::NotObject => TokenRefusal::InvalidClaims,
        })?;
        self.check_members(members, now_unix_s)
    }

    /// Checks parsed claims.
    ///
    /// # Errors
    /// The first rule that the claims violate.
    pub(super) fn check_members(
        &self,
        members: Map<String, Value>,
        now_unix_s: i64,
    ) -> Result<Claims, TokenRefusal> {
        self.check_issuer(members.get("iss"))?;
        self.check_audience(members.get("aud"))?;
        if !matches!(members.get("sub"), None | Some(Value::String(_))) {
            return Err(TokenRefusal::InvalidName);
        }
        let default =
            self.default_lifetime_s.map(|lifetime_s| now_unix_s.saturating_add(lifetime_s));
        let expiry = time(&members, "exp", f64::floor)?.or(default);
        let expiry = expiry.ok_or(TokenRefusal::MissingExpiry)?;
        let start = time(&members, "nbf", f64::ceil)?;
        let issued = time(&members, "iat", f64::ceil)?;
        if now_unix_s >= expiry.saturating_add(self.leeway_s) {
            return Err(TokenRefusal::Expired);
        }
        let latest = now_unix_s.saturating_add(self.leeway_s);
        if start.is_some_and(|start| start > latest) {
            return Err(TokenRefusal::NotYetValid);
        }
        if issued.is_some_and(|issued| issued > latest) {
            return Err(TokenRefusal::IssuedInFuture);
        }
        Ok(Claims { members, expires_at_unix_s: expiry })
    }

    fn check_issuer(&self, issuer: Option<&Value>) -> Result<(), TokenRefusal> {
        match issuer {
            None => Err(TokenRefusal::MissingIssuer),
            Some(Value::String(issuer)) if *issuer == self.issuer => Ok(()),
            Some(Value::String(_)) => Err(TokenRefusal::WrongIssuer),
            Some(_) => Err(TokenRefusal::InvalidName),
        }
    }

    fn check_audience(&self, audience: Option<&Value>) -> Result<(), TokenRefusal> {
        if self.audiences.is_empty() {
            return Ok(());
        }
        let is_meant = match audience {
            None => return Err(TokenRefusal::MissingAudience),
            Some(Value::String(audience)) => self.audiences.contains(audience),
            Some(Value::Array(items)) => {
                let mut is_meant = false;
                for item in items {
                    let Value::String(audience) = item else {
                        return Err(TokenRefusal::InvalidName);
                    };
                    is_meant |= self.audiences.contains(audience);
                }
                is_meant
            }
            Some(_) => return Err(TokenRefusal::InvalidName),
        };
        if is_meant { Ok(()) } else { Err(TokenRefusal::WrongAudience) }
    }
}

/// Returns a claim that is a time, in seconds since 1970, if it is present.
fn time(
    members: &Map<String, Value>,
    name: &str,
    round: fn(f64) -> f64,
) -> Result<Option<i64>, TokenRefusal> {
    let Some(value) = members.get(name) else { return Ok(None) };
    let seconds = value.as_f64().ok_or(TokenRefusal::InvalidTime)?;
    if !(0.0..=UNIX_S_MAX).contains(&seconds) {
        return Err(TokenRefusal::InvalidTime);
    }
    // Whole numbers up to [`UNIX_S_MAX`] are exact in both types.
    Ok(Some(round(seconds) as i64))
}

#[cfg(test)]
mod tests {
    use super::{ClaimRules, TokenRefusal};

    const NOW: i64 = 1_000_000;

    fn check(exp: &str, rest: &str) -> Result<i64, TokenRefusal> {
        let audiences = vec!["api".to_owned(), "web".to_owned()];
        let rules = ClaimRules {
            issuer: "me".to_owned(),
            audiences,
            default_lifetime_s: None,
            leeway_s: 60,
        };
        let text = format!(r#"{{"iss":"me","aud":"api","exp":{exp}{rest}}}"#);
        rules.check(text.as_bytes(), NOW).map(|claims| claims.expires_at_unix_s)
    }

    #[test]
    fn times_are_decided_to_the_second() {
        for (exp, expected) in [
            ("1000001", Ok(1_000_001)),
            ("999941", Ok(999_941)),
            ("999940", Err(TokenRefusal::Expired)),
            ("999940.99", Err(TokenRefusal::Expired)),
            ("999941.99", Ok(999_941)),
            ("1e6", Ok(NOW)),
            ("253402300799", Ok(253_402_300_799)),
            ("253402300800", Err(TokenRefusal::InvalidTime)),
            ("1700000000000", Err(TokenRefusal::InvalidTime)),
            ("9223372036854775808", Err(TokenRefusal::InvalidTime)),
            ("1e308", Err(TokenRefusal::InvalidTime)),
            ("-1", Err(TokenRefusal::InvalidTime)),
            ("-0.5", Err(TokenRefusal::InvalidTime)),
            ("0", Err(TokenRefusal::Expired)),
            ("\"1000001\"", Err(TokenRefusal::InvalidTime)),
            ("null", Err(TokenRefusal::InvalidTime)),
            ("true", Err(TokenRefusal::InvalidTime)),
            ("[1000001]", Err(TokenRefusal::InvalidTime)),
            ("NaN", Err(TokenRefusal::InvalidClaims)),
            ("1e999", Err(TokenRefusal::InvalidClaims)),
        ] {
            assert_eq!(check(exp, ""), expected, "{exp}");
        }
        for (rest, expected) in [
            (r#","nbf":1000060"#, Ok(())),
            (r#","nbf":1000060.5"#, Err(TokenRefusal::NotYetValid)),
            (r#","nbf":1000061"#, Err(TokenRefusal::NotYetValid)),
            (r#","nbf":"0""#, Err(TokenRefusal::InvalidTime)),
            (r#","iat":1000060"#, Ok(())),
            (r#","iat":1000061"#, Err(TokenRefusal::IssuedInFuture)),
            (r#","iat":-1"#, Err(TokenRefusal::InvalidTime)),
            (r#","nbf":-0.0,"iat":0"#, Ok(())),
        ] {
            assert_eq!(check("2000000", rest).map(|_| ()), expected, "{rest}");
        }
    }
}
