//! Chooses a backend by the value of a claim.

mod lookup;
mod template;

pub(crate) use self::lookup::Lookup;
pub(crate) use self::template::Template;
