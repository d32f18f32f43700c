//! Decompression of pushed bytes through every layer of packing.

use std::io;

use super::archive::is_archive;
use super::compression::MAGIC_BYTES;
use super::packing::Packing;
use super::push::PushDecoder;
use super::unpack::{DEPTH_MAX, HEAD_BYTES};

/// Removes every layer of compression, and UTF-16, from bytes that are pushed to it, up to the text
/// or the archive inside. Joins lines that a container runtime has split. It decodes a file exactly
/// as the command does, so it also unpacks gzip in gzip.
///
/// Memory: that of a [`PushDecoder`] for each layer, eight at most, each with bounded output.
///
/// ```
/// use weir_ingest::LayeredDecoder;
///
/// let mut decoder = LayeredDecoder::of(b"\xFF\xFEo\0")?.expect("a byte order mark");
/// decoder.push_some(b"\xFF\xFEo\0n\0e\0")?;
/// decoder.finish()?;
/// assert_eq!(decoder.output(), b"one");
/// assert!(LayeredDecoder::of(b"192.0.2.7 - -")?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LayeredDecoder {
    outer: PushDecoder,
    /// The number of bytes of the outer output that the inner decoder has taken.
    taken: usize,
    inner: Inner,
    /// The number of layers around this one.
    depth: usize,
}

/// The content of a layer's output.
#[derive(Debug)]
enum Inner {
    /// Not known yet, because too few bytes have arrived. They stay in the output of the outer
    /// decoder. The vector is the output of the whole decoder, which is empty.
    Undecided(Vec<u8>),
    /// Text or an archive.
    Content,
    Layer(Box<LayeredDecoder>),
}

impl LayeredDecoder {
    /// A decoder for a stream with these first bytes; `None` if it is neither compressed nor
    /// UTF-16. [`Self::needs_more`] shows whether they are enough.
    ///
    /// # Errors
    /// If a decompression library cannot be set up.
    pub fn of(first_bytes: &[u8]) -> io::Result<Option<Self>> {
        Self::at_depth(first_bytes, 0)
    }

    /// Whether more first bytes of a stream are needed to tell whether it is packed. A whole line
    /// is enough, because no header of an archive contains a line feed.
    pub fn needs_more(first_bytes: &[u8]) -> bool {
        // The mark of UTF-16 is two bytes, and two more tell it from that of UTF-32.
        let is_packed = first_bytes.len() >= MAGIC_BYTES && Packing::of(first_bytes).is_some();
        let is_text = first_bytes.contains(&b'\n') || first_bytes.len() >= HEAD_BYTES;
        !(is_packed || is_text || is_archive(first_bytes))
    }

    fn at_depth(first_bytes: &[u8], depth: usize) -> io::Result<Option<Self>> {
        let Some(packing) = Packing::of(first_bytes) else { return Ok(None) };
        if depth == DEPTH_MAX {
            return Err(io::Error::other("it is packed in too many layers; unpack it first"));
        }
        let (outer, inner) = (PushDecoder::of(packing)?, Inner::Undecided(Vec::new()));
        Ok(Some(Self { outer, taken: 0, inner, depth }))
    }

    /// The name of the innermost layer that was reached, for messages.
    pub fn name(&self) -> &'static str {
        match &self.inner {
            Inner::Layer(inner) => inner.name(),
            Inner::Undecided(_) | Inner::Content => self.outer.name(),
        }
    }

    /// Unpacks the beginning of `bytes` and returns its length, which is 0 while an inner layer
    /// has more output. Appends to [`Self::output`], which never exceeds a few MiB if it is emptied
    /// after each call.
    ///
    /// # Errors
    /// If the data is damaged. The output from before the damage is kept.
    pub fn push_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_inner_output() {
            self.feed()?;
            return Ok(0);
        }
        let pushed = self.outer.push_some(bytes);
        self.decide(pushed.is_err())?;
        self.feed()?;
        match pushed {
            // The inner layers decode the output from before the damage. The next call that
            // reaches the outer decoder returns the error again.
            Err(_) if self.has_inner_output() => Ok(0),
            pushed => pushed,
        }
    }

    /// Whether the bytes taken so far have more output. If so, empty the output and push again, if
    /// necessary an empty slice.
    pub fn has_more(&self) -> bool {
        self.has_inner_output() || self.outer.has_more()
    }

    /// Ends the source.
    ///
    /// # Errors
    /// If the data is truncated.
    pub fn finish(&mut self) -> io::Result<()> {
        let finished = self.outer.finish();
        self.decide(true)?;
        while self.has_inner_output() {
            let before = (self.taken, self.output().len());
            self.feed()?;
            // The output is full: the caller has to empty it before the end.
            if before == (self.taken, self.output().len()) {
                return Err(io::Error::other("its last output exceeds the buffer"));
            }
        }
        if let Inner::Layer(inner) = &mut self.inner {
            inner.finish()?;
        }
        finished
    }

    /// The output that has not been taken yet. The caller empties it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        match &mut self.inner {
            Inner::Undecided(none) => none,
            Inner::Content => self.outer.output(),
            Inner::Layer(inner) => inner.output(),
        }
    }

    /// Decides what the output of this layer contains, once its first bytes have arrived.
    fn decide(&mut self, has_ended: bool) -> io::Result<()> {
        let Inner::Undecided(_) = self.inner else { return Ok(()) };
        if self.outer.is_text() {
            self.inner = Inner::Content;
            return Ok(());
        }
        let output = self.outer.output();
        if !has_ended && Self::needs_more(output) {
            return Ok(());
        }
        self.inner = match Self::at_depth(output, self.depth + 1)? {
            Some(inner) => Inner::Layer(Box::new(inner)),
            None => Inner::Content,
        };
        Ok(())
    }

    /// Whether an inner layer can return output without further input.
    fn has_inner_output(&self) -> bool {
        match &self.inner {
            Inner::Layer(inner) => inner.has_more() || self.taken < self.outer.output_bytes(),
            Inner::Undecided(_) | Inner::Content => false,
        }
    }

    /// Pushes output of this layer into the inner one, as much as that takes at once.
    fn feed(&mut self) -> io::Result<()> {
        let Inner::Layer(inner) = &mut self.inner else { return Ok(()) };
        let output = self.outer.output();
        self.taken += inner.push_some(&output[self.taken..])?;
        if self.taken == output.len() {
            output.clear();
            self.taken = 0;
        }
        Ok(())
    }
}
