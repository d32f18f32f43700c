//! Records of nginx's error log over several lines, compared with a naive joiner of the whole text,
//! for input in arbitrary pieces.

use proptest::prelude::*;
use regex::bytes::Regex;
use weir_core::{Block, BlockCutter, BlockLimits, JoinerWait, Lines, RecordJoiner, record_length};

const HEAD: &str = "2025/12/17 09:03:01 [error] 12#12: *56 ";
const FASTCGI: &str = "FastCGI sent in stderr: \"";
const END: &str = "\" while reading upstream, client: 192.0.2.1, server: a";

/// The naive joiner, by regular expressions over the list of all lines.
struct Oracle {
    head: Regex,
    record: Regex,
    end: Regex,
}

impl Oracle {
    fn new() -> Self {
        let levels = "debug|info|notice|warn|error|crit|alert|emerg";
        let head = format!(
            r"(?-u)\A\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d \[(?:{levels})\] \d+#\d+: (?:\*\d+ )?"
        );
        let end = "(?-u)\" while [A-Za-z0-9 /]{1,64}, client: ";
        let regex = |text: &str| Regex::new(text).expect("valid");
        Self { record: regex(&format!("{head}{FASTCGI}")), head: regex(&head), end: regex(end) }
    }

    fn join(&self, log: &[u8]) -> Vec<Vec<u8>> {
        let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
        let is_searched = lines.iter().take(100).any(|line| self.head.is_match(line));
        let (mut joined, mut at) = (Vec::new(), 0);
        while at < lines.len() {
            let count = match is_searched && self.record.is_match(lines[at]) {
                true => self.lines_of_record(&lines[at..]),
                false => 1,
            };
            let mut record = lines[at..at + count].concat();
            if record.ends_with(b"\n") {
                record.pop();
            }
            record.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = 0x0B);
            joined.push(record);
            at += count;
        }
        joined
    }

    /// The number of lines of the record that begins with the first.
    fn lines_of_record(&self, lines: &[&[u8]]) -> usize {
        let (mut bytes, mut end, mut taken) = (0, None, 0);
        for (number, line) in lines.iter().enumerate() {
            let is_next = number > 0 && self.head.is_match(line);
            if is_next && end.is_some() {
                break;
            }
            if is_next && [2_048, 4_096].contains(&bytes) {
                return number;
            }
            bytes += line.len();
            if bytes > 4_096 || (bytes == 4_096 && !line.ends_with(b"\n")) {
                bytes -= line.len();
                break;
            }
            taken = number + 1;
            if self.end.is_match(line) {
                end = Some(taken);
            }
        }
        let is_cut = [2_048, 4_096].contains(&bytes) && lines[taken.max(1) - 1].ends_with(b"\n");
        end.or(is_cut.then_some(taken)).unwrap_or(1)
    }
}

/// The joined lines of a log that comes in pieces.
fn join(pieces: &[&[u8]], block_bytes: usize) -> Vec<Vec<u8>> {
    let limits = BlockLimits { block_bytes, line_bytes_max: 10_000 };
    let (mut cutter, mut joiner) = (BlockCutter::new(limits), RecordJoiner::new(block_bytes));
    let (mut lines, mut offset) = (Vec::new(), 0);
    let mut take = |block: &Block| {
        assert_eq!(block.offset, offset);
        offset = block.offset_end;
        lines.extend(Lines::new(block.bytes()).map(|line| line.bytes.to_vec()));
    };
    for mut piece in pieces.iter().copied() {
        while !piece.is_empty() {
            let taken = cutter.push(piece);
            assert!(taken > 0, "a full cutter makes room");
            piece = &piece[taken..];
            if cutter.is_full() {
                let choose =
                    |bytes: &mut [u8], lines_end| joiner.join(bytes, lines_end, JoinerWait::Bytes);
                cutter.cut_some(choose).iter().for_each(&mut take);
            }
        }
    }
    let pending = cutter.pending_mut();
    let length = pending.len();
    joiner.join(pending, length, JoinerWait::Nothing);
    cutter.finish().iter().for_each(&mut take);
    lines
}

/// Texts of which ends and beginnings of records can come together in any order.
fn log() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(format!("{HEAD}{FASTCGI}a\n")),
        2 => Just(format!("{HEAD}{FASTCGI}a{END}\n")),
        2 => Just(format!("{HEAD}a, client: 192.0.2.2\n")),
        4 => Just("#0 {main}\n".to_owned()),
        3 => Just(format!("b{END}\n")),
        1 => Just("\n".to_owned()),
        1 => Just("\u{B}\r\n".to_owned()),
        1 => Just(FASTCGI.to_owned()),
        1 => Just(END.to_owned()),
        1 => Just(HEAD.to_owned()),
        1 => (1usize..6_000).prop_map(|length| format!("{}\n", "x".repeat(length))),
        2 => (0usize..3, prop::sample::select(vec![2_048usize, 4_096])).prop_map(|(more, bytes)| {
            let start = format!("{HEAD}{FASTCGI}a\nb\n");
            format!("{start}{}\n", "x".repeat(bytes - 1 - start.len() + more / 2))
        }),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn records_are_those_of_the_naive_joiner(
        log in log(),
        block_bytes in prop::sample::select(vec![4_096usize, 5_000, 20_000, 1 << 20]),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let expected = Oracle::new().join(&log);
        let pieces = crate::blocks_and_lines::at_cuts(&log, &cuts);
        // A CR before the end of a line does not belong to it.
        let bare = |line: &Vec<u8>| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        let expected: Vec<Vec<u8>> = expected.iter().map(bare).collect();
        prop_assert_eq!(&join(&pieces, block_bytes), &expected);
        // Each byte of a record that waits for its end is looked at again with each piece.
        let bytes: Vec<&[u8]> = log.chunks(1 + log.len() / 4_000).collect();
        prop_assert_eq!(&join(&bytes, block_bytes), &expected);
    }

    /// A record that is read back at its offset is the one that was joined.
    #[test]
    fn a_record_is_found_again_at_its_offset(log in log()) {
        // Only logs that begin as nginx's do are searched.
        let log = [format!("{HEAD}a\n").as_bytes(), &log].concat();
        let mut at = 0;
        for record in Oracle::new().join(&log) {
            let length = record_length(&log[at..], true).expect("all is there");
            let found = &log[at..at + length];
            prop_assert_eq!(found.strip_suffix(b"\n").unwrap_or(found).len(), record.len());
            at += length;
        }
        prop_assert_eq!(at, log.len());
    }
}
