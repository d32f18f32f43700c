//! Tests of the public token API: attacks, known vectors, key sets and their servers, other
//! issuers.

mod attacks;
mod cache;
mod fetching;
mod file;
mod issuers;
mod key_sets;
mod mutations;
mod pyjwt;
mod server;
mod settings;
mod signer;
mod vectors;
