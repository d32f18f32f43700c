//! The lines of any input as they are, for the commands that look at bytes rather than at
//! records: in blocks of whole lines ([`LineBlocks`]), of several inputs at once with their
//! output in order ([`in_order`]), text by text ([`each_text`]).

mod arguments;
mod blocks;
mod budget;
mod order;
mod pieces;
mod texts;

pub(crate) use arguments::LogArguments;
pub(crate) use blocks::{LineBlocks, is_passing};
pub(crate) use budget::Budget;
pub(crate) use order::{Ordered, in_order};
pub(crate) use pieces::Pieces;
pub(crate) use texts::{Failed, each_text, say_unmatched};
