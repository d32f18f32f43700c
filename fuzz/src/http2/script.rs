//! The frames that a client sends, from bytes that the fuzzer chooses.

use std::collections::BTreeMap;

/// Types of frames (RFC 9113 section 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;

/// Flags of frames.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The connection preface of a client (section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The payload of the `PING` that a client sends last.
pub(super) const LAST_PING: [u8; 8] = *b"the last";

/// The body of the answer to `GET`.
pub(super) const GREETING: &str = "hello";

/// Requests that a client may make within the server's limit of 100 at a time.
const REQUESTS_MAX: usize = 90;

/// Frames that request nothing, within the server's limit of 1,000.
const IDLE_FRAMES_MAX: usize = 900;

/// `DATA` frames without bytes that do not end a body: h2 closes a connection after more of them.
const EMPTY_DATA_MAX: usize = 100;

/// Frames, and the expected answers.
pub(super) struct Script {
    pub(super) frames: Vec<u8>,
    /// Whether a client may send all of it.
    pub(super) is_legal: bool,
    /// The bodies of the answers to requests that have come to their end, by stream.
    pub(super) answers: BTreeMap<u32, String>,
    /// The number of `PING`s before the last.
    pub(super) pings: usize,
    /// The highest stream.
    pub(super) streams_max: u32,
    requests: usize,
    idle_frames: usize,
    empty_data: usize,
    next_stream: u32,
    /// The request whose body has not ended, and the bytes of that body.
    open: Option<(u32, usize)>,
}

impl Script {
    /// Each byte is a step, and some steps take the bytes that follow.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut script = Self {
            frames: PREFACE.to_vec(),
            is_legal: true,
            answers: BTreeMap::new(),
            pings: 0,
            streams_max: 0,
            requests: 0,
            idle_frames: 0,
            empty_data: 0,
            next_stream: 1,
            open: None,
        };
        script.push(SETTINGS, 0, 0, &[]);
        let mut rest = bytes;
        while let Some((step, after)) = rest.split_first() {
            rest = script.take(*step, after);
        }
        script.push(PING, 0, 0, &LAST_PING);
        script.is_legal &= script.requests <= REQUESTS_MAX;
        script.is_legal &= script.idle_frames <= IDLE_FRAMES_MAX;
        script.is_legal &= script.empty_data <= EMPTY_DATA_MAX;
        script
    }

    /// Carries out a step, and returns the bytes that are left.
    fn take<'bytes>(&mut self, step: u8, rest: &'bytes [u8]) -> &'bytes [u8] {
        match step & 7 {
            0 | 1 => {
                let stream = self.request(true);
                self.answers.insert(stream, GREETING.to_owned());
            }
            2 => {
                let stream = self.request(false);
                self.open = Some((stream, 0));
            }
            3 => self.send_body(usize::from(step >> 3 & 15), step & 0x80 != 0),
            4 => {
                self.push(PING, 0, 0, &[step; 8]);
                (self.pings, self.idle_frames) = (self.pings + 1, self.idle_frames + 1);
            }
            _ => return self.send_any(rest),
        }
        rest
    }

    /// Begins a request on the next stream, and returns that stream.
    fn request(&mut self, is_get: bool) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 2;
        self.requests += 1;
        // `:method`, `:path` and `:scheme` of the static table, and `:authority` as a literal (RFC
        // 7541 sections 6.1 and 6.2.2, appendix A).
        let method = if is_get { 0x82 } else { 0x83 };
        let block = [method, 0x84, 0x87, 0x01, 1, b'x'];
        let end = if is_get { END_STREAM } else { 0 };
        self.push(HEADERS, END_HEADERS | end, stream, &block);
        stream
    }

    /// Sends a part of the open body, and perhaps ends it.
    fn send_body(&mut self, bytes: usize, is_end: bool) {
        let Some((stream, before)) = self.open else { return };
        let flags = if is_end { END_STREAM } else { 0 };
        self.push(DATA, flags, stream, &vec![b'.'; bytes]);
        self.idle_frames += usize::from(bytes == 0);
        self.empty_data += usize::from(bytes == 0 && !is_end);
        self.open = (!is_end).then_some((stream, before + bytes));
        if is_end {
            self.answers.insert(stream, (before + bytes).to_string());
        }
    }

    /// Sends a frame of which the next bytes are the type, the flags, the stream, the length and
    /// the payload.
    fn send_any<'bytes>(&mut self, bytes: &'bytes [u8]) -> &'bytes [u8] {
        let [kind, flags, stream, length, rest @ ..] = bytes else { return &[] };
        let (payload, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        self.is_legal = false;
        self.push(*kind, *flags, u32::from(*stream), payload);
        rest
    }

    fn push(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.frames.extend(&bytes[1..]);
        self.frames.extend([kind, flags]);
        self.frames.extend(stream.to_be_bytes());
        self.frames.extend(payload);
        self.streams_max = self.streams_max.max(stream);
    }
}
