//! The arguments of the commands that serve the page.

mod checks;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
#[cfg(target_os = "linux")]
use weir_server::ListeningSockets;
use weir_server::{
    AccessToken, BindOptions, DataSetName, PublicUrl, SelfSignedCertificate, ServeOptions,
    SocketMode, TlsFiles,
};
#[cfg(unix)]
use weir_server::{PassedSockets, SocketOwner};

pub(crate) use checks::first_set;

use super::{
    AdminArguments, ListenAddress, LogArguments, ReadArguments, memory_bytes_max, parse_duration,
    read_token,
};
use crate::outcome::Failure;

/// How the page is served.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Where to serve the page: a port of this machine such as 7999, localhost:7999 or
    /// `[::1]:7999`; tls://HOST:PORT; unix:PATH; systemd:NAME for a socket that systemd passes,
    /// systemd+tls:NAME to speak TLS on it. May be given several times [default: 127.0.0.1:7878, or
    /// a free port if that is in use]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Vec<ListenAddress>,

    /// The certificate chain for tls:// addresses, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Make a certificate for tls:// addresses, in memory, and print its SHA-256 fingerprint.
    /// Browsers warn of it; compare the fingerprint with that which they show, and let them trust
    /// it
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,

    /// The certificate of `--tls-self-signed`.
    #[arg(skip)]
    certificate: OnceLock<SelfSignedCertificate>,

    /// The permissions of a unix: address of the page, in octal: 0660 lets the owner and the group
    /// in, 0666 every user [default: by the umask, usually 0755: the owner alone]
    #[arg(long, value_name = "MODE")]
    page_socket_mode: Option<SocketMode>,

    /// The owner of the file of a unix: address of the page: USER, USER:GROUP or :GROUP [default:
    /// the user who runs the command]
    #[cfg(unix)]
    #[arg(long, value_name = "OWNER")]
    page_socket_owner: Option<SocketOwner>,

    /// The sockets that systemd passed.
    #[cfg(unix)]
    #[arg(skip)]
    passed: OnceLock<PassedSockets>,

    /// The sockets that the process before has handed over.
    #[cfg(target_os = "linux")]
    #[arg(skip)]
    pub(crate) inherited: PassedSockets,

    /// The sockets of this process, to hand them over.
    #[cfg(target_os = "linux")]
    #[arg(skip)]
    pub(crate) listening: ListeningSockets,

    /// Let only those in who have the token in this file, at every address. Without it, a token is
    /// made and printed if other machines can reach an address
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Serve the page to other machines without encryption: everyone on the way can read the log
    /// and the token
    #[arg(long)]
    pub(crate) insecure_http: bool,

    /// The address at which a reverse proxy serves the page, such as `https://logs.example.com`;
    /// the proxy must ask for a log-in unless there is a token. Also the name in the certificate of
    /// a tls:// address
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<PublicUrl>,

    /// The name of what the command shows: it is at /d/NAME as well as at /, and at
    /// /api/sessions/NAME for programs, also after a restart. ASCII letters, digits and `.`, `_`,
    /// `-` [default: main]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<DataSetName>,

    /// Keep a data set for this long after the last page that shows it was closed, such as 90s,
    /// 10m, 1h or 7d; an upload that broke off can be resumed for as long
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub(crate) keep_session: Duration,

    /// The most memory that all data sets may take together, such as 512MiB or 2G; when it is used
    /// up, uploads end with what was read, and no more are accepted [default: half of what the
    /// machine, the container or `ulimit -v` allows beyond 64MiB, or --memory if that is more]
    #[arg(long, value_name = "SIZE")]
    total_memory: Option<String>,

    /// Open connections of the page at most; those that are idle make room for others
    #[arg(long, value_name = "N", default_value_t = ServeOptions::default().connections_max)]
    page_connections: usize,

    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) admin: AdminArguments,

    #[command(flatten)]
    pub(crate) log: LogArguments,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

impl PageArguments {
    /// Returns the certificate for TLS, the permissions and the owner of Unix sockets, and the
    /// sockets that systemd passed.
    pub(crate) fn bind_options(&self) -> Result<BindOptions, Failure> {
        // clap requires both files or neither.
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = files.map(|(certificate, key)| TlsFiles { certificate, key });
        let self_signed = if self.tls_self_signed { Some(self.certificate()?) } else { None };
        Ok(BindOptions {
            socket_mode: self.page_socket_mode,
            #[cfg(unix)]
            socket_owner: self.page_socket_owner,
            #[cfg(unix)]
            passed: self.passed_sockets(),
            tls,
            self_signed,
            client_certificates: None,
            proxy_protocol: None,
            has_http2_prior_knowledge: false,
            #[cfg(target_os = "linux")]
            purpose: "page",
            #[cfg(target_os = "linux")]
            inherited: self.inherited.clone(),
            #[cfg(target_os = "linux")]
            listening: self.listening.clone(),
        })
    }

    /// Returns the sockets that systemd passed and that are not taken yet.
    #[cfg(unix)]
    pub(crate) fn passed_sockets(&self) -> PassedSockets {
        self.passed.get_or_init(PassedSockets::from_environment).clone()
    }

    /// Returns a certificate for all hosts by which browsers may address the server. Every call
    /// returns the same one.
    fn certificate(&self) -> Result<SelfSignedCertificate, Failure> {
        if let Some(certificate) = self.certificate.get() {
            return Ok(certificate.clone());
        }
        let mut names: BTreeSet<String> =
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        names.extend(self.public_url.as_ref().map(PublicUrl::host));
        names.extend(self.listen.iter().filter_map(ListenAddress::host));
        let made = SelfSignedCertificate::new(names);
        let made =
            made.map_err(|error| Failure::new(format_args!("--tls-self-signed: {error}")))?;
        Ok(self.certificate.get_or_init(|| made).clone())
    }

    /// The bytes of `--total-memory`.
    pub(crate) fn total_memory_bytes_max(&self) -> Result<Option<usize>, Failure> {
        let Some(text) = self.total_memory.as_deref() else { return Ok(None) };
        let total = memory_bytes_max("--total-memory", text)?;
        if let Some(of_each) = &self.read.memory
            && total < self.read.memory_bytes_max()?
        {
            return Err(Failure::new(format_args!(
                "--total-memory: {text} is less than the {of_each} of --memory, which one data set may \
                 take; raise the first or lower the second"
            )));
        }
        Ok(Some(total))
    }

    /// The number of `--page-connections`.
    pub(crate) fn connections_max(&self) -> Result<usize, Failure> {
        match self.page_connections {
            0 => Err(Failure::new(
                "--page-connections: 0 is not a valid number of connections; write 1 or more",
            )),
            connections => Ok(connections),
        }
    }

    /// The token of `--token-file`.
    pub(crate) fn token(&self) -> Result<Option<AccessToken>, Failure> {
        self.token_file.as_deref().map(read_token).transpose()
    }
}
