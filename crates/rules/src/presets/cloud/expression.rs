//! Expressions of Cloudflare's rules, as conditions.
//!
//! Source: "Rules language" of Cloudflare's documentation of rulesets. Its regular expressions are
//! those of the same engine. A field that a request lacks is an empty text.

/// The deepest nesting that is followed.
const DEPTH_MAX: usize = 32;

/// An expression as a condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Followed {
    /// `None` if no part of the expression could be followed, or all requests meet it.
    pub(super) condition: Option<String>,
    /// The parts that were not followed. Requests count whether they meet them or not.
    pub(super) left_out: Vec<String>,
}

/// Follows an expression as far as a log has its fields.
pub(super) fn follow(expression: &str) -> Followed {
    if expression.trim() == "true" {
        return Followed { condition: None, left_out: Vec::new() };
    }
    let tokens = tokens(expression);
    let mut parser = Parser { tokens: &tokens, at: 0, left_out: Vec::new() };
    let condition = parser.any(0);
    if parser.at < tokens.len() {
        // What is not read may change the meaning of what was.
        return Followed { condition: None, left_out: vec![expression.to_owned()] };
    }
    Followed { condition, left_out: parser.left_out }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A field, function, operator or number.
    Word(String),
    /// A text, whether in quotation marks or raw.
    Text(String),
    /// One of `(`, `)`, `{`, `}` and `,`.
    Sign(char),
}

fn tokens(expression: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '(' | ')' | '{' | '}' | ',' => (Token::Sign(first), 1),
            '"' => text(rest),
            'r' if rest[1..].starts_with(['"', '#']) => raw_text(rest),
            _ => word(rest),
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A text in quotation marks, in which a backslash takes away the meaning of the next character.
fn text(rest: &str) -> (Token, usize) {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, next)) = characters.next() {
        match next {
            '"' => return (Token::Text(value), at + 1),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => value.push(next),
        }
    }
    (Token::Text(value), rest.len())
}

/// A raw text: `r"..."` or `r#"..."#`.
fn raw_text(rest: &str) -> (Token, usize) {
    let hashes = rest[1..].find(|next| next != '#').unwrap_or(0);
    let start = 1 + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    match rest.get(start..).and_then(|body| Some((body, body.find(&end)?))) {
        Some((body, length)) => {
            (Token::Text(body[..length].to_owned()), start + length + end.len())
        }
        None => word(rest),
    }
}

fn word(rest: &str) -> (Token, usize) {
    let is_end = |next: char| next.is_whitespace() || "(){},\"".contains(next);
    let length = match rest.find(is_end) {
        Some(0) => rest.chars().next().map_or(0, char::len_utf8),
        Some(length) => length,
        None => rest.len(),
    };
    (Token::Word(rest[..length].to_owned()), length)
}

/// A field of the log, and how its values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    name: &'static str,
    ignores_case: bool,
}

fn field(name: &str) -> Option<Field> {
    let (name, ignores_case) = match name.strip_prefix("raw.").unwrap_or(name) {
        "http.request.uri.path" => ("path", false),
        "http.request.uri.query" => ("query", false),
        "http.request.method" => ("method", false),
        "http.user_agent" => ("user_agent", false),
        "http.referer" => ("referer", false),
        "http.host" => ("host", true),
        "http.response.code" => ("status", false),
        "ip.src" => ("client", false),
        _ => return None,
    };
    Some(Field { name, ignores_case })
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    left_out: Vec<String>,
}

