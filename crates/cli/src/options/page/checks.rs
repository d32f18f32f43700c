//! Options that need an address or another option, and addresses that are given twice.

use weir_server::Address;

use super::PageArguments;
use crate::display::safe;
use crate::outcome::Failure;

impl PageArguments {
    /// Checks the options that depend on each other. `lines` are the addresses that receive lines.
    ///
    /// # Errors
    /// With the first option that has no effect, or the first address that is given twice.
    pub(crate) fn check(&self, lines: &[&Address]) -> Result<(), Failure> {
        let page = || self.listen.iter().map(|listen| &listen.0);
        let served: Vec<&Address> = page().chain(lines.iter().copied()).collect();
        if let Some(option) = self.tls_option()
            && !served.iter().any(|address| has_tls(address))
        {
            return Err(Failure::new(format_args!(
                "{option}: no address uses TLS; write one as tls://HOST:PORT or systemd+tls:NAME, such as \
                 --listen tls://127.0.0.1:7443, or leave out the option"
            )));
        }
        if let Some(option) = self.page_socket_option()
            && !page().any(|address| matches!(address, Address::Unix(_)))
        {
            return Err(Failure::new(format_args!(
                "{option}: the page has no Unix socket; add --listen unix:PATH, or leave out the option"
            )));
        }
        let admin = self.admin.admin.as_ref().map(|admin| admin.socket_address());
        check_distinct(&served.into_iter().chain(admin).collect::<Vec<_>>())
    }

    /// Returns the first option about TLS that is set.
    fn tls_option(&self) -> Option<&'static str> {
        let options =
            [("--tls-cert", self.tls_cert.is_some()), ("--tls-self-signed", self.tls_self_signed)];
        first_set(&options)
    }

    /// Returns the first option about the file of a Unix socket of the page that is set.
    fn page_socket_option(&self) -> Option<&'static str> {
        let options = [
            ("--page-socket-mode", self.page_socket_mode.is_some()),
            #[cfg(unix)]
            ("--page-socket-owner", self.page_socket_owner.is_some()),
        ];
        first_set(&options)
    }
}

/// Returns the first of these options that is set.
pub(crate) fn first_set(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_set)| *is_set).map(|(option, _)| *option)
}

fn has_tls(address: &Address) -> bool {
    matches!(address, Address::Tls(_) | Address::PassedTls(_))
}

/// Checks that all addresses can be listened at together.
fn check_distinct(addresses: &[&Address]) -> Result<(), Failure> {
    for (index, address) in addresses.iter().enumerate() {
        let Some(first) = addresses[..index].iter().find(|other| other.overlaps(address)) else {
            continue;
        };
        let (first, address) = (safe(&first.to_string()), safe(&address.to_string()));
        return Err(Failure::new(match first == address {
            true => format!("{address}: the address is given twice; leave out one of the two"),
            false => format!(
                "{first} and {address} are the same address, or one of them includes the other; leave out one, \
                 or change its port"
            ),
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_server::Address;

    use super::check_distinct;

    #[test]
    fn addresses_are_distinct_places() {
        let check = |texts: [&str; 2]| {
            let addresses = texts.map(|text| text.parse::<Address>().expect("an address"));
            check_distinct(&addresses.iter().collect::<Vec<_>>())
        };
        for texts in [
            ["tcp://127.0.0.1:7904", "tcp://127.0.0.1:7904"],
            ["tcp://127.0.0.1:7904", "tcp://localhost:7904"],
            ["tcp://127.0.0.1:7904", "tls://127.0.0.1:7904"],
            ["tcp://127.0.0.1:7904", "tcp://0.0.0.0:7904"],
            ["unix:/run/a.sock", "unixgram:/run/a.sock"],
        ] {
            check(texts).expect_err("one place");
        }
        for texts in [
            ["tcp://127.0.0.1:7904", "tcp://127.0.0.1:7905"],
            ["tcp://127.0.0.1:7904", "udp://127.0.0.1:7904"],
            ["tcp://127.0.0.1:0", "tcp://127.0.0.1:0"],
            ["unix:/run/a.sock", "unix:/run/b.sock"],
            ["systemd:", "systemd:"],
        ] {
            check(texts).expect("two places");
        }
    }
}
