//! Bodies of four kinds and four sizes over three sockets, beside other HTTP servers.

mod check;
mod servers;

use std::path::{Path, PathBuf};

use crate::load::{self, Load, rate_and_cost};
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, folder};
use crate::table::{Table, Threshold};
use servers::{Address, Server, Socket};
use weir_tools::packages;
use weir_tools::shell::{Outcome, is_installed};

/// The kinds of bodies.
const KINDS: [&str; 4] = ["array", "chunked", "string", "file"];
/// The sizes of bodies.
const KILOBYTES: [usize; 4] = [1, 10, 100, 1000];
/// The size of a smoke run.
const SMOKE_KILOBYTES: [usize; 1] = [100];

/// How long a server is measured at a time.
const SECONDS: u32 = 1;

/// The contender that Weir has to equal in every cell, and what counts as equal.
const FLOOR: (&str, f64) = ("hyper", 0.98);

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    const TITLE: &str = "answers of HTTP servers";
    let mut notes = missing(settings);
    if !is_installed("curl") {
        return Ok(vec![Table::missing("http", TITLE, notes)]);
    }
    let bodies = write_bodies()?;
    let servers = servers::start(settings, &bodies)?;
    let sizes = if settings.is_smoke { &SMOKE_KILOBYTES[..] } else { &KILOBYTES[..] };
    check_answers(&servers, &bodies, sizes)?;
    let lacks_load = ["wrk", "h2load"].iter().any(|program| !is_installed(program));
    if settings.is_smoke || lacks_load {
        return Ok(vec![Table::missing("http", TITLE, notes)]);
    }
    let mut tables = Vec::new();
    for kilobytes in KILOBYTES {
        tables.extend(measure(settings, &servers, kilobytes)?);
    }
    tables.iter_mut().take(1).for_each(|table| table.notes.append(&mut notes));
    Ok(tables)
}

/// Installs missing programs, except in a smoke run. Returns a note about each that is missing.
fn missing(settings: &Settings) -> Vec<String> {
    let programs = [
        ("curl", "curl"),
        ("wrk", "wrk"),
        ("h2load", "nghttp2-client"),
        (servers::NGINX, "nginx-light"),
    ];
    packages::missing(&programs, !settings.is_smoke)
}

/// Writes the files that are sent, named by their kilobytes, and returns their folder.
fn write_bodies() -> Outcome<PathBuf> {
    let bodies = folder()?.join("http");
    std::fs::create_dir_all(&bodies)?;
    // No part equals another one, so that exchanged parts are noticed.
    let whole: Vec<u8> =
        (0..1_000_000_u32 / 8).flat_map(|n| format!("{n:07}\n").into_bytes()).collect();
    for kilobytes in KILOBYTES {
        std::fs::write(bodies.join(kilobytes.to_string()), &whole[..kilobytes * 1000])?;
    }
    Ok(bodies)
}

fn check_answers(servers: &[Server], bodies: &Path, sizes: &[usize]) -> Outcome {
    for kilobytes in sizes {
        let expected = std::fs::read(bodies.join(kilobytes.to_string()))?;
        for server in servers {
            for (kind, socket) in cells(server) {
                let path = format!("/{kind}/{kilobytes}");
                let answer = check::answer(server.address(socket), &path, kind, &expected);
                answer.map_err(|error| {
                    format!("{}, {path}: {error}", row(kind, socket, server.name))
                })?;
            }
        }
    }
    Ok(())
}

/// Each kind of body that a server sends, over each socket.
fn cells(server: &Server) -> impl Iterator<Item = (&'static str, Socket)> {
    server.kinds.iter().flat_map(|kind| Socket::ALL.map(|socket| (*kind, socket)))
}

/// The name of a server's row.
fn row(kind: &str, socket: Socket, server: &str) -> String {
    format!("{kind} over {}, {server}", socket.name())
}

/// The tables of the rates and of the processor times of all bodies of a size. The servers of a
/// cell take turns.
fn measure(settings: &Settings, servers: &[Server], kilobytes: usize) -> Outcome<[Table; 2]> {
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for (kind, socket) in cells(&servers[0]) {
        let runs = if socket == Socket::Tcp { settings.runs } else { settings.runs.div_ceil(2) };
        let able = servers.iter().filter(|server| server.kinds.contains(&kind));
        let contenders = able.map(|server| {
            Contender::of_several(row(kind, socket, server.name), runs, move || {
                let path = format!("/{kind}/{kilobytes}");
                rate_and_cost(server.process(socket), || {
                    loaded(server.address(socket), &path, kilobytes)
                })
            })
        });
        let units = [Unit::RequestsPerSecond, Unit::Microseconds];
        let [of_rates, of_times] = take_turns(contenders.collect(), units)?;
        rates.extend(of_rates);
        times.extend(of_times);
    }
    let of = format!("bodies of {kilobytes} kB");
    let mut rates = Table::list("http", format!("{of}, requests a second"), rates);
    add_goals(&mut rates, kilobytes);
    let title = format!("{of}, processor time of the server for a request");
    Ok([rates, Table::list("http", title, times)])
}

/// Sends requests as fast as the server answers: with wrk, or over a Unix socket about as many as
/// it answers in a second, with h2load.
fn loaded(address: &Address, path: &str, kilobytes: usize) -> Outcome<Load> {
    let url = format!("{}{path}", address.url);
    match &address.unix {
        Some(socket) => {
            let base = format!("--base-uri=unix:{socket}");
            load::h2load(2_000_000 / (kilobytes + 50), &[&base, &url])
        }
        None => {
            let mut wrk = load::wrk(SECONDS);
            Ok(load::measured(wrk.args(["-s", "bench/http/wrk.lua", &url]))?.0)
        }
    }
}

fn add_goals(table: &mut Table, kilobytes: usize) {
    for kind in KINDS {
        for socket in Socket::ALL {
            for (other, least) in goals(kind, kilobytes) {
                let ratio = table.ratio(&row(kind, socket, "weir"), &row(kind, socket, other));
                let what = format!("{kind} over {}, weir by {other}", socket.name());
                table.add_goal(&what, ratio, Threshold::AtLeast(least));
            }
        }
    }
}

/// The servers that Weir is compared with, and the goals of its rate by theirs.
fn goals(kind: &str, kilobytes: usize) -> Vec<(&'static str, f64)> {
    match (kind, kilobytes) {
        ("array" | "chunked", 100) => vec![("hyper", 1.3)],
        ("array" | "chunked", _) => vec![FLOOR],
        _ => vec![FLOOR, ("nginx", 0.9)],
    }
}
