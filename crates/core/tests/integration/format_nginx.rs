//! nginx's `log_format`: golden cases.

use crate::format_support::{check_cases, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("nginx.txt"));
}

#[test]
fn the_number_of_values_is_limited() {
    let format = |values| weir_core::Format::parse(&"$x ".repeat(values));
    assert_eq!(format(256).expect("this is the limit").extra_fields().len(), 256);
    assert_eq!(format(257).expect_err("this is over the limit").column(), 769);
    let json = (0..=256).map(|n| format!("x{n}=x{n}")).collect::<Vec<_>>().join(",");
    assert!(weir_core::Format::parse(&format!("json:{json}")).is_err());
}
