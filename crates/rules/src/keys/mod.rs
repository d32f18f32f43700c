//! The keys by which limits count: their numbers, and what a report says about them.
//!
//! A replay numbers keys with an [`Interner`], which forgets none; a gate with [`KeySlots`], from
//! which keys are removed in their [`UseOrder`]. [`KeySummary`] is what a replay found out about a
//! key, and [`KeyLists`] are the keys that a report lists.

mod interner;
mod lists;
mod slots;
mod summary;
mod use_order;

pub(crate) use self::interner::{Interner, number_keys};
pub(crate) use self::lists::KeyLists;
pub(crate) use self::slots::KeySlots;
pub(crate) use self::summary::{KeySummary, Peak, Units, ZoneSummary, other_settings};
pub(crate) use self::use_order::UseOrder;
