//! Replays of whole rules, against naive oracles.

mod crowdsec;
mod fail2ban;
mod limit_req;
mod lists;
mod presets;
mod windows;
