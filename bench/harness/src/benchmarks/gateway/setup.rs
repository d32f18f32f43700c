//! The proxies that run, their tokens, and the check of all answers.

use std::path::{Path, PathBuf};

use super::client::Requests;
use super::proxies::{self, Program};
use super::tokens::{self, Algorithm};
use super::turns::{Contender, Process};
use super::{KILOBYTES, check};
use crate::settings::Settings;
use weir_tools::shell::{Outcome, is_installed};

/// Tokens of a smoke run.
const SMOKE_TOKENS: usize = 100;

pub(super) const NGINX: &str = "nginx";
pub(super) const HAPROXY: &str = "haproxy";
pub(super) const NJS: &str = "nginx with njs";
pub(super) const WEIR: &str = "weir";

/// The number of limits in the gateway that is measured with limits.
pub(super) const LIMITS: usize = 5;

/// The proxies that run, and the tokens.
pub(super) struct Setup<'a> {
    pub(super) settings: &'a Settings,
    pub(super) backend: u16,
    pub(super) nginx: Program,
    haproxy: Option<Program>,
    pub(super) njs: Option<Program>,
    pub(super) weir: Program,
    /// In the order of [`Algorithm::ALL`].
    pub(super) tokens: Vec<PathBuf>,
    /// A token that is sent again and again.
    pub(super) token: String,
}

impl<'a> Setup<'a> {
    pub(super) fn start(
        settings: &'a Settings,
        backend: &Program,
        notes: &mut Vec<String>,
    ) -> Outcome<Self> {
        let backend = backend.port;
        let njs = match proxies::njs_module(settings) {
            Ok(module) => Some(proxies::nginx_with_njs(backend, &module)?),
            Err(error) => {
                notes.push(format!("missing: {error}"));
                None
            }
        };
        let haproxy = is_installed(HAPROXY).then(|| proxies::haproxy(backend)).transpose()?;
        notes.push("without a row: Envoy, which is not among Debian's packages".to_owned());
        let least = settings.is_smoke.then_some(SMOKE_TOKENS);
        let tokens: Outcome<Vec<PathBuf>> =
            Algorithm::ALL.into_iter().map(|algorithm| tokens::file(algorithm, least)).collect();
        let tokens = tokens?;
        let token = tokens::first(&tokens[0])?;
        let nginx = proxies::nginx(backend)?;
        let weir = proxies::weir(settings, backend, 0)?;
        Ok(Self { settings, backend, nginx, haproxy, njs, weir, tokens, token })
    }

    pub(super) fn proxies(&self) -> impl Iterator<Item = (&'static str, &Program)> {
        let others = [(HAPROXY, &self.haproxy), (NJS, &self.njs)];
        let others = others.into_iter().filter_map(|(name, proxy)| Some((name, proxy.as_ref()?)));
        [(NGINX, &self.nginx)].into_iter().chain(others).chain([(WEIR, &self.weir)])
    }

    pub(super) fn check(&self, files: &Path) -> Outcome {
        for kilobytes in KILOBYTES {
            let expected = std::fs::read(files.join(kilobytes.to_string()))?;
            for (name, proxy) in self.proxies() {
                for path in ["open", "HS256"] {
                    let path = format!("/{path}/{kilobytes}");
                    check::answers(proxy, &path, &self.token, &expected)
                        .map_err(|error| format!("{name}, {error}"))?;
                }
            }
        }
        for proxy in self.njs.iter().chain([&self.weir]) {
            check::refusals(proxy, "/HS256/1", &self.token)?;
        }
        let weir = proxies::weir(self.settings, self.backend, LIMITS)?;
        for (algorithm, tokens) in Algorithm::ALL.into_iter().zip(&self.tokens) {
            check::caching(&weir, &format!("/{}/1", algorithm.name()), tokens)?;
        }
        Ok(())
    }

    pub(super) fn contender(
        &'a self,
        name: &'a str,
        path: &'a str,
        requests: Requests<'a>,
    ) -> Contender<'a> {
        let found = self.proxies().find(|(known, _)| *known == name);
        let process = Process::Running(found.map_or(&self.nginx, |(_, proxy)| proxy));
        Contender { name, process, path, requests }
    }
}
