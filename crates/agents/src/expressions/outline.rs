//! Texts and expressions without regard to which digits they have.
//!
//! Agents of one browser differ in the digits of its version, and few expressions care. The *outline*
//! of a text has a 0 in the place of each digit; that of an expression has a 0 wherever it has a
//! digit. Then:
//!
//! ```text
//! if an expression matches a text, its outline matches the outline of the text
//! if it treats all digits alike, the converse holds too, and the groups are at the same places
//! ```
//!
//! Both follow from the step of an automaton by a byte, which is also one by the byte's outline.

use regex_syntax::hir::{
    Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind,
    Repetition,
};

/// Returns the outline of a text.
pub(super) fn outline(text: &[u8]) -> Vec<u8> {
    text.iter().copied().map(outline_byte).collect()
}

/// Replaces `outline` by that of a text.
pub(super) fn outline_into(text: &[u8], outline: &mut Vec<u8>) {
    outline.clear();
    outline.extend(text.iter().copied().map(outline_byte));
}

fn outline_byte(byte: u8) -> u8 {
    if byte.is_ascii_digit() { b'0' } else { byte }
}

/// Returns whether an expression treats all digits alike.
pub(super) fn treats_digits_alike(expression: &Hir) -> bool {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => !literal.0.iter().any(u8::is_ascii_digit),
        HirKind::Class(class) => matches!(digits_of(class), 0 | 10),
        HirKind::Repetition(repetition) => treats_digits_alike(&repetition.sub),
        HirKind::Capture(capture) => treats_digits_alike(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().all(treats_digits_alike)
        }
    }
}

/// Returns the outline of an expression, whose groups may have other numbers.
pub(super) fn outline_of(expression: &Hir) -> Hir {
    match expression.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Look(look) => Hir::look(*look),
        HirKind::Literal(literal) => {
            Hir::literal(literal.0.iter().copied().map(outline_byte).collect::<Vec<u8>>())
        }
        HirKind::Class(class) => Hir::class(outline_of_class(class)),
        HirKind::Repetition(repetition) => {
            let sub = match repetition.sub.kind() {
                // As a text, a repetition of a repetition would be a lazy one: `(?:a{2})?`, `a{2}?`.
                HirKind::Repetition(_) => in_brackets(outline_of(&repetition.sub)),
                _ => outline_of(&repetition.sub),
            };
            Hir::repetition(Repetition { sub: Box::new(sub), ..repetition.clone() })
        }
        HirKind::Capture(capture) => {
            Hir::capture(Capture { sub: Box::new(outline_of(&capture.sub)), ..capture.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(outline_of).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(outline_of).collect()),
    }
}

fn in_brackets(expression: Hir) -> Hir {
    Hir::capture(Capture { index: 1, name: None, sub: Box::new(expression) })
}

/// A class with a digit has a 0 too.
fn outline_of_class(class: &Class) -> Class {
    let has_digit = digits_of(class) > 0;
    match class {
        Class::Bytes(class) => {
            let zero = has_digit.then_some(ClassBytesRange::new(b'0', b'0'));
            Class::Bytes(ClassBytes::new(class.ranges().iter().copied().chain(zero)))
        }
        Class::Unicode(class) => {
            let zero = has_digit.then_some(ClassUnicodeRange::new('0', '0'));
            Class::Unicode(ClassUnicode::new(class.ranges().iter().copied().chain(zero)))
        }
    }
}

/// Returns how many digits a class has.
fn digits_of(class: &Class) -> usize {
    let has = |digit: &u8| match class {
        Class::Bytes(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(digit))
        }
        Class::Unicode(class) => {
            let digit = char::from(*digit);
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&digit))
        }
    };
    (b'0'..=b'9').filter(has).count()
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;

    use super::{outline_into, outline_of, treats_digits_alike};

    fn parse(expression: &str) -> regex_syntax::hir::Hir {
        let mut parser = ParserBuilder::new().utf8(false).unicode(false).build();
        parser.parse(expression).expect("it is valid")
    }

    #[test]
    fn expressions_with_some_digits_are_known() {
        for expression in ["", r"\d+", r"\bFoo/(\d{1,2})[^x]?$", "[a-z]|[0-9a]", "(?i)a.b"] {
            assert!(treats_digits_alike(&parse(expression)), "{expression}");
        }
        for expression in ["1", "(a|[1-9])", "(?:x1)*", "[^0]", "(?u)[٠-٩1]"] {
            assert!(!treats_digits_alike(&parse(expression)), "{expression}");
        }
    }

    #[test]
    fn outlines_have_zeros_for_digits() {
        let mut outline = vec![7];
        outline_into(b"Foo/12.x9", &mut outline);
        assert_eq!(outline, b"Foo/00.x0");
        let outline = |expression: &str| outline_of(&parse(expression)).to_string();
        assert_eq!(outline("ab12(c3)?"), outline("ab00(c0)?"));
        assert_eq!(outline("[2-4x]{2,3}?"), outline("[02-4x]{2,3}?"));
        assert_eq!(outline("(?:a1{2})?(?:b{3})?"), outline("(?:a0{2})?(b{3})?"));
        assert_eq!(outline(r"\bx|^[a-c]+"), parse(r"\bx|^[a-c]+").to_string());
    }
}
