//! The outcome of a request: its method, status and response size.

use crate::rng::Rng;
use crate::site::{Resource, ResourceKind};

/// The methods, with the space that follows them.
pub(crate) const METHODS: [&[u8]; 7] =
    [b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"PATCH ", b"OPTIONS "];
pub(crate) const GET: u8 = 0;
pub(crate) const HEAD: u8 = 1;
pub(crate) const POST: u8 = 2;
const PUT: u8 = 3;
const DELETE: u8 = 4;
const PATCH: u8 = 5;
const OPTIONS: u8 = 6;

/// The protocols, all of the same length.
pub(crate) const PROTOCOLS: [&[u8; 8]; 4] = [b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0", b"HTTP/3.0"];

/// All statuses that occur.
pub(crate) const STATUSES: [u16; 24] = [
    200, 201, 204, 206, 301, 302, 304, 307, 400, 401, 403, 404, 405, 408, 410, 413, 414, 429, 499,
    500, 502, 503, 504, 416,
];

/// The text between the target and the size: ` HTTP/1.1" 200 `.
pub(crate) type Tail = [u8; 15];

/// The method and status of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestOutcome {
    /// An index into `METHODS`.
    pub(crate) method: u8,
    /// An index into `STATUSES`.
    pub(crate) status: u8,
}

impl RequestOutcome {
    pub(crate) fn new(method: u8, status: u16) -> Self {
        let status = STATUSES.iter().position(|&known| known == status);
        Self { method, status: status.expect("a status of STATUSES") as u8 }
    }

    pub(crate) fn status(self) -> u16 {
        STATUSES[usize::from(self.status)]
    }
}

/// The number of entries of a table from which outcomes are drawn. The weights below are numbers
/// of entries.
const TABLE: usize = 4096;

/// A method, a status and a weight.
type Weight = (u8, u16, usize);

/// In each list, the first outcome fills the entries that the others leave.
const PAGE: [Weight; 16] = [
    (GET, 200, 0),
    (GET, 304, 220),
    (GET, 302, 60),
    (GET, 301, 24),
    (GET, 404, 30),
    (GET, 403, 6),
    (GET, 499, 12),
    (GET, 500, 2),
    (GET, 429, 2),
    (HEAD, 200, 40),
    (POST, 302, 60),
    (POST, 200, 50),
    (POST, 400, 4),
    (POST, 413, 1),
    (GET, 410, 2),
    (GET, 504, 1),
];
const ASSET: [Weight; 9] = [
    (GET, 200, 0),
    (GET, 304, 1150),
    (GET, 206, 60),
    (GET, 404, 12),
    (GET, 499, 10),
    (GET, 416, 1),
    (GET, 403, 2),
    (HEAD, 200, 6),
    (GET, 503, 1),
];
const API: [Weight; 20] = [
    (GET, 200, 0),
    (GET, 304, 60),
    (GET, 401, 80),
    (GET, 403, 12),
    (GET, 404, 40),
    (GET, 429, 10),
    (GET, 499, 12),
    (GET, 500, 5),
    (GET, 504, 2),
    (POST, 200, 500),
    (POST, 201, 250),
    (POST, 400, 30),
    (POST, 401, 30),
    (PUT, 200, 90),
    (PUT, 204, 40),
    (DELETE, 204, 60),
    (DELETE, 404, 4),
    (PATCH, 200, 30),
    (OPTIONS, 204, 180),
    (POST, 405, 1),
];
const MOVED: [Weight; 3] = [(GET, 301, 0), (HEAD, 301, 200), (GET, 307, 20)];
const GONE: [Weight; 3] = [(GET, 404, 0), (GET, 410, 400), (HEAD, 404, 90)];
const HEALTH: [Weight; 3] = [(GET, 200, 0), (HEAD, 200, 2048), (GET, 503, 1)];

/// The outcomes during an outage, for requests that the application serves.
const OUTAGE: [Weight; 9] = [
    (GET, 502, 0),
    (POST, 502, 330),
    (GET, 504, 500),
    (GET, 503, 420),
    (GET, 500, 120),
    (GET, 499, 300),
    (GET, 200, 420),
    (POST, 200, 40),
    (GET, 304, 60),
];

