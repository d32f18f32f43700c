//! Lines of a configuration that let an address pass a rule.

use super::sentence::NAME_CHARACTERS_MAX;
use super::{BlockCause, BlockRule, Remedy};
use crate::number::separated;

impl BlockRule {
    /// Returns what lets an address pass the rule.
    pub fn remedy_for(&self, address: &str) -> Remedy {
        let name = self.name.as_deref().map_or("NAME", plain_name);
        let (place, text) = match self.cause {
            BlockCause::RequestLimit
            | BlockCause::RequestDelay
            | BlockCause::DryRun
            | BlockCause::ConnectionLimit => {
                let place =
                    format!("in http of nginx.conf, with $limited as the key of zone {name}");
                let lines = format!(
                    "geo $is_exempt {{ default 0; {address} 1; }}\n\
                     map $is_exempt $limited {{ 0 $binary_remote_addr; 1 \"\"; }}"
                );
                (place + &self.burst_text(), lines)
            }
            BlockCause::AccessRule => {
                ("in nginx.conf, before the deny".to_owned(), format!("allow {address};"))
            }
            BlockCause::Jail => (
                "in jail.local".to_owned(),
                format!("[{name}]\nignoreip = 127.0.0.1/8 ::1 {address}"),
            ),
            BlockCause::Scenario => (
                "in a file of /etc/crowdsec/parsers/s02-enrich".to_owned(),
                format!(
                    "name: local/allowed\ndescription: addresses that are never banned\nwhitelist:\n  \
                     reason: allowed\n  ip:\n    - \"{address}\""
                ),
            ),
            BlockCause::PacketFilter => (
                "on the command line, with ufw".to_owned(),
                format!("ufw insert 1 allow from {address}"),
            ),
        };
        Remedy { place, text }
    }

    /// The burst that the highest excess asks for, as the rest of a sentence.
    fn burst_text(&self) -> String {
        let Some([_, highest]) = self.excess.filter(|_| self.cause == BlockCause::RequestLimit)
        else {
            return String::new();
        };
        let burst = separated(highest.ceil().max(1.0) as u64);
        format!(
            "; or burst={burst}, which lets a request with the highest excess of the log pass, though \
             each that passes adds to the excess"
        )
    }
}

/// A name that is safe in a configuration, or a placeholder for it.
fn plain_name(name: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if name.chars().all(is_plain) && name.len() <= NAME_CHARACTERS_MAX { name } else { "NAME" }
}
