//! The servers that answer with bodies, for `cargo xtask bench http`.

pub mod respond;