/// A table from which outcomes are drawn with equal probability.
type Table = Box<[RequestOutcome; TABLE]>;

/// The tables of outcomes: one for each kind of resource, and one for an outage.
#[derive(Debug)]
pub(crate) struct Outcomes {
    normal: [Table; ResourceKind::COUNT],
    outage: Table,
    /// By protocol, then by status.
    tails: Vec<Tail>,
}

impl Outcomes {
    pub(crate) fn new() -> Self {
        let lists: [&[Weight]; ResourceKind::COUNT] = [&PAGE, &ASSET, &API, &MOVED, &GONE, &HEALTH];
        let tails = PROTOCOLS.iter().flat_map(|protocol| STATUSES.map(|code| tail(protocol, code)));
        Self { normal: lists.map(table), outage: table(&OUTAGE), tails: tails.collect() }
    }

    /// Draws the outcome of a request for a resource of this kind.
    #[inline]
    pub(crate) fn draw(
        &self,
        kind: ResourceKind,
        is_outage: bool,
        rng: &mut Rng,
    ) -> RequestOutcome {
        let is_hit = is_outage
            && matches!(kind, ResourceKind::Page | ResourceKind::Api | ResourceKind::Health);
        let table = if is_hit { &self.outage } else { &self.normal[kind as usize] };
        table[(rng.bits() >> 52) as usize % TABLE]
    }

    /// The text between the target and the size.
    #[inline]
    pub(crate) fn tail(&self, protocol: u8, outcome: RequestOutcome) -> &Tail {
        &self.tails[usize::from(protocol) * STATUSES.len() + usize::from(outcome.status)]
    }
}

/// The size of the response in bytes; `None` for `-`.
#[inline]
pub(crate) fn size(outcome: RequestOutcome, resource: Resource, rng: &mut Rng) -> Option<u32> {
    if outcome.method == HEAD {
        return Some(0);
    }
    Some(match outcome.status() {
        200 | 201 if resource.kind == ResourceKind::Asset => resource.bytes,
        200 | 201 if outcome.method == GET => varied(resource.bytes, rng),
        200 | 201 => varied(resource.bytes.min(2_000), rng),
        206 => rng.below(resource.bytes.max(1)) + 1,
        204 => return None,
        304 | 499 => 0,
        301 | 302 | 307 => 162,
        403 | 404 | 410 => 1_245,
        500.. => 497,
        _ => 157,
    })
}

/// A size within a thirty-second of `bytes`, because the size of dynamic pages varies.
fn varied(bytes: u32, rng: &mut Rng) -> u32 {
    bytes - bytes / 32 + rng.below(bytes / 16 + 1)
}

fn table(weights: &[Weight]) -> Table {
    let (method, status, _) = weights[0];
    let mut table = Box::new([RequestOutcome::new(method, status); TABLE]);
    let mut end = TABLE;
    for &(method, status, weight) in &weights[1..] {
        table[end - weight..end].fill(RequestOutcome::new(method, status));
        end -= weight;
    }
    table
}

fn tail(protocol: &[u8; 8], status: u16) -> Tail {
    let mut tail = *b" HTTP/1.1\" 200 ";
    tail[1..9].copy_from_slice(protocol);
    tail[11..14].copy_from_slice(status.to_string().as_bytes());
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_follows_its_weights() {
        let table = table(&ASSET);
        let count = |outcome| table.iter().filter(|&&entry| entry == outcome).count();
        assert_eq!(count(RequestOutcome::new(GET, 304)), 1150);
        assert_eq!(count(RequestOutcome::new(GET, 200)), TABLE - 1242);
    }

    #[test]
    fn a_tail_has_protocol_and_status() {
        let tail = *Outcomes::new().tail(2, RequestOutcome::new(GET, 404));
        assert_eq!(&tail, b" HTTP/2.0\" 404 ");
    }
}