impl Parser<'_> {
    fn word(&self) -> Option<&str> {
        match self.tokens.get(self.at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn take_word(&mut self, words: &[&str]) -> bool {
        let is_there = self.word().is_some_and(|word| words.contains(&word));
        self.at += usize::from(is_there);
        is_there
    }

    fn take_sign(&mut self, sign: char) -> bool {
        let is_there = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    /// Terms with `or` between them: without one of them, none of them decides.
    fn any(&mut self, depth: usize) -> Option<String> {
        let mut terms = vec![self.all(depth)];
        while self.take_word(&["or", "||"]) {
            terms.push(self.all(depth));
        }
        let terms: Vec<String> = terms.into_iter().collect::<Option<_>>()?;
        Some(joined(terms, " or "))
    }

    /// Terms with `and` between them: those that are followed decide.
    fn all(&mut self, depth: usize) -> Option<String> {
        let mut terms = vec![self.term(depth)];
        while self.take_word(&["and", "&&"]) {
            terms.push(self.term(depth));
        }
        let terms: Vec<String> = terms.into_iter().flatten().collect();
        (!terms.is_empty()).then(|| joined(terms, " and "))
    }

    fn term(&mut self, depth: usize) -> Option<String> {
        if depth == DEPTH_MAX {
            return None;
        }
        if self.take_word(&["not", "!"]) {
            // Less would count if a part that is left out stood under a `not`.
            let known = self.left_out.len();
            let term = self.term(depth + 1)?;
            return (self.left_out.len() == known).then(|| format!("not ({term})"));
        }
        if self.take_sign('(') {
            let inner = self.any(depth + 1);
            self.take_sign(')');
            return inner.map(|inner| format!("({inner})"));
        }
        let start = self.at;
        let comparison = self.comparison();
        if comparison.is_none() {
            self.skip_comparison(start);
        }
        comparison
    }

    /// A comparison of a field with values, or a function that compares.
    fn comparison(&mut self) -> Option<String> {
        let name = self.word()?.to_owned();
        self.at += 1;
        if let "starts_with" | "ends_with" = name.as_str() {
            let field = self.take_sign('(').then(|| self.field()).flatten()?;
            let value = self.take_sign(',').then(|| self.text()).flatten()?;
            let is_closed = self.take_sign(')');
            let value = regex::escape(&value);
            let pattern = match name.as_str() {
                "starts_with" => format!("^{value}"),
                _ => format!("{value}$"),
            };
            return matches(field, &pattern).filter(|_| is_closed);
        }
        self.at -= 1;
        let field = self.field()?;
        let operator = self.word()?.to_owned();
        self.at += 1;
        match operator.as_str() {
            "eq" | "==" => self.value().and_then(|value| equals(field, &value)),
            "ne" | "!=" => {
                let equal = self.value().and_then(|value| equals(field, &value))?;
                Some(format!("not ({equal})"))
            }
            "contains" => matches(field, &regex::escape(&self.text()?)),
            "matches" | "~" => matches(field, &self.text()?),
            "wildcard" => {
                let ignores_case = true;
                wildcard(Field { ignores_case, ..field }, &self.text()?)
            }
            "strict" if self.take_word(&["wildcard"]) => wildcard(field, &self.text()?),
            "in" => self.one_of(field),
            "lt" | "<" | "le" | "<=" | "gt" | ">" | "ge" | ">=" if field.name == "status" => {
                let sign = match operator.as_str() {
                    "lt" | "<" => "<",
                    "le" | "<=" => "<=",
                    "gt" | ">" => ">",
                    _ => ">=",
                };
                let number = self.value().filter(|value| is_number(value))?;
                Some(format!("status{sign}{number}"))
            }
            _ => None,
        }
    }

    /// A field, or `lower(field)`.
    fn field(&mut self) -> Option<Field> {
        if self.take_word(&["lower", "upper"]) {
            let field = self.take_sign('(').then(|| self.field()).flatten()?;
            return self.take_sign(')').then_some(Field { ignores_case: true, ..field });
        }
        let field = field(self.word()?)?;
        self.at += 1;
        Some(field)
    }

    fn text(&mut self) -> Option<String> {
        let Some(Token::Text(text)) = self.tokens.get(self.at) else { return None };
        self.at += 1;
        Some(text.clone())
    }

    /// A text, a number or an address.
    fn value(&mut self) -> Option<String> {
        let value = match self.tokens.get(self.at)? {
            Token::Text(value) | Token::Word(value) => value.clone(),
            Token::Sign(_) => return None,
        };
        self.at += 1;
        Some(value)
    }

    /// Values in braces, of which one is that of the field.
    fn one_of(&mut self, field: Field) -> Option<String> {
        let mut terms = Vec::new();
        let mut is_open = self.take_sign('{');
        while is_open && !self.take_sign('}') {
            let value = self.value()?;
            terms.push(match value.split_once("..").filter(|_| field.name == "status") {
                Some((from, to)) if is_number(from) && is_number(to) => {
                    format!("(status>={from} and status<={to})")
                }
                _ => equals(field, &value)?,
            });
            is_open = self.at < self.tokens.len();
        }
        (is_open && !terms.is_empty()).then(|| format!("({})", terms.join(" or ")))
    }

    /// Passes over a comparison that is not followed: up to the next `and`, `or` or end of its
    /// parentheses.
    fn skip_comparison(&mut self, start: usize) {
        self.at = start;
        let mut open = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Sign('(' | '{') => open += 1,
                Token::Sign(')' | '}') if open == 0 => break,
                Token::Sign(')' | '}') => open -= 1,
                Token::Word(word)
                    if open == 0 && matches!(word.as_str(), "and" | "&&" | "or" | "||") =>
                {
                    break;
                }
                _ => {}
            }
            self.at += 1;
        }
        let parts: Vec<String> = self.tokens[start..self.at].iter().map(Token::shown).collect();
        self.left_out.push(parts.join(" "));
    }
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Text(text) => format!("\"{text}\""),
            Self::Sign(sign) => sign.to_string(),
        }
    }
}

fn joined(terms: Vec<String>, between: &str) -> String {
    match <[String; 1]>::try_from(terms) {
        Ok([term]) => term,
        Err(terms) => format!("({})", terms.join(between)),
    }
}

