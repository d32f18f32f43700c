//! What running code notes about itself while somebody looks.
//!
//! Code anywhere in the program may note here what it does. Nobody reads it unless the program has an admin
//! address, and whatever nobody has asked for costs a load of an atomic and a branch.
//! `weir-inside` reads it, and shows it.

pub mod call;
pub mod glass;
pub mod task;
pub mod thread;
