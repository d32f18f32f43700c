//! The claims that a route requires, and those that its backend learns.

use hyper::header::HeaderName;

use super::table::{LocatedValue, TableReader};
use crate::access::forwarded_claims::ForwardedClaims;
use crate::access::requirement::Requirement;
use crate::header_fields;

/// Reads `require`: claims and the values that they must have. Notes mistakes.
pub(super) fn read_required(table: TableReader<'_>) -> Vec<Requirement> {
    let mut requirements = Vec::new();
    let entries = table.list_entries();
    if entries.is_empty() {
        table
            .complain("this requires nothing; name a claim and its values: { scope = [\"read\"] }");
    }
    for (claim, list) in entries {
        let values = list.value.iter().map(|item| item.value.to_owned()).collect::<Vec<_>>();
        if values.is_empty() {
            table.complain_at(&list, "the list is empty; name at least one value");
        }
        let LocatedValue { span, key, .. } = list;
        check_claim(&table, &LocatedValue { value: claim, span, key });
        requirements.push(Requirement { claim: claim.to_owned(), values });
    }
    requirements
}

/// Reads `forward_claims` and `forward_token`. Notes mistakes.
pub(super) fn read_forwarded(route: &TableReader<'_>) -> ForwardedClaims {
    let token = route.boolean("forward_token");
    let mut fields: Vec<(HeaderName, String)> = Vec::new();
    for (name, claim) in route.table("forward_claims").iter().flat_map(TableReader::entries) {
        check_claim(route, &claim);
        let field = HeaderName::from_bytes(name.as_bytes()).ok();
        match field.filter(|field| !header_fields::is_own(field)) {
            Some(field) if fields.iter().any(|(other, _)| *other == field) => {
                route.complain_at(&claim, format!("`{field}` is set twice; leave one out"));
            }
            Some(field) => fields.push((field, claim.value.to_owned())),
            None => {
                let message = format!("`{name}` is not a header field that can be set");
                route.complain_at(&claim, message);
            }
        }
    }
    ForwardedClaims { fields, token }
}

/// Checks that a token can have a claim.
pub(super) fn check_claim(table: &TableReader<'_>, claim: &LocatedValue<&str>) {
    if claim.value.split('.').any(str::is_empty) {
        let message =
            "no token has this claim; write its name, or its path: \"realm_access.tenant\"";
        table.complain_at(claim, message);
    }
}
