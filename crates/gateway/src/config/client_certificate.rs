//! The certificates of clients: the authorities of `tls`, and what routes do with them.

use hyper::header::HeaderName;
use weir_net::socket::ClientCertificates;

use super::folder::ConfigFolder;
use super::table::{LocatedValue, TableReader};
use crate::access::client_certificate::{CertificatePart, CertificateRule, ClientName};
use crate::header_fields;

/// Reads `client_ca_file` and `client_certificates` of `tls`. Notes mistakes.
pub(super) fn read_trust(
    table: &TableReader<'_>,
    folder: &ConfigFolder,
) -> Option<ClientCertificates> {
    let mode = table.string("client_certificates");
    let are_required = match mode.as_ref().map(|mode| mode.value) {
        Some("optional") => false,
        Some("required") | None => true,
        Some(other) => {
            let message =
                format!("`{other}` is not valid here; write \"required\" or \"optional\"");
            mode.iter().for_each(|mode| table.complain_at(mode, &message));
            true
        }
    };
    let Some(file) = table.string("client_ca_file") else {
        if let Some(mode) = mode.filter(|_| !table.has("client_ca_file")) {
            let message = "this needs `client_ca_file`, the authorities that sign the certificates";
            table.complain_at(&mode, message);
        }
        return None;
    };
    let clients = ClientCertificates { authorities: folder.path(file.value), are_required };
    if let Err(error) = clients.check() {
        table.complain_at(&file, error.to_string());
    }
    Some(clients)
}

/// Reads `client_certificate`, `client_names` and `forward_certificate` of a route. Notes mistakes,
/// such as that the gateway asks for no certificates.
pub(super) fn read_rule(route: &TableReader<'_>, are_asked_for: bool) -> CertificateRule {
    let required = route.string("client_certificate");
    if let Some(mode) = required.as_ref().filter(|mode| mode.value != "required") {
        let message = format!(
            "`{}` is not valid here; write \"required\", or leave it out if the route is also for \
             clients without a certificate",
            mode.value
        );
        route.complain_at(mode, message);
    }
    let names = route.strings("client_names");
    if let Some(list) = &names
        && list.value.is_empty()
    {
        route.complain_at(list, "the list is empty; name at least one subject or alternative name");
    }
    if names.is_some() && !route.may_have("client_certificate") {
        route.complain("`client_names` needs client_certificate = \"required\"");
    }
    let names = names.map(|list| list.value).unwrap_or_default();
    let rule = CertificateRule {
        is_required: required.is_some(),
        names: names.iter().filter_map(|name| read_name(route, name)).collect(),
        fields: read_fields(route),
    };
    for key in ["client_certificate", "forward_certificate"].into_iter().filter(|it| route.has(it))
    {
        if !are_asked_for {
            route.complain(format!(
                "`{key}` needs client_ca_file = \"clients.pem\" in `tls`: no client is asked for a \
                 certificate"
            ));
        }
    }
    rule
}

fn read_name(route: &TableReader<'_>, name: &LocatedValue<&str>) -> Option<ClientName> {
    let read = ClientName::read(name.value);
    if read.is_none() {
        let message = format!(
            "`{}` may be a name of several kinds, or of none; write \"subject:...\", \"dns:...\" or \
             \"uri:...\"",
            name.value
        );
        route.complain_at(name, message);
    }
    read
}

fn read_fields(route: &TableReader<'_>) -> Vec<(HeaderName, CertificatePart)> {
    let mut fields: Vec<(HeaderName, CertificatePart)> = Vec::new();
    for (name, part) in route.table("forward_certificate").iter().flat_map(TableReader::entries) {
        let kind = read_part(route, &part);
        let field = HeaderName::from_bytes(name.as_bytes()).ok();
        match field.filter(|field| !header_fields::is_own(field)) {
            Some(field) if fields.iter().any(|(other, _)| *other == field) => {
                route.complain_at(&part, format!("`{field}` is set twice; leave one out"));
            }
            Some(field) => fields.extend(kind.map(|kind| (field, kind))),
            None => {
                let message = format!("`{name}` is not a header field that can be set");
                route.complain_at(&part, message);
            }
        }
    }
    fields
}

fn read_part(route: &TableReader<'_>, part: &LocatedValue<&str>) -> Option<CertificatePart> {
    match part.value {
        "certificate" => Some(CertificatePart::Certificate),
        "subject" => Some(CertificatePart::Subject),
        "names" => Some(CertificatePart::Names),
        other => {
            route.complain_at(part, format!(
                "`{other}` is not a part of a certificate; write \"certificate\", \"subject\" or \"names\""
            ));
            None
        }
    }
}
