//! Statements of AWS WAF that select the requests of a rate-based rule.

use super::super::header_field;
use super::super::selection::{Case, Selection, TextField};
use super::tree::Node;
use crate::error::RuleError;

/// The deepest nesting that is followed.
const DEPTH_MAX: usize = 32;

/// Follows a statement as far as a log has what it looks at. Notes what it does not have.
pub(super) fn follow(statement: &Node, notes: &mut Vec<RuleError>) -> Selection {
    let blocks = statement.blocks();
    let parts = blocks.iter().flat_map(|block| &block.members);
    let parts = parts.map(|part| one(part, 0, notes)).collect::<Vec<_>>();
    match parts.is_empty() {
        true => unknown(statement, notes),
        false => Selection::all(parts),
    }
}

fn one(part: &Node, depth: usize, notes: &mut Vec<RuleError>) -> Selection {
    if depth == DEPTH_MAX {
        return unknown(part, notes);
    }
    let known = notes.len();
    let selection = match part.name.as_str() {
        "andstatement" => return Selection::all(inner(part, depth, notes)),
        "orstatement" => Selection::any(inner(part, depth, notes)),
        "notstatement" => Selection::all(inner(part, depth, notes)).not(),
        "bytematchstatement" => {
            let selection = byte_match(block_of(part), notes);
            return selection.unwrap_or_else(|| unknown(part, notes));
        }
        "regexmatchstatement" => {
            let selection = regex_match(block_of(part), notes);
            return selection.unwrap_or_else(|| unknown(part, notes));
        }
        _ => return unknown(part, notes),
    };
    if selection == Selection::Unknown {
        // It is left out as a whole, not only what is not known in it.
        notes.truncate(known);
        return unknown(part, notes);
    }
    selection
}

/// The statements in a statement: a list, one alone, or the repeated blocks of Terraform.
fn inner(part: &Node, depth: usize, notes: &mut Vec<RuleError>) -> Vec<Selection> {
    let lists = part.blocks().into_iter().flat_map(|block| &block.members);
    let lists = lists.filter(|member| matches!(member.name.as_str(), "statements" | "statement"));
    let statements = lists.flat_map(Node::blocks).flat_map(|statement| &statement.members);
    let statements: Vec<&Node> = statements.collect();
    match statements.is_empty() {
        true => vec![unknown(part, notes)],
        false => statements.into_iter().map(|it| one(it, depth + 1, notes)).collect(),
    }
}

fn block_of(part: &Node) -> &Node {
    part.blocks().first().copied().unwrap_or(part)
}

fn unknown(part: &Node, notes: &mut Vec<RuleError>) -> Selection {
    notes.push(part.error("this is not followed: requests count whether they meet it or not"));
    Selection::Unknown
}

/// A comparison with a text.
fn byte_match(block: &Node, notes: &mut Vec<RuleError>) -> Option<Selection> {
    let field = field(block)?;
    let search = block.member("searchstring").or_else(|| block.member("searchstringbase64"))?;
    let written = search.value.as_deref()?;
    let value = match search.name.as_str() {
        "searchstringbase64" => base64_text(written)?,
        _ => match base64_text(written).filter(|_| field.name == "path") {
            // The command line of AWS prints search strings in Base64, and a path begins with `/`.
            Some(decoded) if decoded.starts_with('/') && !written.starts_with('/') => {
                let message = format!("this is taken to be `{decoded}` in Base64");
                notes.push(search.error(message));
                decoded
            }
            _ => written.to_owned(),
        },
    };
    let field = transformed(field, block, notes);
    Some(match block.value_of(&["positionalconstraint"])? {
        "EXACTLY" => field.equals(&value),
        "STARTS_WITH" => field.begins_with(&value),
        "ENDS_WITH" => field.ends_with(&value),
        "CONTAINS" => field.contains(&value),
        "CONTAINS_WORD" => {
            let word = regex::escape(&value);
            field.matches(&format!("(?:^|[^A-Za-z0-9_]){word}(?:[^A-Za-z0-9_]|$)"))
        }
        _ => return None,
    })
    .filter(|selection| *selection != Selection::Unknown)
}

fn regex_match(block: &Node, notes: &mut Vec<RuleError>) -> Option<Selection> {
    let field = transformed(field(block)?, block, notes);
    let selection = field.matches(block.value_of(&["regexstring"])?);
    (selection != Selection::Unknown).then_some(selection)
}

/// The part of the request that is compared, if every access log has it.
fn field(block: &Node) -> Option<TextField> {
    let field = block_of(block.member("fieldtomatch")?).members.first()?;
    Some(TextField::new(match field.name.as_str() {
        "uripath" => "path",
        "querystring" => "query",
        "method" => "method",
        "singleheader" => match header_field(block_of(field).value_of(&["name"])?).as_str() {
            "user_agent" => "user_agent",
            "referer" => "referer",
            "host" => "host",
            _ => return None,
        },
        _ => return None,
    }))
}

/// The field with its values as they are compared.
fn transformed(field: TextField, block: &Node, notes: &mut Vec<RuleError>) -> TextField {
    let mut field = field;
    for (node, name) in transformations(block) {
        match name {
            "NONE" => {}
            "LOWERCASE" => field = field.with_case(Case::Lower),
            other => notes.push(node.error(format_args!(
                "`{other}` is not followed: the text is compared as the log has it"
            ))),
        }
    }
    field
}

/// The transformations of a block, by name.
pub(super) fn transformations(block: &Node) -> Vec<(&Node, &str)> {
    let is_one = |member: &&Node| {
        matches!(member.name.as_str(), "texttransformations" | "texttransformation")
    };
    let blocks = block.blocks().into_iter().flat_map(|block| &block.members).filter(is_one);
    let kinds = blocks.flat_map(Node::blocks).filter_map(|block| block.member("type"));
    kinds.filter_map(|kind| Some((kind, kind.value.as_deref()?))).collect()
}

/// The text that is written in Base64, if it is one of plain characters.
fn base64_text(written: &str) -> Option<String> {
    let digits = written.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    if !written.len().is_multiple_of(4) || digits.is_empty() || !digits.bytes().all(is_digit) {
        return None;
    }
    let text = String::from_utf8(crate::modsecurity::base64_decode(digits.as_bytes())).ok()?;
    text.chars().all(|next| !next.is_control()).then_some(text)
}
