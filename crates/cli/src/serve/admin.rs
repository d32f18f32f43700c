//! The address of `--admin`, beside the page.

use weir_inside::{AdminServer, Inside};
use weir_server::{BindOptions, ServerHandle};

use super::origin;
use crate::display::safe;
use crate::options::PageArguments;
use crate::outcome::{Failure, say};

/// A server that listens, but does not serve yet.
pub(super) struct Admin {
    server: AdminServer,
    pub(super) inside: Inside,
}

impl Admin {
    /// Listens at the address of the arguments, if there is one.
    pub(super) async fn bind(
        arguments: &PageArguments,
        page: ServerHandle,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = &arguments.admin.admin else { return Ok(None) };
        let options = BindOptions {
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
        Ok(Some(Self { server, inside }))
    }

    /// Says the address, and answers until the program ends.
    pub(super) fn serve(self) -> impl Future<Output = ()> {
        say(format_args!("a look inside at {}", safe(&origin(self.server.address()))));
        self.server.serve(self.inside, std::future::pending())
    }
}
