//! Joins split lines of a log that is written piece by piece.

use weir_core::BlockLimits;

use super::cri::{CriDecoder, is_cri};
use super::decode::Decode;

/// Joins the lines that a container runtime has split, if the first line of a log was written by
/// one. The lines of every other log pass as they are, without a copy.
///
/// Source: the log format of the kubelet, `pkg/kubelet/kuberuntime/logs` of Kubernetes.
///
/// Memory: the split lines of two streams, each a byte over the line limit at most.
///
/// ```
/// use weir_ingest::LineJoiner;
///
/// let mut joiner = LineJoiner::default();
/// let lines = b"2025-12-17T09:03:01Z stdout P a lo\n2025-12-17T09:03:01Z stdout F ng line\n";
/// let [joined, _] = joiner.join([&lines[..], &[]]);
/// assert_eq!(joined, b"2025-12-17T09:03:01Z stdout F a long line\n");
/// ```
#[derive(Debug)]
pub struct LineJoiner {
    decoder: Option<CriDecoder>,
    is_at_start: bool,
    /// The lines that were returned last.
    joined: Vec<u8>,
    line_bytes_max: usize,
}

impl LineJoiner {
    /// A joiner at the start of a log, for lines of up to `line_bytes_max` bytes.
    pub fn new(line_bytes_max: usize) -> Self {
        Self { decoder: None, is_at_start: true, joined: Vec::new(), line_bytes_max }
    }

    /// Takes whole lines, or the beginning of one over the limit, in two adjacent parts. Returns
    /// the same parts or the joined lines, which may be none.
    pub fn join<'a>(&'a mut self, parts: [&'a [u8]; 2]) -> [&'a [u8]; 2] {
        let first = parts.into_iter().find(|part| !part.is_empty()).unwrap_or_default();
        if std::mem::take(&mut self.is_at_start) && is_cri(first) {
            self.decoder = Some(CriDecoder::new(self.line_bytes_max));
        }
        let Some(decoder) = &mut self.decoder else { return parts };
        self.joined = Vec::new();
        for part in parts {
            // It takes every piece whole and never fails.
            let _ = decoder.push(part, &mut self.joined);
        }
        [&self.joined, &[]]
    }

    /// Ends the log. Returns the split lines whose last parts are missing.
    pub fn finish(&mut self) -> &[u8] {
        self.joined = Vec::new();
        if let Some(mut decoder) = self.decoder.take() {
            let _ = decoder.finish(&mut self.joined);
        }
        self.is_at_start = true;
        &self.joined
    }

    /// Frees the memory of the lines that were returned last.
    pub fn release(&mut self) {
        self.joined = Vec::new();
    }

    /// The number of split lines whose last parts have not arrived.
    pub fn open_lines(&self) -> u64 {
        self.decoder.as_ref().map_or(0, CriDecoder::open_lines)
    }

    /// The memory that split lines take, in bytes, without the lines that were returned last.
    pub fn memory_bytes(&self) -> usize {
        self.decoder.as_ref().map_or(0, CriDecoder::memory_bytes)
    }
}

impl Default for LineJoiner {
    /// A joiner for lines of up to [`BlockLimits::LINE_BYTES_MAX`] bytes.
    fn default() -> Self {
        Self::new(BlockLimits::LINE_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::LineJoiner;

    const LINES: [&[u8]; 3] = [
        b"2025-12-17T09:03:01Z stdout P one \n",
        b"2025-12-17T09:03:02Z stderr P err\n",
        b"2025-12-17T09:03:03Z stdout F two\n",
    ];

    #[test]
    fn lines_are_joined_across_calls_and_parts() {
        let mut joiner = LineJoiner::default();
        assert_eq!(joiner.join([&[], LINES[0]]), [&b""[..], b""]);
        assert_eq!((joiner.open_lines(), joiner.memory_bytes() > 0), (1, true));
        let joined = b"2025-12-17T09:03:01Z stdout F one two\n";
        assert_eq!(joiner.join([LINES[1], LINES[2]])[0], joined);
        assert_eq!(joiner.open_lines(), 1);
        assert_eq!(joiner.finish(), LINES[1]);
        assert_eq!((joiner.open_lines(), joiner.memory_bytes()), (0, 0));
    }

    #[test]
    fn the_first_line_decides() {
        let mut joiner = LineJoiner::default();
        assert_eq!(joiner.join([b"other\n", LINES[0]]), [&b"other\n"[..], LINES[0]]);
        assert_eq!(joiner.join([LINES[2], &[]]), [LINES[2], &[]]);
        assert_eq!(joiner.finish(), b"");
        // After the end the next log begins.
        assert_eq!(joiner.join([LINES[0], LINES[2]])[0].len(), LINES[0].len() + 3);
    }

    #[test]
    fn memory_is_bounded_by_the_line_limit() {
        let mut joiner = LineJoiner::new(1_000);
        for _ in 0..1_000 {
            joiner.join([LINES[0], LINES[1]]);
        }
        assert!(joiner.memory_bytes() < 5_000, "{}", joiner.memory_bytes());
        assert_eq!(joiner.join([LINES[2], &[]])[0].len(), 1_002);
    }
}
