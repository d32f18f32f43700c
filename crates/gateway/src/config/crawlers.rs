//! `[crawlers]`: the crawlers whose signatures are verified.

use hyper::header::HeaderName;
use hyper::http::uri::Authority;

use super::folder::ConfigFolder;
use super::origin::Origin;
use super::read_authorities;
use super::table::TableReader;
use crate::crawlers::{CrawlerConfig, CrawlerProblem};
use crate::header_fields;

/// The most agents of a configuration. The keys of all of them are fetched every five minutes.
const AGENTS_MAX: usize = 100;

/// Reads the table. Notes mistakes, and may return `None` then.
pub(super) fn read(table: TableReader<'_>, folder: &ConfigFolder) -> Option<CrawlerConfig> {
    let list = table.strings("agents");
    if !table.has("agents") {
        table.complain("`agents` is missing: [\"https://crawler.example\"]");
    }
    let mut agents: Vec<String> = Vec::new();
    for item in list.iter().flat_map(|list| &list.value) {
        let origin = item.value.parse::<Origin>();
        match origin.map(|origin| origin.to_string().to_ascii_lowercase()) {
            Ok(agent) if agents.contains(&agent) => {
                table.complain_at(item, format!("`{agent}` is named twice; leave one out"));
            }
            Ok(agent) => agents.push(agent),
            Err(error) => table.complain_at(item, error.to_string()),
        }
    }
    if let Some(list) = &list
        && (list.value.is_empty() || list.value.len() > AGENTS_MAX)
    {
        table.complain_at(list, format!("name at least one agent, and at most {AGENTS_MAX}"));
    }
    let hosts = read_hosts(&table);
    let authorities = read_authorities(&table, folder);
    let field = table.string("forward_field").and_then(|name| {
        let field = HeaderName::from_bytes(name.value.as_bytes()).ok();
        let field = field.filter(|field| !header_fields::is_own(field));
        if field.is_none() {
            let message = format!("`{}` is not a header field that can be set", name.value);
            table.complain_at(&name, message);
        }
        field
    });
    let config = CrawlerConfig { agents, hosts, authorities, field };
    match config.problem() {
        Some(CrawlerProblem::Url(error)) => {
            list.iter().for_each(|list| table.complain_at(list, error.to_string()));
        }
        // The file of authorities was reported with its line.
        Some(CrawlerProblem::Trust(error)) if !table.has("ca_file") => {
            table.complain(error.to_string());
        }
        _ => {}
    }
    table.finish();
    Some(config)
}

/// Reads the hosts that signatures may be for.
fn read_hosts(table: &TableReader<'_>) -> Vec<String> {
    let list = table.strings("hosts");
    if list.as_ref().is_none_or(|list| list.value.is_empty()) {
        table.complain(
            "`hosts` is missing: [\"shop.example\"]; without it, a signature that a crawler sent to \
             another site would count here",
        );
    }
    let mut hosts = Vec::new();
    for item in list.iter().flat_map(|list| &list.value) {
        let is_host = |text: &str| text.parse::<Authority>().is_ok_and(|it| it.as_str() == text);
        if item.value.contains(['@', '*']) || !is_host(item.value) {
            let message =
                format!("`{}` is not a host such as shop.example or shop.example:8443", item.value);
            table.complain_at(item, message);
        }
        hosts.push(item.value.to_ascii_lowercase());
    }
    hosts
}
