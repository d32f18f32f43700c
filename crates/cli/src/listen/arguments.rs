//! The arguments of `weir listen`.

use std::time::Duration;

use clap::Args;
#[cfg(unix)]
use weir_feed::SocketOwner;
use weir_feed::{
    ActiveMode, Address, BindOptions, FeedAddress, FeedOptions, Framing, Remedies, SocketMode,
};

use crate::options::{
    KeepArguments, PageArguments, StateArguments, first_set, parse_duration, size_bytes,
};
use crate::outcome::Failure;

/// Show on the page what servers send: over TCP, TLS, UDP and Unix sockets
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListenArguments {
    /// Where to listen for lines: tcp://HOST:PORT or plain HOST:PORT, tls://HOST:PORT,
    /// udp://HOST:PORT, unix:PATH, unixgram:PATH, systemd:NAME. `?active=MODE` and `?framing=MODE`
    /// after an address set the mode of this listener alone
    #[arg(value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<FeedAddress>,

    /// How far reading may be ahead of parsing: passive (read when there is room), once (one read
    /// ahead), a number of reads ahead, or unlimited, up to --cap
    #[arg(long, value_name = "MODE", default_value = "passive")]
    active: ActiveMode,

    /// How lines are separated: newline, octets (counted, RFC 6587), or auto: detected from the
    /// first bytes of a connection
    #[arg(long, value_name = "MODE", default_value = "auto")]
    framing: Framing,

    /// With --active unlimited: the bytes that may wait to be parsed; a connection that exceeds
    /// them is dropped
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    cap: String,

    /// Open connections of all listeners together
    #[arg(long, value_name = "N", default_value_t = FeedOptions::default().connections_max)]
    connections: usize,

    /// Close a connection that completes no line for this long: 90s, 10m, 1h, 1d
    #[arg(long, value_name = "TIME", default_value = "1h")]
    idle: String,

    /// The permissions of unix: and unixgram: sockets for lines, in octal: 0660 lets the owner and
    /// the group send, 0666 every user [default: by the umask, usually 0755: the owner alone]
    #[arg(long, value_name = "MODE")]
    socket_mode: Option<SocketMode>,

    /// The owner of the files of unix: and unixgram: sockets for lines: USER, USER:GROUP or :GROUP
    /// [default: the user who runs the command]
    #[cfg(unix)]
    #[arg(long, value_name = "OWNER")]
    socket_owner: Option<SocketOwner>,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) state: StateArguments,

    #[command(flatten)]
    pub(crate) page: PageArguments,
}

/// The longest idle time: a hundred years.
const IDLE_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);

const EXAMPLES: &str = "\
Examples:
  weir listen udp://127.0.0.1:5140           for nginx: access_log syslog:server=127.0.0.1:5140
  weir listen --keep 1h 127.0.0.1:5140 unix:/run/weir.sock
  weir listen --socket-mode 0666 unixgram:/run/weir.sock
                                             for nginx: access_log syslog:server=unix:/run/weir.sock
  weir listen 'tcp://0.0.0.0:5140?active=64' --framing octets
  weir listen tls://0.0.0.0:6514 --tls-cert cert.pem --tls-key key.pem
  tail -F access.log | socat - TCP:127.0.0.1:5140

The page is at --listen, which is for the browser alone. Every program that can reach an address can
send lines to it; only tls:// encrypts them.";

impl ListenArguments {
    /// Returns the options of the feed.
    pub(crate) fn feed_options(&self) -> Result<FeedOptions, Failure> {
        let cap = size_bytes("--cap", &self.cap)?;
        if cap == 0 {
            return Err(Failure::new("--cap: 0 holds no line; write it as 64MiB"));
        }
        let idle = parse_duration(&self.idle)
            .map_err(|error| Failure::new(format_args!("--idle: {error}")))?;
        if idle.is_zero() {
            return Err(Failure::new("--idle: 0 closes every connection; write it as 90s or 1h"));
        }
        // A longer limit has the same effect and could overflow when added to a time.
        let idle = idle.min(IDLE_MAX);
        if self.connections == 0 {
            return Err(Failure::new(
                "--connections: 0 is not a valid number of connections; write 1 or more",
            ));
        }
        self.check_socket_options()?;
        Ok(FeedOptions {
            active: self.active,
            framing: self.framing,
            connections_max: self.connections,
            idle,
            cap_bytes: usize::try_from(cap).unwrap_or(usize::MAX),
            bind: BindOptions {
                socket_mode: self.socket_mode,
                #[cfg(unix)]
                socket_owner: self.socket_owner,
                ..self.page.bind_options()?
            },
            remedies: Remedies {
                connections: "--connections raises the limit",
                idle: "--idle sets the limit",
                cap: "--cap sets the limit",
            },
            ..FeedOptions::default()
        })
    }

    /// Checks that the options about the files of sockets are about some address.
    fn check_socket_options(&self) -> Result<(), Failure> {
        let options = [
            ("--socket-mode", self.socket_mode.is_some()),
            #[cfg(unix)]
            ("--socket-owner", self.socket_owner.is_some()),
        ];
        let is_file = |address: &FeedAddress| {
            matches!(address.socket, Address::Unix(_) | Address::UnixDatagram(_))
        };
        match first_set(&options) {
            Some(option) if !self.addresses.iter().any(is_file) => Err(Failure::new(format_args!(
                "{option}: no address for lines is a Unix socket; write one as unix:PATH or unixgram:PATH, \
                 or leave out the option; --page-{} is for the page",
                option.trim_start_matches('-')
            ))),
            _ => Ok(()),
        }
    }
}
