//! The site of the page that a link was on.

use crate::list;

/// The kinds of known sites.
const EMBEDDED: &[u8] = include_bytes!("../../lists/referers.txt");

/// The longest host (RFC 1035 section 2.3.4), in bytes.
const HOST_BYTES_MAX: usize = 255;

/// The second levels below which countries register names of companies. Anybody can register another
/// name there.
const SECOND_LEVELS: [&[u8]; 6] = [b"com", b"co", b"net", b"org", b"ne", b"or"];

/// What kind of site a link was on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefererKind {
    /// The site that was asked.
    Own,
    /// A search engine.
    Search,
    /// A social network, a forum or a messenger.
    Social,
    /// The pages of a mail service.
    Mail,
    /// An assistant that answers with links.
    AiAssistant,
    /// Any other site.
    Other,
}

const TEXTS: [(RefererKind, &str); 6] = [
    (RefererKind::Own, "own"),
    (RefererKind::Search, "search"),
    (RefererKind::Social, "social"),
    (RefererKind::Mail, "mail"),
    (RefererKind::AiAssistant, "ai_assistant"),
    (RefererKind::Other, "other"),
];

impl RefererKind {
    /// The kind as a value of the field.
    pub fn text(self) -> &'static str {
        TEXTS.iter().find(|known| known.0 == self).map_or("other", |known| known.1)
    }
}

/// The known sites, and the names of one's own.
#[derive(Debug)]
pub struct Referers {
    sites: Vec<Site>,
    own_hosts: Vec<Vec<u8>>,
}

/// A site of the list.
#[derive(Debug)]
struct Site {
    /// A name, for which those below it stand too. With `is_brand`, the label before one or two
    /// others, such as `google` in `google.co.uk`.
    name: &'static str,
    is_brand: bool,
    kind: RefererKind,
}

impl Referers {
    /// The known sites. `own_hosts` are names of one's own site beside that of each request; names
    /// below them are one's own too.
    ///
    /// # Errors
    /// With a name that is not the name of a host.
    pub fn new(own_hosts: &[String]) -> Result<Self, String> {
        // A test reads the list.
        let (_, entries) = list::read(EMBEDDED, &[("site", 2)]).unwrap_or_default();
        let site = |entry: &list::Entry<'static>| {
            let kind = TEXTS.iter().find(|known| known.1 == entry.column(1))?.0;
            let brand = entry.column(0).strip_suffix(".*");
            let name = brand.unwrap_or(entry.column(0));
            Some(Site { name, is_brand: brand.is_some(), kind })
        };
        let sites = entries.iter().filter_map(site).collect();
        let own_host = |name: &String| {
            let mut host = Vec::new();
            let is_host = append_host(name.as_bytes(), &mut host);
            is_host.then_some(host).ok_or_else(|| name.clone())
        };
        let own_hosts = own_hosts.iter().map(own_host).collect::<Result<_, _>>()?;
        Ok(Self { sites, own_hosts })
    }

    /// Returns the kind of the site of a referrer, for a request to a host, if the log has it;
    /// `None` if the referrer names no site.
    pub fn kind(&self, referer: &[u8], request_host: Option<&[u8]>) -> Option<RefererKind> {
        let mut host = Vec::new();
        if !referer_host(referer, &mut host) {
            return None;
        }
        let mut asked = Vec::new();
        let has_asked = request_host.is_some_and(|name| append_host(name, &mut asked));
        let is_own =
            has_asked && asked == host || self.own_hosts.iter().any(|own| is_below(&host, own));
        if is_own {
            return Some(RefererKind::Own);
        }
        // A longer name says more: mail.google.com is not google.com.
        let known = self.sites.iter().filter(|site| site.has(&host));
        let known = known.max_by_key(|site| (!site.is_brand, site.name.len()));
        Some(known.map_or(RefererKind::Other, |site| site.kind))
    }
}

impl Site {
    fn has(&self, host: &[u8]) -> bool {
        if !self.is_brand {
            return is_below(host, self.name.as_bytes());
        }
        let labels: Vec<&[u8]> = host.rsplit(|byte| *byte == b'.').collect();
        let at = labels.iter().position(|label| *label == self.name.as_bytes());
        // `google.com.evil.example` is not Google, and neither is `google.evil.uk`.
        let is_suffix = |labels: &[&[u8]]| match labels {
            [_] => true,
            [country, second] => country.len() == 2 && SECOND_LEVELS.contains(second),
            _ => false,
        };
        at.is_some_and(|at| is_suffix(&labels[..at]))
    }
}

/// Whether a host is this name or below it.
fn is_below(host: &[u8], name: &[u8]) -> bool {
    host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."))
}

/// Appends the host of a referrer: in lower case, without the port and without `www.`, so that a
/// site is one whatever the spelling. Returns false, and appends nothing, if it names no host.
pub fn referer_host(referer: &[u8], host: &mut Vec<u8>) -> bool {
    let Some(scheme) = memchr::memmem::find(referer, b"://") else { return false };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if scheme == 0 || !referer[..scheme].iter().all(is_part) {
        return false;
    }
    let rest = &referer[scheme + 3..];
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b'\\'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let user = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
    append_host(&authority[user..], host)
}

