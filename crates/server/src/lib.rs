//! The server: sessions, uploads, live views and the embedded page, over HTTP and WebSocket.
//!
//! A session is one data set in memory, with an address. A page creates sessions and uploads files
//! to them. `curl -T` does both with one request. A program fills a session through
//! [`Server::new_session`], or serves one under a name through [`Server::new_served`].
//! `docs/protocol.md` describes every address.
//!
//! ```
//! use weir_server::{ServerOptions, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), weir_server::StartError> {
//! let listen = vec!["127.0.0.1:0".parse().expect("an address")];
//! let server = Server::bind(ServerOptions { listen, ..ServerOptions::default() }).await?;
//! for address in server.addresses() {
//!     println!("listening at {address}");
//! }
//! let shutdown = async { /* for instance: wait for ctrl-c */ };
//! server.serve(shutdown).await;
//! # Ok(())
//! # }
//! ```

mod accept;
mod access_token;
mod answer;
mod assets;
mod captured_request;
mod captures;
mod data_set_name;
mod event_sink;
mod export;
mod export_form;
mod file;
mod format_trial;
mod hub;
mod kept_text;
mod line_texts;
mod live;
mod memory_return;
mod message;
mod options;
mod page;
mod query_string;
mod random_id;
mod read_back;
mod refusal;
mod response;
mod routes;
mod server;
mod server_views;
mod session;
mod session_list;
mod source_lines;
mod statistics;
mod turns;
mod upload;
mod view;
mod view_work;

pub use access_token::{AccessToken, InvalidToken};
pub use assets::{Asset, Assets};
pub use captures::{PageCaptures, UploadCaptures};
pub use data_set_name::{DataSetName, InvalidName};
pub use hub::SessionHandle;
pub use line_texts::add_line_texts;
pub use options::{HtmlReport, Remedies, ServerOptions, StartError};
pub use page::{asset, html_page};
pub use query_string::parameters as query_parameters;
pub use refusal::Refusal;
pub use response::respond;
pub use server::{Server, ServerHandle};
pub use server_views::SessionViewCounts;
pub use statistics::{SOURCES_MAX, ServerCounts, SourceCounts, allowed_memory_bytes};
pub use view_work::ViewCounts;
pub use weir_net::socket::{
    Address, AddressError, BindError, BindOptions, ConnectionBudget, SelfSignedCertificate,
    SelfSignedError, SocketMode, TlsFiles, outward_address, reserve_connections, server_address,
};
#[cfg(target_os = "linux")]
pub use weir_net::socket::{Handover, ListeningSockets, report_ready, take_over};
#[cfg(unix)]
pub use weir_net::socket::{PassedSockets, SocketOwner};
pub use weir_net::{PublicUrl, PublicUrlError, ServeOptions};
