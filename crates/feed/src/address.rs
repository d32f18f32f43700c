//! Addresses of a feed: an address to listen at, and the options of that listener.

use std::fmt;
use std::str::FromStr;

use weir_net::socket::{Address, AddressError};

use crate::framing::Framing;
use crate::option_error::OptionError;
use crate::options::ActiveMode;

/// An address to listen at, with options for this listener alone.
///
/// An [`Address`], optionally followed by `?active=64`, `?framing=octets`, or both joined by `&`.
///
/// ```
/// use weir_feed::{FeedAddress, Framing};
///
/// let address: FeedAddress = "unix:/run/weir.sock?framing=octets".parse()?;
/// assert_eq!(address.socket.to_string(), "unix:/run/weir.sock");
/// assert_eq!((address.active, address.framing), (None, Some(Framing::Octets)));
/// # Ok::<(), weir_feed::FeedAddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedAddress {
    /// The address of the socket.
    pub socket: Address,
    /// How far reading may run ahead of the sink; `None` for the feed's mode.
    pub active: Option<ActiveMode>,
    /// How lines are separated; `None` for the feed's framing.
    pub framing: Option<Framing>,
}

/// The error of a text that is not a valid [`FeedAddress`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedAddressError {
    /// The part before `?` is not an address.
    Address(AddressError),
    /// An option has an invalid value.
    Option {
        /// The whole text.
        address: String,
        /// The error in the option.
        error: OptionError,
    },
    /// An option is neither `active` nor `framing`.
    UnknownOption {
        /// The whole text.
        address: String,
        /// The option.
        option: String,
    },
}

impl fmt::Display for FeedAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Option { address, error } => write!(formatter, "`{address}`: {error}"),
            Self::UnknownOption { address, option } => write!(
                formatter,
                "`{address}`: `{option}` is not a valid option; after `?` write active=MODE, \
                 framing=MODE, or both joined by `&`"
            ),
        }
    }
}

impl std::error::Error for FeedAddressError {}

impl FromStr for FeedAddress {
    type Err = FeedAddressError;

    fn from_str(text: &str) -> Result<Self, FeedAddressError> {
        let (socket, options) = text.rsplit_once('?').unwrap_or((text, ""));
        let socket = socket.parse().map_err(FeedAddressError::Address)?;
        let mut address = Self { socket, active: None, framing: None };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            address.set(text, option)?;
        }
        Ok(address)
    }
}

impl FeedAddress {
    fn set(&mut self, text: &str, option: &str) -> Result<(), FeedAddressError> {
        let invalid = |error| FeedAddressError::Option { address: text.to_owned(), error };
        match option.split_once('=') {
            Some(("active", value)) => self.active = Some(value.parse().map_err(invalid)?),
            Some(("framing", value)) => self.framing = Some(value.parse().map_err(invalid)?),
            _ => {
                return Err(FeedAddressError::UnknownOption {
                    address: text.to_owned(),
                    option: option.to_owned(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::FeedAddress;
    use crate::framing::Framing;
    use crate::options::ActiveMode;

    #[test]
    fn options_follow_a_question_mark() {
        let address: FeedAddress = "unix:/w?active=64&framing=octets".parse().expect("an address");
        assert_eq!(address.active, ActiveMode::count(64));
        assert_eq!(address.framing, Some(Framing::Octets));
        let address: FeedAddress = "a:1?active=once".parse().expect("an address");
        assert_eq!((address.active, address.framing), (Some(ActiveMode::Once), None));
        let address: FeedAddress = "a:1".parse().expect("an address");
        assert_eq!((address.active, address.framing), (None, None));
    }

    #[test]
    fn errors_quote_the_address() {
        for text in ["h", "h:1?active=0", "h:1?active=many", "h:1?framing=x", "h:1?what"] {
            let error = text.parse::<FeedAddress>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
            assert!(error.contains("is not a valid"), "{error}");
        }
    }
}
