//! `weir gateway` beside proxies that check no tokens, and beside nginx with a script that does.
//! Client, proxy and backend share the machine.

pub(super) mod check;
pub(super) mod client;
mod configurations;
mod faults;
mod memory;
pub(super) mod proxies;
mod setup;
mod speed;
pub(super) mod tokens;
mod turns;

use std::path::PathBuf;

use crate::build;
use crate::settings::{Settings, folder};
use crate::table::Table;
use setup::{HAPROXY, Setup};
use weir_tools::packages;
use weir_tools::shell::{Outcome, is_installed};

/// The sizes of answers, in kilobytes.
const KILOBYTES: [usize; 2] = [1, 100];

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let mut notes = missing(settings);
    if !is_installed(proxies::NGINX) || !is_installed("curl") {
        return Ok(vec![without_rows(notes)]);
    }
    build::weir(settings)?;
    for example in ["gate", "pace", "hold"] {
        build::example(settings, example)?;
    }
    let files = write_files()?;
    let backend = proxies::backend(&files, None)?;
    let setup = Setup::start(settings, &backend, &mut notes)?;
    setup.check(&files)?;
    let memory = memory::table(settings, backend.port)?;
    if is_installed("wrk") {
        let picture = faults::draw(settings, &files, &setup.token)?;
        notes.push(format!("three faults as a picture: {}", picture.display()));
    }
    if settings.is_smoke || !is_installed("wrk") {
        speed::open_loop(&setup, 1_000.0)?;
        return Ok(vec![without_rows(notes)]);
    }
    let mut tables = speed::all(&setup)?;
    tables.push(memory);
    if let Some(last) = tables.last_mut() {
        last.notes.extend(notes);
    }
    Ok(tables)
}

fn without_rows(notes: Vec<String>) -> Table {
    Table { notes, ..Table::new("gateway", "proxies", Vec::new()) }
}

/// Installs missing programs, except in a smoke run. Returns a note about each that is missing.
fn missing(settings: &Settings) -> Vec<String> {
    let programs = [
        ("curl", "curl"),
        ("wrk", "wrk"),
        ("h2load", "nghttp2-client"),
        (proxies::NGINX, "nginx-light"),
        (HAPROXY, "haproxy"),
    ];
    packages::missing(&programs, !settings.is_smoke)
}

/// Writes the files of the backend, named by their kilobytes, and returns their folder.
pub(super) fn write_files() -> Outcome<PathBuf> {
    let files = folder()?.join("gateway");
    std::fs::create_dir_all(&files)?;
    for kilobytes in KILOBYTES {
        // No part equals another one, so that exchanged parts are noticed.
        let content: String = (0..kilobytes * 125).map(|number| format!("{number:07}\n")).collect();
        std::fs::write(files.join(kilobytes.to_string()), content)?;
    }
    Ok(files)
}
