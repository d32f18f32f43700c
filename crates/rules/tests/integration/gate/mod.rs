//! Rules that are enforced: gates against the replays of the logs of the same requests.

mod bounds;
mod same_as_replay;
mod traffic;
