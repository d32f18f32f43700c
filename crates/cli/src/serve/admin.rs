//! The server at the address of `--admin`, separate from the page.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use weir_ingest::{DataSet, RequestTotals, RequestsBy};
use weir_inside::{AdminServer, Inside, RequestsPart};
use weir_log::Log;
use weir_server::{Address, BindOptions, ServerHandle};

use super::listening::origin;
use super::metrics_field::warn_if_missing;
use crate::display::safe;
use crate::options::PageArguments;
use crate::outcome::{Failure, say};

/// A server that listens, but does not serve yet.
pub(super) struct Admin {
    server: AdminServer,
    pub(super) inside: Inside,
    /// By what requests are counted, besides their methods and statuses.
    by: Option<RequestsBy>,
}

impl Admin {
    /// Listens at the address of the arguments, if there is one.
    pub(super) async fn bind(
        arguments: &PageArguments,
        page: ServerHandle,
        log: Log,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = &arguments.admin.admin else { return Ok(None) };
        let options = BindOptions {
            #[cfg(target_os = "linux")]
            purpose: "admin",
            #[cfg(target_os = "linux")]
            inherited: arguments.inherited.clone(),
            #[cfg(target_os = "linux")]
            listening: arguments.listening.clone(),
            ..BindOptions::default()
        };
        let server = AdminServer::bind(address, arguments.token()?, options).await;
        let server = server.map_err(|error| Failure::new(format_args!("--admin: {error}")))?;
        let inside = Inside::default();
        inside.add(page);
        let by = arguments.admin.metrics_by.clone();
        Ok(Some(Self { server: server.with_log(log), inside, by }))
    }

    /// Counts the requests that are read into a data set from now on. A task on the runtime warns if
    /// they do not have what they are grouped by.
    pub(super) fn count_requests(&self, data: &Arc<DataSet>, runtime: &Runtime) {
        data.count_requests(RequestTotals::new(self.by.clone()));
        if let Some(by) = self.by.clone() {
            runtime.spawn(warn_if_missing(Arc::downgrade(data), by));
        }
        // A data set that was deleted frees its memory.
        let data = Arc::downgrade(data);
        let counts = move || data.upgrade()?.request_counts();
        self.inside.add(RequestsPart::new(self.by.as_ref().map(RequestsBy::label), counts));
    }

    /// Makes the pages and the page of the traffic link to each other.
    pub(super) fn link(self, page: &ServerHandle, traffic: String) -> Self {
        if let Address::Tcp(_) = self.server.address() {
            page.link_admin(origin(self.server.address()));
        }
        Self { server: self.server.with_traffic(traffic), ..self }
    }

    /// Prints the address. The returned future answers until the other half is dropped.
    pub(super) fn serve(self) -> (impl Future<Output = ()>, AdminEnd) {
        say(format_args!("a look inside at {}", safe(&origin(self.server.address()))));
        let (end, ends) = oneshot::channel();
        let shutdown = async {
            // The other half is only ever dropped.
            let _ = ends.await;
        };
        (self.server.serve(self.inside, shutdown), AdminEnd(end))
    }
}

/// Ends the server when it is dropped. After a handover, the old process may have requests to
/// finish for an hour. Meanwhile the address should show the new process.
pub(super) struct AdminEnd(#[expect(dead_code, reason = "dropped")] oneshot::Sender<Infallible>);
