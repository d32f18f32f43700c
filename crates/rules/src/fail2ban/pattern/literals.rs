//! Extracts the texts of which one must occur in every match of a pattern.
//!
//! A search for texts is much faster than a pattern, so most lines are rejected by it.

use super::syntax::Node;

/// The most texts in one list.
const TEXTS_MAX: usize = 256;

/// The longest text, in bytes.
const TEXT_BYTES_MAX: usize = 64;

/// Parts of the lines of every access or error log. A text in one of them is common.
const COMMON: [&str; 12] = [
    "\"GET / HTTP/1.1\" 200 ",
    "\"POST / HTTP/1.1\" 200 ",
    "\"HEAD / HTTP/1.1\" 200 ",
    "\"GET / HTTP/2.0\" 304 ",
    " HTTP/1.0\" 200 ",
    " - - [] \"GET /",
    " - - [] \"POST /",
    " - - [] \"HEAD /",
    " \"-\" \"Mozilla/5.0 (",
    "https://www.",
    "http://",
    "[] [error] [client ",
];

/// Texts of which at least one must occur.
pub(super) type Texts = Vec<String>;

/// The literals of a part of a pattern.
struct Known {
    /// All texts that the part matches, if they are few.
    exact: Option<Texts>,
    /// Lists of texts. One text of each list must occur.
    required: Vec<Texts>,
}

impl Known {
    fn unknown() -> Self {
        Self { exact: None, required: Vec::new() }
    }

    fn exact(texts: Texts) -> Self {
        Self { exact: Some(texts), required: Vec::new() }
    }

    /// The list that excludes the most lines.
    fn best(self) -> Option<Texts> {
        let exact = self.exact.filter(|texts| texts.iter().all(|text| !text.is_empty()));
        self.required.into_iter().chain(exact).max_by_key(score)
    }
}

/// Returns lists of texts, the most selective first. One text of each list must occur in a match.
pub(super) fn required(node: &Node, max: usize) -> Vec<Texts> {
    let Known { exact, mut required } = known(node);
    required.extend(exact);
    required.retain(|texts| score(texts) > 0);
    required.sort_by_key(|texts| std::cmp::Reverse(score(texts)));
    required.dedup();
    required.truncate(max);
    required
}

/// The selectivity of a list: the length of its shortest text, or 0 if one is common.
fn score(texts: &Texts) -> usize {
    let of_text = |text: &String| {
        if COMMON.iter().any(|common| common.contains(&**text)) { 0 } else { text.len() }
    };
    texts.iter().map(of_text).min().unwrap_or(0)
}

fn known(node: &Node) -> Known {
    match node {
        Node::Empty | Node::Assertion(_) | Node::Look { .. } => Known::exact(vec![String::new()]),
        Node::Char { ignores_case: true, .. } | Node::Reference(_) => Known::unknown(),
        Node::Char { char, .. } => Known::exact(vec![char.to_string()]),
        Node::Set { few: Some(few), .. } => Known::exact(few.iter().map(char::to_string).collect()),
        Node::Set { few: None, .. } => Known::unknown(),
        Node::Concat(nodes) => of_all(nodes),
        Node::Alternation(nodes) => of_one(&nodes.iter().collect::<Vec<_>>()),
        Node::Condition { yes, no, .. } => of_one(&[yes, no]),
        Node::Repeat { node, min, max, .. } => repeated(known(node), *min, *max),
        Node::Group { node, .. } | Node::Wrapped { node, .. } => known(node),
    }
}

fn repeated(inside: Known, min: u32, max: Option<u32>) -> Known {
    match (min, max) {
        (1, Some(1)) => inside,
        (0, Some(1)) => match inside.exact {
            Some(mut texts) => {
                texts.push(String::new());
                Known::exact(texts)
            }
            None => Known::unknown(),
        },
        (0, _) => Known::unknown(),
        _ => {
            let Known { exact, mut required } = inside;
            required.extend(exact.filter(|texts| texts.iter().all(|text| !text.is_empty())));
            Known { exact: None, required }
        }
    }
}

/// The literals of a concatenation.
fn of_all(nodes: &[Node]) -> Known {
    let mut required = Vec::new();
    let mut run = vec![String::new()];
    let mut is_exact = true;
    let mut end_run = |run: &mut Texts| {
        let run = std::mem::replace(run, vec![String::new()]);
        if run.iter().all(|text| !text.is_empty()) {
            required.push(run);
        }
    };
    let mut others = Vec::new();
    for node in nodes {
        let Known { exact, required } = known(node);
        others.extend(required);
        let Some(texts) = exact else {
            is_exact = false;
            end_run(&mut run);
            continue;
        };
        let fits = run.len() * texts.len() <= TEXTS_MAX
            && longest(&run) + longest(&texts) <= TEXT_BYTES_MAX;
        if !fits {
            is_exact = false;
            end_run(&mut run);
            run = texts;
            continue;
        }
        run = run
            .iter()
            .flat_map(|start| texts.iter().map(move |end| format!("{start}{end}")))
            .collect();
    }
    if is_exact {
        return Known { exact: Some(run), required: others };
    }
    end_run(&mut run);
    required.extend(others);
    Known { exact: None, required }
}

fn longest(texts: &Texts) -> usize {
    texts.iter().map(String::len).max().unwrap_or(0)
}

/// The literals of an alternation.
fn of_one(nodes: &[&Node]) -> Known {
    let all: Vec<Known> = nodes.iter().map(|node| known(node)).collect();
    let count: usize = all.iter().filter_map(|known| known.exact.as_ref()).map(Vec::len).sum();
    if count <= TEXTS_MAX && all.iter().all(|known| known.exact.is_some()) {
        return Known::exact(all.into_iter().filter_map(|known| known.exact).flatten().collect());
    }
    let best: Option<Vec<Texts>> = all.into_iter().map(Known::best).collect();
    let Some(best) = best.filter(|best| best.iter().map(Vec::len).sum::<usize>() <= TEXTS_MAX)
    else {
        return Known::unknown();
    };
    Known { exact: None, required: vec![best.concat()] }
}

#[cfg(test)]
mod tests {
    use super::required;
    use crate::fail2ban::pattern::syntax::parse;

    fn texts(pattern: &str) -> Vec<Vec<String>> {
        required(&parse(pattern, true).expect("it is valid").node, 3)
    }

    #[test]
    fn what_must_occur_is_found() {
        let one = |pattern: &str| texts(pattern).remove(0).join(",");
        assert_eq!(one(r#"^<HOST> - \S+ \[\] "[^"]*" 400"#), "\" 400");
        assert_eq!(one(r#"^<HOST> .*"(?:GET|PUT) /[ab]x?\.php"#).split(',').count(), 8);
        assert_eq!(one(r"\.php[45]?\d /[ab]c?"), ".php4,.php5,.php");
        assert_eq!(one(r"^(?:denied|refused \d+ times)\b"), "denied,refused ");
        assert_eq!(one(r"x{2,}(?:user)+y*"), "user");
        assert!(texts(r#"^<HOST> - - \[\] "GET /.* HTTP"#).is_empty(), "it is in every line");
        assert!(texts(r"^<HOST> (?:denied)?.*(?i:Error)").is_empty());
        assert!(texts(r"^<HOST> (?:denied|\d+)").is_empty());
    }
}
