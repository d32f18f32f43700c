//! `weir gateway` beside nginx as a plain proxy. Client, proxy and backend share the machine.

mod check;
mod configurations;
mod memory;
mod proxies;
mod rates;
mod tokens;

use std::path::Path;

use crate::build;
use crate::load::{self, Load};
use crate::settings::{Settings, folder, text};
use crate::table::Table;
pub(super) use proxies::{NGINX, Proxy};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command, is_installed};

/// The sizes of answers, in kilobytes.
const KILOBYTES: [usize; 2] = [1, 100];

/// Tokens of a smoke run.
const SMOKE_TOKENS: usize = 100;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let programs =
        [("curl", "curl"), ("wrk", "wrk"), ("h2load", "nghttp2-client"), (NGINX, "nginx-light")];
    let notes = packages::missing(&programs, !settings.is_smoke);
    if !is_installed(NGINX) || !is_installed("curl") {
        return Ok(vec![Table::missing("gateway", "proxies", notes)]);
    }
    build::weir(settings)?;
    for example in ["gate", "pace", "hold"] {
        build::example(settings, example)?;
    }
    let setup = Setup::start(settings)?;
    let (nginx, weir) = (proxies::nginx(setup.backend.port)?, setup.weir(&[])?);
    setup.check(&nginx, &weir)?;
    let memory = memory::table(&setup)?;
    if settings.is_smoke || !is_installed("wrk") {
        rates::open_loop(&setup, [&nginx, &weir], 1_000.0)?;
        return Ok(vec![Table::missing("gateway", "proxies", notes)]);
    }
    let mut tables = rates::all(&setup, [&nginx, &weir])?;
    tables.push(memory);
    tables.iter_mut().take(1).for_each(|table| table.notes.extend(notes.clone()));
    Ok(tables)
}

/// The backend of the proxies, and the tokens of their clients.
pub(super) struct Setup<'a> {
    settings: &'a Settings,
    backend: Proxy,
    /// A file with a token in each line.
    tokens: String,
    /// A token that is sent again and again.
    token: String,
}

/// What a client sends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Requests {
    WithoutToken,
    /// The same token with each.
    OneToken,
    /// The next token of the file with each.
    NewTokens,
}

impl<'a> Setup<'a> {
    pub(super) fn start(settings: &'a Settings) -> Outcome<Self> {
        let files = folder()?.join("gateway");
        write_files(&files)?;
        let backend = proxies::backend(&files)?;
        let tokens = tokens::file(settings.is_smoke.then_some(SMOKE_TOKENS))?;
        let token = tokens::first(&tokens)?;
        Ok(Self { settings, backend, tokens: text(&tokens), token })
    }

    /// A gateway with these options.
    pub(super) fn weir(&self, options: &[&str]) -> Outcome<Proxy> {
        proxies::weir(self.settings, self.backend.port, 0, options)
    }

    /// Compares all answers that a proxy may give to the token with the files of the backend.
    pub(super) fn check_answers(&self, proxy: &Proxy, route: &str) -> Outcome {
        for kilobytes in KILOBYTES {
            let path = format!("/{route}/{kilobytes}");
            check::answers(proxy, &path, &self.token, content(kilobytes).as_bytes())?;
        }
        Ok(())
    }

    fn check(&self, nginx: &Proxy, weir: &Proxy) -> Outcome {
        for (name, proxy) in [("nginx", nginx), ("weir", weir)] {
            for route in ["open", "HS256"] {
                self.check_answers(proxy, route).map_err(|error| format!("{name}, {error}"))?;
            }
        }
        check::refusals(weir, "/HS256/1", &self.token)?;
        let limited = proxies::weir(self.settings, self.backend.port, proxies::LIMITS, &[])?;
        check::caching(&limited, "/HS256/1", &self.tokens)
    }

    /// Sends as many requests as a proxy answers in these seconds.
    pub(super) fn load(
        &self,
        proxy: &Proxy,
        path: &str,
        requests: Requests,
        seconds: u32,
    ) -> Outcome<Load> {
        let (mut wrk, url) = (load::wrk(seconds), proxy.url(path));
        match requests {
            Requests::WithoutToken => wrk.args(["-s", "bench/http/wrk.lua", &url]),
            Requests::OneToken => {
                let field = format!("Authorization: Bearer {}", self.token);
                wrk.args(["-H", &field, "-s", "bench/http/wrk.lua", &url])
            }
            Requests::NewTokens => {
                wrk.args(["-s", "bench/gateway/tokens.lua", &url, "--", &self.tokens])
            }
        };
        Ok(load::measured(&mut wrk)?.0)
    }

    /// Sends requests a second at this rate. Returns the 99th percentile of the latency in
    /// microseconds.
    fn p99_us(&self, proxy: &Proxy, path: &str, rate: f64, seconds: f64) -> Outcome<f64> {
        let host = format!("127.0.0.1:{}", proxy.port);
        let arguments = [&host, path, &rate.to_string(), &seconds.to_string(), &self.token];
        let mut pace = command(&self.settings.example("pace"), &arguments);
        Ok(load::measured(&mut pace)?.1)
    }
}

/// Writes the files of the backend, named by their kilobytes.
fn write_files(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    for kilobytes in KILOBYTES {
        std::fs::write(folder.join(kilobytes.to_string()), content(kilobytes))?;
    }
    Ok(())
}

/// The content of a file. No part equals another one, so that exchanged parts are noticed.
fn content(kilobytes: usize) -> String {
    (0..kilobytes * 125).map(|number| format!("{number:07}\n")).collect()
}
