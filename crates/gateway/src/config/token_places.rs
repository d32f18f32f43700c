//! `token` of a route: where the token may be besides `Authorization`.

use super::table::TableReader;
use crate::access::token_place::TokenPlaces;

/// Reads the table, and notes mistakes.
pub(super) fn read(table: TableReader<'_>) -> TokenPlaces {
    let cookie = table.string("cookie");
    let is_name_byte =
        |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
    if let Some(name) = &cookie
        && (name.value.is_empty() || !name.value.bytes().all(is_name_byte))
    {
        table.complain_at(name, "this is not the name of a cookie");
    }
    let places = TokenPlaces {
        websocket_protocol: table.boolean("websocket_protocol").unwrap_or(false),
        cookie: cookie.map(|name| name.value.to_owned()),
        query: table.boolean("query").unwrap_or(false),
    };
    table.finish();
    places
}