/// The condition that a value of a field matches a regular expression.
fn matches(field: Field, pattern: &str) -> Option<String> {
    let flags = if field.ignores_case { "(?i)" } else { "" };
    let is_text = field.name != "client" && field.name != "status";
    (is_text && !pattern.contains('\'')).then(|| format!("{}~'{flags}{pattern}'", field.name))
}

fn equals(field: Field, value: &str) -> Option<String> {
    match field.name {
        "client" => {
            let is_address =
                value.starts_with(|next: char| next.is_ascii_hexdigit() || next == ':');
            let is_plain =
                value.chars().all(|next| next.is_ascii_hexdigit() || ".:/".contains(next));
            (is_address && is_plain).then(|| format!("client={value}"))
        }
        "status" => is_number(value).then(|| format!("status={value}")),
        name if value.is_empty() => Some(format!("({name}=(none) or {name}=(empty))")),
        _ => matches(field, &format!("^{}$", regex::escape(value))),
    }
}

/// The condition of a pattern in which `*` is any text.
fn wildcard(field: Field, pattern: &str) -> Option<String> {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    matches(field, &format!("^{}$", parts.join(".*")))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Followed, follow};
    use weir_core::Condition;

    #[test]
    fn expressions_are_conditions() {
        for (expression, condition) in [
            (r#"http.request.uri.path eq "/login""#, "path~'^/login$'"),
            (r#"(http.request.uri.path contains "/login")"#, "(path~'/login')"),
            (r#"http.host eq "www.example.com""#, r"host~'(?i)^www\.example\.com$'"),
            (r#"starts_with(http.request.uri.path, "/api/")"#, "path~'^/api/'"),
            (r#"ends_with(lower(http.request.uri.path), ".php")"#, r"path~'(?i)\.php$'"),
            (r#"http.request.uri.path matches "^/wp-(admin|login)""#, "path~'^/wp-(admin|login)'"),
            (r##"http.user_agent matches r#"bot/\d"#"##, r"user_agent~'bot/\d'"),
            (r#"http.request.uri.path wildcard "/a/*.js""#, r"path~'(?i)^/a/.*\.js$'"),
            (r#"http.request.uri.path strict wildcard r"/a/*""#, "path~'^/a/.*$'"),
            (r#"http.request.method in {"POST" "PUT"}"#, "(method~'^POST$' or method~'^PUT$')"),
            ("ip.src in {192.0.2.0/24 2001:db8::1}", "(client=192.0.2.0/24 or client=2001:db8::1)"),
            (
                "http.response.code in {401 500..599}",
                "(status=401 or (status>=500 and status<=599))",
            ),
            ("http.response.code ge 400", "status>=400"),
            (r#"http.referer eq """#, "(referer=(none) or referer=(empty))"),
            (
                r#"http.request.method eq "POST" and not http.request.uri.path eq "/a" or ip.src ne 192.0.2.1"#,
                "((method~'^POST$' and not (path~'^/a$')) or not (client=192.0.2.1))",
            ),
        ] {
            let followed = follow(expression);
            assert_eq!(followed.condition.as_deref(), Some(condition), "{expression}");
            assert!(followed.left_out.is_empty(), "{expression}: {followed:?}");
            Condition::parse(condition).expect(condition);
        }
    }

    #[test]
    fn what_a_log_lacks_is_left_out_where_that_counts_more() {
        let path = r#"http.request.uri.path eq "/a""#;
        let country = r#"ip.geoip.country eq "DE""#;
        for (expression, condition) in [
            (format!("{path} and {country}"), Some("path~'^/a$'")),
            (format!("{country} and (cf.threat_score gt 10) and {path}"), Some("path~'^/a$'")),
            (format!("{path} or {country}"), None),
            (format!("not ({path} and {country})"), None),
            (format!("not {country}"), None),
            (
                format!("{path} and any(http.request.headers[\"x\"][*] eq \"b\")"),
                Some("path~'^/a$'"),
            ),
            ("ssl".to_owned(), None),
        ] {
            let followed = follow(&expression);
            assert_eq!(followed.condition.as_deref(), condition, "{expression}");
            assert!(!followed.left_out.is_empty(), "{expression}");
        }
    }

    #[test]
    fn no_text_breaks_it() {
        assert_eq!(follow(" true "), Followed { condition: None, left_out: Vec::new() });
        let deep = format!("{}ssl", "not (".repeat(100_000));
        for expression in
            ["", ")", "(", "\"", "r\"", "r##", "http.host eq", "in {", "a and", "ü \"\\"]
        {
            let followed = follow(expression);
            assert_eq!(followed.condition, None, "{expression}");
        }
        assert_eq!(follow(&deep).condition, None);
        // Quotation marks of conditions cannot be left.
        let quote = r#"http.host contains "' or path~'""#;
        assert_eq!(follow(quote).condition, None);
    }
}
