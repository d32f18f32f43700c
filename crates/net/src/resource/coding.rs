//! Content codings and their negotiation (RFC 9110 section 12.5.3).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

use crate::preference::Preference;

/// A compression of content (RFC 9110 section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentCoding {
    /// Brotli (RFC 7932), `NAME.br`.
    Brotli,
    /// Zstandard (RFC 8878), `NAME.zst`.
    Zstd,
    /// gzip (RFC 1952), `NAME.gz`.
    Gzip,
}

impl ContentCoding {
    /// All codings. Of those with equal weight, the first one is sent.
    pub(super) const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Returns the registered name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the path of the copy of a file in this coding.
    pub(super) fn compressed_path(self, path: &Path) -> PathBuf {
        let mut name = OsString::from(path);
        name.push(match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        });
        name.into()
    }

    /// Whether this is the name of the coding, or its old name.
    fn has_name(self, name: &str) -> bool {
        let is_old = self == Self::Gzip && name.eq_ignore_ascii_case("x-gzip");
        is_old || name.eq_ignore_ascii_case(self.name())
    }
}

/// Chooses the existing coding that the client prefers. Returns `Some(None)` if the content is to
/// be sent without a coding, and `None` if the client accepts no representation.
pub(super) fn choose(
    headers: &HeaderMap,
    existing: &[ContentCoding],
) -> Option<Option<ContentCoding>> {
    let accepted = AcceptedCodings::read(headers);
    let in_order = ContentCoding::ALL.into_iter().filter(|coding| existing.contains(coding));
    let mut best = None;
    for coding in in_order {
        let weight = accepted.weight(|name| coding.has_name(name)).unwrap_or(0);
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, coding));
        }
    }
    // If `identity` has no weight, it is acceptable, but less than any coding with a weight.
    let plain = accepted.weight(|name| name.eq_ignore_ascii_case("identity"));
    match best {
        Some((weight, coding)) if plain.is_none_or(|plain| weight >= plain) => Some(Some(coding)),
        _ if plain == Some(0) => None,
        _ => Some(None),
    }
}

/// The codings of `Accept-Encoding`, each with its weight in thousandths.
struct AcceptedCodings<'h>(Vec<(&'h str, u16)>);

impl<'h> AcceptedCodings<'h> {
    fn read(headers: &'h HeaderMap) -> Self {
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        // An invalid weight counts as 0: a coding that the client perhaps refuses is not used,
        // because the content can be sent without one.
        let items = lines.flat_map(Preference::list).map(|item| (item.name, item.weight(0)));
        Self(items.collect())
    }

    /// Returns the weight of a coding; `None` if neither its name nor `*` is listed.
    fn weight(&self, is_name: impl Fn(&str) -> bool) -> Option<u16> {
        let named = self.0.iter().find(|(name, _)| is_name(name));
        named.or_else(|| self.0.iter().find(|(name, _)| *name == "*")).map(|(_, weight)| *weight)
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT_ENCODING, HeaderValue};

    use super::{ContentCoding, choose};
    use ContentCoding::{Brotli, Gzip, Zstd};

    #[test]
    fn the_client_chooses() {
        let all = [Gzip, Zstd, Brotli];
        for (accepted, existing, coding) in [
            ("", &all[..], Some(None)),
            ("gzip, deflate, br, zstd", &all, Some(Some(Brotli))),
            ("gzip, deflate, br, zstd", &[Gzip], Some(Some(Gzip))),
            ("gzip, br;q=0.9", &all, Some(Some(Gzip))),
            ("X-GZIP", &all, Some(Some(Gzip))),
            ("*", &all, Some(Some(Brotli))),
            ("*;q=0.5, identity", &all, Some(None)),
            ("br;q=0, *", &all, Some(Some(Zstd))),
            ("gzip;q=0", &[Gzip], Some(None)),
            ("deflate", &all, Some(None)),
            ("identity;q=0.5, gzip;q=0.5", &all, Some(Some(Gzip))),
            ("identity;q=0", &[], None),
            ("identity;q=0, br", &[Gzip], None),
            ("*;q=0", &all, None),
            ("gzip;q=2", &all, Some(None)),
            ("gzip;level=9", &all, Some(Some(Gzip))),
            (" , ,gzip", &all, Some(Some(Gzip))),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accepted).unwrap());
            assert_eq!(choose(&headers, existing), coding, "{accepted}");
        }
        assert_eq!(choose(&HeaderMap::new(), &all), Some(None), "many old clients say nothing");
    }
}