/// Appends a host in its common form.
fn append_host(text: &[u8], host: &mut Vec<u8>) -> bool {
    let name = match text {
        [b'[', ..] => memchr::memchr(b']', text).map_or(text, |end| &text[..=end]),
        _ => memchr::memchr(b':', text).map_or(text, |colon| &text[..colon]),
    };
    let name = name.strip_suffix(b".").unwrap_or(name);
    let is_v6 = name.starts_with(b"[");
    let is_part = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'.' | b'-' | b'_')
            || is_v6 && matches!(byte, b'[' | b']' | b':')
    };
    if name.is_empty() || name.len() > HOST_BYTES_MAX || !name.iter().all(is_part) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    host.extend_from_slice(
        name.strip_prefix(b"www.").filter(|it| it.contains(&b'.')).unwrap_or(&name),
    );
    true
}

#[cfg(test)]
mod tests {
    use super::{EMBEDDED, Referers, TEXTS, referer_host};
    use crate::list;

    fn host(referer: &str) -> Option<String> {
        let mut host = Vec::new();
        referer_host(referer.as_bytes(), &mut host)
            .then(|| String::from_utf8(host).expect("a host is ASCII"))
    }

    #[test]
    fn a_host_has_one_form() {
        for (referer, expected) in [
            ("https://www.Example.COM:8443/a?b", Some("example.com")),
            ("http://example.com", Some("example.com")),
            ("http://example.com?q", Some("example.com")),
            ("https://user:pass@example.com./", Some("example.com")),
            ("https://www.com/", Some("www.com")),
            ("http://192.0.2.7:80/", Some("192.0.2.7")),
            ("http://[2001:DB8::7]:80/", Some("[2001:db8::7]")),
            ("android-app://com.google.android.gm/", Some("com.google.android.gm")),
            ("-", None),
            ("", None),
            ("example.com/a", None),
            ("://a", None),
            ("https://", None),
            ("https:///path", None),
            ("<script>://a", None),
            ("https://a b/", None),
            ("https://a\"onload=/", None),
        ] {
            assert_eq!(host(referer).as_deref(), expected, "{referer}");
        }
        assert!(!referer_host(format!("http://{}/", "a".repeat(256)).as_bytes(), &mut Vec::new()));
    }

    #[test]
    fn sites_have_kinds() {
        let referers = Referers::new(&["Example.org".to_owned()]).expect("it is a name");
        for (referer, asked, expected) in [
            ("https://www.google.com/search?q=a", None, Some("search")),
            ("https://google.co.uk/", None, Some("search")),
            ("https://www.google.com.br/", None, Some("search")),
            ("https://google.de/", None, Some("search")),
            ("https://google.ev.uk/", None, Some("other")),
            ("https://google.com.example/", None, Some("other")),
            ("https://google.com.evil.example/", None, Some("other")),
            ("https://notgoogle.com/", None, Some("other")),
            ("https://mail.google.com/mail", None, Some("mail")),
            ("https://gemini.google.com/app", None, Some("ai_assistant")),
            ("android-app://com.google.android.gm/", None, Some("mail")),
            ("https://duckduckgo.com/", None, Some("search")),
            ("https://chatgpt.com/", None, Some("ai_assistant")),
            ("https://www.perplexity.ai/", None, Some("ai_assistant")),
            ("https://claude.ai/chat", None, Some("ai_assistant")),
            ("https://l.facebook.com/", None, Some("social")),
            ("https://t.co/abc", None, Some("social")),
            ("https://not.co/abc", None, Some("other")),
            ("https://example.com/", Some("www.example.com:443"), Some("own")),
            ("https://example.com/", Some("other.example.com"), Some("other")),
            ("https://shop.example.org/", None, Some("own")),
            ("https://fake-example.org/", None, Some("other")),
            ("https://www.google.com/", Some("google.com"), Some("own")),
            ("-", Some("example.com"), None),
        ] {
            let kind = referers.kind(referer.as_bytes(), asked.map(str::as_bytes));
            assert_eq!(kind.map(|it| it.text()), expected, "{referer}");
        }
        assert_eq!(Referers::new(&["a b".to_owned()]).err().as_deref(), Some("a b"));
    }

    #[test]
    fn each_site_of_the_list_has_a_known_kind() {
        let (_, entries) = list::read(EMBEDDED, &[("site", 2)]).expect("the list is valid");
        assert!(entries.len() > 80, "{}", entries.len());
        for entry in &entries {
            let known = TEXTS.iter().any(|known| known.1 == entry.column(1));
            assert!(known, "line {}: {}", entry.line, entry.column(1));
            assert_eq!(entry.column(0), entry.column(0).to_ascii_lowercase());
        }
    }
}
