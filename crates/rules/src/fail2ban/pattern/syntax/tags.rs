//! The tags of fail2ban, such as `<HOST>` and `<F-USER>`.

use super::{Node, Parsed, Parser};

/// An IPv4 address, `<IP4>`, optionally mapped to IPv6.
const IP4: &str = r"(?:::f{4,6}:)?(?P<ip4>(?:\d{1,3}\.){3}\d{1,3})";

/// An IPv6 address, `<IP6>`. The original has a look-behind for another colon before the last one,
/// which is always there.
const IP6: &str = r"(?P<ip6>(?:[0-9a-fA-F]{1,4}::?|::){1,7}(?:[0-9a-fA-F]{1,4}|:))";

/// A host name, `<DNS>`.
const DNS: &str = r"(?P<dns>[\w\-.^_]*\w)";

/// The prefix length of a network, `<CIDR>`.
const CIDR: &str = r"(?P<cidr>\d+)";

impl Parser<'_> {
    /// Whether the closing tag of an open tag, such as `</F-USER>`, is next.
    pub(super) fn closes_tag(&self) -> bool {
        let Some((tag, _)) = self.rest().strip_prefix("</").and_then(|rest| rest.split_once('>'))
        else {
            return false;
        };
        self.open_tags.iter().any(|open| open == tag)
    }

    /// Reads a tag of fail2ban after `<`, or else a literal `<`.
    pub(super) fn tag(&mut self, start: usize) -> Parsed {
        let tag = self.rest().split_once('>').map_or("", |(tag, _)| tag);
        let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
        if tag.is_empty() || !tag.bytes().all(is_tag) {
            return Ok(self.char('<'));
        }
        let addresses = format!("{IP4}|{IP6}");
        let pattern = match tag {
            "HOST" if self.host_may_be_name => format!(r"(?:\[?(?:{addresses})\]?|{DNS})"),
            "HOST" | "ADDR" | "F-ADDR/" => format!(r"\[?(?:{addresses})\]?"),
            "SUBNET" | "F-SUBNET/" => format!(r"\[?(?:{addresses})(?:/{CIDR})?\]?"),
            "IP4" | "F-IP4/" => IP4.to_owned(),
            "IP6" | "F-IP6/" => IP6.to_owned(),
            "DNS" | "F-DNS/" => DNS.to_owned(),
            "CIDR" | "F-CIDR/" => CIDR.to_owned(),
            "F-ID/" => r"(?P<fid>\S+)".to_owned(),
            "F-PORT/" => r"(?P<fport>\w+)".to_owned(),
            "SKIPLINES" => {
                let message = "<SKIPLINES> is not supported: lines are matched one at a time";
                return Err(self.error(start, tag.len() + 2, message));
            }
            tag => return self.custom_tag(start, tag),
        };
        self.position += tag.len() + 1;
        let length = self.position - start;
        self.included(&pattern).map_err(|error| self.error(start, length, error.message))
    }

    /// Reads the pattern of a tag. Its groups become groups of the whole pattern.
    fn included(&mut self, pattern: &str) -> Parsed {
        let mut parser = Parser {
            text: pattern,
            position: 0,
            depth: self.depth,
            groups: std::mem::take(&mut self.groups),
            open_tags: Vec::new(),
            ends: Vec::new(),
            ignores_case: self.ignores_case,
            has_references: false,
            host_may_be_name: self.host_may_be_name,
        };
        let node = parser.alternation();
        self.groups = parser.groups;
        Ok(Node::Wrapped { prefix: "(?:".to_owned(), node: Box::new(node?) })
    }

    /// Reads a tag such as `<F-USER>`, which begins a group.
    fn custom_tag(&mut self, start: usize, tag: &str) -> Parsed {
        let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let name = tag.strip_prefix("F-").filter(|name| name.bytes().all(is_name));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(self.char('<'));
        };
        self.position += tag.len() + 1;
        self.open_tags.push(tag.to_owned());
        let name = match name {
            "ID" => "fid".to_owned(),
            "PORT" => "fport".to_owned(),
            name => name.to_ascii_lowercase(),
        };
        self.named_group(start, name)
    }
}
