//! What the embedded lists make of real agents.

mod age;
mod agents;
