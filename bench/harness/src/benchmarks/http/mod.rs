//! Bodies of four kinds and four sizes over three sockets, beside other HTTP servers.

mod check;
mod load;
mod matrix;
mod open_loop;
mod picture;
mod servers;

use std::path::{Path, PathBuf};

use crate::measure::{Measured, Unit};
use crate::settings::{Settings, folder};
use crate::table::{Table, Threshold};
use matrix::{Cell, Matrix};
use servers::{Server, Socket};
use weir_tools::packages;
use weir_tools::shell::{Outcome, is_installed};

/// The kinds of bodies.
const KINDS: [&str; 4] = ["array", "chunked", "string", "file"];
/// The sizes of bodies.
const KILOBYTES: [usize; 4] = [1, 10, 100, 1000];
/// The size of a smoke run.
const SMOKE_KILOBYTES: [usize; 1] = [100];

/// The contender that Weir has to equal in every cell, and what counts as equal.
const FLOOR: (&str, f64) = ("hyper", 0.98);

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let mut notes = missing(settings);
    if !is_installed("curl") {
        return Ok(vec![without_rows("answers of HTTP servers", notes)]);
    }
    let bodies = write_bodies()?;
    let (servers, absent) = servers::start(settings, &bodies)?;
    notes.extend(absent);
    let sizes = if settings.is_smoke { &SMOKE_KILOBYTES[..] } else { &KILOBYTES[..] };
    check_answers(&servers, &bodies, sizes)?;
    let lacks_load = ["wrk", "h2load"].iter().any(|program| !is_installed(program));
    if settings.is_smoke || lacks_load {
        return Ok(vec![without_rows("answers of HTTP servers", notes)]);
    }
    let matrix = measure(settings, &servers)?;
    let page = folder()?.join("http.md");
    std::fs::write(&page, matrix.to_markdown())?;
    let drawing = page.with_extension("svg");
    std::fs::write(&drawing, picture::picture(&matrix.cells))?;
    std::fs::write(&page, matrix.to_markdown() + &tails(&servers)?)?;
    notes.push(format!("as a picture: {}", drawing.display()));
    notes.push(format!("all cells with both numbers and the percentiles: {}", page.display()));
    Ok(tables(&matrix, notes))
}

fn without_rows(title: &str, notes: Vec<String>) -> Table {
    Table { notes, ..Table::new("http", title, Vec::new()) }
}

/// Installs missing programs, except in a smoke run. Returns a note about each that is missing.
fn missing(settings: &Settings) -> Vec<String> {
    let programs = [
        ("curl", "curl"),
        ("wrk", "wrk"),
        ("h2load", "nghttp2-client"),
        (servers::NGINX, "nginx-light"),
        ("h2o", "h2o"),
        ("puma", "puma"),
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
        for (server, kind) in pairs(servers) {
            for socket in Socket::ALL {
                let path = format!("/{kind}/{kilobytes}");
                let answer = check::answer(server.address(socket), &path, kind, &expected);
                answer.map_err(|error| {
                    format!("{}, {} {path}: {error}", server.name, socket.name())
                })?;
            }
        }
    }
    Ok(())
}

/// Each server with each kind of body that it sends.
fn pairs(servers: &[Server]) -> impl Iterator<Item = (&Server, &'static str)> {
    let of = |server| KINDS.into_iter().map(move |kind| (server, kind));
    servers.iter().flat_map(of).filter(|(server, kind)| server.kinds.contains(kind))
}

fn measure(settings: &Settings, servers: &[Server]) -> Outcome<Matrix> {
    let mut matrix = Matrix::default();
    for kilobytes in KILOBYTES {
        for kind in KINDS {
            for socket in Socket::ALL {
                matrix.cells.extend(cells(settings, servers, kind, kilobytes, socket)?);
            }
        }
    }
    Ok(matrix)
}

