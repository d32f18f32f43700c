//! Expressions of the Common Expression Language, as far as policies of Anubis use it.
//!
//! Follows the language definition of CEL, and the variables and functions of Anubis. The result
//! may be unknown, because a log lacks most headers and the load of the machine. `false && unknown`
//! is false.

mod evaluate;
mod parse;
mod token;

use std::collections::HashSet;

use weir_core::BoundedRegex;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The log does not tell it, or it is an error, such as the value of a missing key.
    Unknown,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Vec<u8>),
    List(Vec<Value>),
    /// All headers.
    Headers,
    /// All parameters of the query.
    Query,
}

/// Where the variables of an expression come from.
pub(super) trait Variables {
    /// The value of a variable; unknown if there is no such one.
    fn variable(&self, name: &str) -> Value;

    /// The value of a header; `None` if the log does not tell it, and empty if it was not sent.
    fn header(&self, name: &[u8]) -> Option<Vec<u8>>;

    /// The first value of a parameter of the query.
    fn parameter(&self, name: &[u8]) -> Option<Vec<u8>>;

    /// The number of distinct parameters of the query.
    fn parameters(&self) -> usize;
}

/// An expression.
#[derive(Debug)]
pub(super) struct Expression(Node);

#[derive(Debug)]
enum Node {
    Literal(Value),
    Variable(String),
    List(Vec<Node>),
    Not(Box<Node>),
    Negated(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// `in` with a list of texts that is written in the expression.
    OneOf(Box<Node>, HashSet<Vec<u8>>),
    Conditional(Box<[Node; 3]>),
    Index(Box<Node>, Box<Node>),
    /// A function with its arguments, of which the target of a method is the first.
    Call(Function, Vec<Node>),
    /// `matches` with an expression that is known.
    Matches(Box<Node>, BoundedRegex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    StartsWith,
    EndsWith,
    Contains,
    Size,
    LowerAscii,
    UpperAscii,
    MissingHeader,
    Segments,
    /// One that asks the network or chance, so that a log does not tell its value.
    Outside,
}

impl Function {
    /// A function by its name, and the number of its arguments with the target.
    fn named(name: &str) -> Option<(Self, std::ops::RangeInclusive<usize>)> {
        Some(match name {
            "startsWith" => (Self::StartsWith, 2..=2),
            "endsWith" => (Self::EndsWith, 2..=2),
            "contains" => (Self::Contains, 2..=2),
            "size" => (Self::Size, 1..=1),
            "lowerAscii" => (Self::LowerAscii, 1..=1),
            "upperAscii" => (Self::UpperAscii, 1..=1),
            "missingHeader" => (Self::MissingHeader, 2..=2),
            "segments" => (Self::Segments, 1..=1),
            "randInt" | "reverseDNS" | "lookupHost" | "verifyFCrDNS" | "arpaReverseIP"
            | "regexSafe" => (Self::Outside, 1..=2),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_core::PatternBudget;

    use super::{Expression, Value, Variables};

    struct Request;

    impl Variables for Request {
        fn variable(&self, name: &str) -> Value {
            match name {
                "path" => Value::Text(b"/a/b/".to_vec()),
                "userAgent" => Value::Text(b"Mozilla/5.0 Chrome/99".to_vec()),
                "weight" => Value::Integer(7),
                "headers" => Value::Headers,
                "query" => Value::Query,
                _ => Value::Unknown,
            }
        }

        fn header(&self, name: &[u8]) -> Option<Vec<u8>> {
            match name {
                b"Accept" => Some(b"*/*".to_vec()),
                b"Referer" => Some(Vec::new()),
                _ => None,
            }
        }

        fn parameter(&self, name: &[u8]) -> Option<Vec<u8>> {
            (name == b"go-get").then(|| b"1".to_vec())
        }

        fn parameters(&self) -> usize {
            1
        }
    }

    #[test]
    fn expressions_have_three_results() {
        for (text, expected) in [
            (r#"path == "/a/b/" && userAgent.contains("Chrome")"#, Some(true)),
            (r#"userAgent.matches("(?i:chrome/9[0-9])")"#, Some(true)),
            (r#"userAgent.matches(r"^Moz\S+$")"#, Some(false)),
            (r#"!('Accept' in headers) || headers["Accept"] == "*/*""#, Some(true)),
            (r#""Referer" in headers"#, Some(false)),
            (r#"headers["Referer"] == """#, None),
            (r#""Sec-Ch-Ua" in headers"#, None),
            (r#"missingHeader(headers, "Referer")"#, Some(true)),
            (r#"missingHeader(headers, "Sec-Ch-Ua")"#, None),
            (r#"false && "Sec-Ch-Ua" in headers"#, Some(false)),
            (r#""Sec-Ch-Ua" in headers || true"#, Some(true)),
            (r#""Sec-Ch-Ua" in headers || false"#, None),
            (r#""go-get" in query && query["go-get"] == "1" && size(query) == 1"#, Some(true)),
            (r#"query["x"] == "1""#, None),
            ("size(segments(path)) == 3", Some(true)),
            (r#"path.startsWith("/a") ? path.endsWith("/") : false"#, Some(true)),
            ("weight > 5 && weight <= 2 * 4 - 1", Some(true)),
            ("-weight < -6.5 && weight % 4 == 3 && 9 / 2 == 4", Some(true)),
            ("load_1m >= 10.0", None),
            ("randInt(16) >= 4", None),
            ("1 / 0 == 1", None),
            (r#"path in ["/a/b/", "/x"]"#, Some(true)),
            (r#""b" in segments(path)"#, Some(true)),
            (r#"!(path in ["/x", "/y"]) && weight in [1, 7.0, "x"] && !(7 in [])"#, Some(true)),
            (r#"weight in ["/x"]"#, None),
            (r#"["a", path][1] == path && size(["a", "b"]) == 2"#, Some(true)),
            (r#"userAgent.matches("^\\QMozilla/5.\\E0{1}.*[[:digit:]]$")"#, Some(true)),
            (r#"userAgent.lowerAscii().contains('chrome')"#, Some(true)),
            (r#""\x41\u00e9\"" == "A\u00e9" + '"'"#, Some(true)),
            ("userAgent", None),
        ] {
            let expression = Expression::parse(text, &PatternBudget::default()).expect(text);
            assert_eq!(expression.evaluate(&Request), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let deep = "(".repeat(1_000);
        let chain = format!("1{}", " + 1".repeat(100_000));
        for (text, message) in [
            ("", "the expression ends where a value belongs"),
            ("path ==", "the expression ends where a value belongs"),
            ("path = 'x'", "`=` is not an operator"),
            ("'x", "the quote `'` is not closed"),
            ("path.reverse()", "the function `reverse` is not supported"),
            ("path.startsWith()", "`startsWith` has another number of arguments"),
            ("path.matches('(')", "`(` is not a regular expression"),
            ("path.size", "write `(` and the arguments after `size`"),
            ("(path", "`)` is missing"),
            ("path path", "there is something after the expression: `path`"),
            ("99999999999999999999 > 1", "is not a number"),
            (&deep, "more than 64 parts lie in each other"),
            (&chain, "more than 64 parts lie in each other"),
        ] {
            let error = Expression::parse(text, &PatternBudget::default()).expect_err(message);
            assert!(error.to_string().contains(message), "{error}: {message}");
        }
        let long = format!("true{}", " && true".repeat(100_000));
        let expression = Expression::parse(&long, &PatternBudget::default()).expect("a long one");
        assert_eq!(expression.evaluate(&Request), Some(true));
    }
}
