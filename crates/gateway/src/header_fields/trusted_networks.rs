//! The networks of trusted proxies.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use weir_core::AddressBlock;

/// The networks of trusted proxies, whose statements about clients are believed.
///
/// ```
/// use weir_gateway::TrustedNetworks;
///
/// let networks: TrustedNetworks = ["10.0.0.0/8", "unix:"].iter().map(|it| it.parse().unwrap()).collect();
/// assert!(networks.trusts(Some("10.1.2.3".parse().unwrap())));
/// assert!(!networks.trusts(Some("192.0.2.1".parse().unwrap())));
/// assert!(networks.trusts(None), "the peer of a Unix socket has no address");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedNetworks {
    blocks: Vec<AddressBlock>,
    /// Whether the peers of Unix sockets are trusted.
    has_unix: bool,
}

impl TrustedNetworks {
    /// Whether no peer is trusted.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && !self.has_unix
    }

    /// Whether a peer is trusted; `None` is the peer of a Unix socket.
    pub fn trusts(&self, peer: Option<IpAddr>) -> bool {
        match peer {
            Some(address) => self.blocks.iter().any(|block| block.contains_address(address)),
            None => self.has_unix,
        }
    }
}

impl FromIterator<TrustedNetwork> for TrustedNetworks {
    fn from_iter<I: IntoIterator<Item = TrustedNetwork>>(networks: I) -> Self {
        let mut all = Self::default();
        for TrustedNetwork(network) in networks {
            match network {
                Some(block) => all.blocks.push(block),
                None => all.has_unix = true,
            }
        }
        all
    }
}

/// A trusted network: `10.0.0.0/8`, a single address, or `unix:` for all Unix sockets, as in
/// nginx's `set_real_ip_from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedNetwork(Option<AddressBlock>);

impl FromStr for TrustedNetwork {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        if text == "unix:" {
            return Ok(Self(None));
        }
        let address = || text.parse().ok().map(AddressBlock::of);
        let block = AddressBlock::parse(text).or_else(address);
        block.map(|block| Self(Some(block))).ok_or_else(|| InvalidNetwork(text.to_owned()))
    }
}

/// The error for a text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidNetwork(String);

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is not a network; write ADDRESS/PREFIX, such as 10.0.0.0/8 or 2001:db8::/32, an \
             address, or unix: for Unix sockets",
            self.0
        )
    }
}

impl std::error::Error for InvalidNetwork {}