/// Measures one body over one socket, the servers in turn.
fn cells(
    settings: &Settings,
    servers: &[Server],
    kind: &'static str,
    kilobytes: usize,
    socket: Socket,
) -> Outcome<Vec<Cell>> {
    let able: Vec<&Server> = servers.iter().filter(|server| server.kinds.contains(&kind)).collect();
    let cell = |server: &&Server| Cell::new(kind, kilobytes, socket, server.name);
    let mut cells: Vec<Cell> = able.iter().map(cell).collect();
    let runs = if socket == Socket::Tcp { settings.runs } else { settings.runs.div_ceil(2) };
    for turn in 0..runs {
        for (server, cell) in able.iter().zip(&mut cells) {
            // Puma is many times slower than the others.
            if turn > 0 && server.name == servers::PUMA {
                continue;
            }
            let before = server.processor_seconds(socket)?;
            let path = format!("/{kind}/{kilobytes}");
            let requests = requests_of_a_second(server, kilobytes);
            let load = load::closed(server.address(socket), &path, requests)?;
            let used = server.processor_seconds(socket)? - before;
            cell.add(&load, used);
        }
    }
    Ok(cells)
}

/// About as many requests as a server answers in a second.
fn requests_of_a_second(server: &Server, kilobytes: usize) -> usize {
    let requests = 2_000_000 / (kilobytes + 50);
    if server.name == servers::PUMA { requests / 10 } else { requests }
}

/// The 100 kB stream at a fixed rate.
fn tails(servers: &[Server]) -> Outcome<String> {
    let mut text = matrix::tails_heading(open_loop::RATE);
    for server in servers.iter().filter(|server| server.kinds.contains(&"chunked")) {
        let load = open_loop::run(server.address(Socket::Tcp), "/chunked/100", 100_000)?;
        text.push_str(&matrix::tails_row(server.name, &load));
    }
    Ok(text)
}

/// Two tables for each size of body, with the goals.
fn tables(matrix: &Matrix, notes: Vec<String>) -> Vec<Table> {
    let mut tables = Vec::new();
    for kilobytes in KILOBYTES {
        let rows = |unit, runs: fn(&Cell) -> &Vec<f64>| {
            let cells = matrix.cells.iter().filter(|cell| cell.kilobytes == kilobytes);
            let row = |cell: &Cell| Measured { name: cell.name(), unit, runs: runs(cell).clone() };
            cells.map(row).collect()
        };
        let of = format!("bodies of {kilobytes} kB");
        let rates = rows(Unit::RequestsPerSecond, |cell| &cell.rates);
        let mut rates = Table::list("http", format!("{of}, requests a second"), rates);
        add_goals(&mut rates, kilobytes);
        let times = rows(Unit::Microseconds, |cell| &cell.processor_us);
        let title = format!("{of}, processor time of the server for a request");
        tables.extend([rates, Table::list("http", title, times)]);
    }
    if let Some(last) = tables.last_mut() {
        last.notes = notes;
    }
    tables
}

fn add_goals(table: &mut Table, kilobytes: usize) {
    for kind in KINDS {
        for socket in Socket::ALL {
            for (other, least) in goals(kind, kilobytes) {
                let ours = matrix::row_name(kind, socket, "weir");
                let theirs = matrix::row_name(kind, socket, other);
                let ratio = table.ratio(&ours, &theirs);
                let what = format!("{kind} over {}, weir by {other}", socket.name());
                table.add_goal(&what, ratio, Threshold::AtLeast(least));
            }
        }
    }
}

/// The servers that Weir is compared with, and the goals of its rate by theirs.
fn goals(kind: &str, kilobytes: usize) -> Vec<(&'static str, f64)> {
    match (kind, kilobytes) {
        ("array" | "chunked", 100) => vec![("hyper", 1.3), (servers::PUMA, 3.0)],
        ("array" | "chunked", _) => vec![FLOOR],
        _ => vec![FLOOR, ("nginx", 0.9)],
    }
}
