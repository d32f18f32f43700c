//! Parts of a file that came before their turn.

use std::collections::BTreeMap;

use super::junction::{AHEAD_BYTES_MAX, Piece, room_bytes};

/// Keeps what cannot be taken yet, as bytes before it are still to come on another connection.
/// Of each connection this is at most [`AHEAD_BYTES_MAX`], and one read.
#[derive(Debug, Default)]
pub(crate) struct Order {
    waiting: BTreeMap<u64, Waiting>,
    /// Bytes of the connection that holds the file.
    own_bytes: usize,
}

#[derive(Debug)]
enum Waiting {
    Own(Vec<u8>),
    Joined(Piece),
}

impl Waiting {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Joined(piece) => &piece.bytes,
        }
    }
}

/// Two parts of a file overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overlap;

impl Order {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True where no more of the own bytes may wait.
    pub(crate) fn is_own_full(&self) -> bool {
        self.own_bytes >= AHEAD_BYTES_MAX
    }

    /// Keeps bytes of the connection that holds the file.
    pub(crate) fn keep_own(&mut self, offset: u64, bytes: Vec<u8>) -> Result<(), Overlap> {
        self.own_bytes += room_bytes(&bytes);
        self.keep(offset, Waiting::Own(bytes))
    }

    /// Keeps a piece of a joined connection.
    pub(crate) fn keep_joined(&mut self, piece: Piece) -> Result<(), Overlap> {
        self.keep(piece.offset, Waiting::Joined(piece))
    }

    /// Takes the part that begins at `offset`, if it is here.
    pub(crate) fn take(&mut self, offset: u64) -> Result<Option<Part>, Overlap> {
        let Some(first) = self.waiting.first_entry() else { return Ok(None) };
        if *first.key() < offset {
            return Err(Overlap);
        }
        if *first.key() > offset {
            return Ok(None);
        }
        let waiting = first.remove();
        if let Waiting::Own(bytes) = &waiting {
            self.own_bytes -= room_bytes(bytes);
        }
        Ok(Some(Part(waiting)))
    }

    fn keep(&mut self, offset: u64, waiting: Waiting) -> Result<(), Overlap> {
        match self.waiting.insert(offset, waiting) {
            None => Ok(()),
            Some(_) => Err(Overlap),
        }
    }
}

/// A part whose turn has come. The room that it takes is free when it is dropped.
#[derive(Debug)]
pub(crate) struct Part(Waiting);

impl Part {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Overlap};

    #[test]
    fn parts_come_out_in_order_and_once() {
        let mut order = Order::default();
        order.keep_own(6, b"gh".to_vec()).expect("no overlap");
        order.keep_own(3, b"def".to_vec()).expect("no overlap");
        assert!(matches!(order.take(0), Ok(None)));
        assert_eq!(order.take(3).expect("no overlap").expect("it is here").bytes(), b"def");
        assert_eq!(order.take(6).expect("no overlap").expect("it is here").bytes(), b"gh");
        assert!(order.is_empty() && !order.is_own_full());
    }

    #[test]
    fn overlaps_are_found() {
        let mut order = Order::default();
        order.keep_own(3, b"def".to_vec()).expect("no overlap");
        assert_eq!(order.keep_own(3, b"d".to_vec()), Err(Overlap));
        assert!(matches!(order.take(4), Err(Overlap)));
    }
}
