//! The lines of any input as they are, for the commands that look at bytes rather than at
//! records: in blocks of whole lines ([`LineBlocks`]), of several inputs at once with their
//! output in order ([`in_order`]), text by text ([`each_text`]).

mod blocks;
mod order;
mod pieces;
mod texts;

pub(crate) use blocks::{LineBlocks, is_passing};
pub(crate) use order::{Ordered, in_order};
pub(crate) use pieces::Piece;
pub(crate) use texts::{Failed, each_text};
