//! Files with more columns than are read.

use weir_core::Field;

use super::built_file::{BuiltColumn, BuiltPage, OLD_TIME, file_of, plain_texts};
use super::rows::read_from;

fn column(name: &str, text: &str) -> BuiltColumn {
    let bytes = plain_texts(&[text.as_bytes()]);
    BuiltColumn::of_texts(name, vec![BuiltPage { values: 1, bytes, ..BuiltPage::default() }])
}

#[test]
fn fields_have_their_place_after_many_other_columns() {
    let mut columns: Vec<BuiltColumn> =
        (0..300).map(|index| column(&format!("extra_{index}"), &format!("e{index}"))).collect();
    columns.push(column("client", "192.0.2.7"));
    columns.push(column("status", "404"));
    columns.push(column("client", "192.0.2.8"));
    columns.push(BuiltColumn { physical: OLD_TIME, ..column("user\n\x1b[1m", "8 bytes.") });
    let (rows, note, result) = read_from(file_of(&columns, 1));
    result.expect("a table");
    let [row] = &rows[..] else { panic!("{} rows", rows.len()) };
    let texts = [(Field::Client, b"192.0.2.7".to_vec()), (Field::Status, b"404".to_vec())];
    assert_eq!(row.texts, texts);
    assert_eq!(row.extra.len(), 256);
    assert_eq!(row.extra[255], ("extra_255".to_owned(), b"e255".to_vec()));
    assert_eq!(
        note.as_deref(),
        Some(
            "these columns are left out, because no field has their type, or another column is that \
             field: `client`, `user\\n\\u{1b}[1m`; of the columns that have no field's name, the first 256 are read, and \
             44 more are left out"
        )
    );
}
