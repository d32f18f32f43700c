//! Failures of connections that several lines are about.
//!
//! A line names its connection by `<F-MLFID>`. One of them may have the address, another the
//! failure, and a third may show that the user has signed in after all.
//!
//! Source: `_mergeFailure` and `findFailure` of `server/filter.py` of fail2ban 1.0.2. Unlike there,
//! a connection is forgotten after five minutes of the log, not of the clock.

use std::collections::{HashMap, VecDeque};

/// The most connections that are remembered at once.
const CONNECTIONS_MAX: usize = 100;

/// How long a connection is remembered, in nanoseconds.
const LIFE_NS: i64 = 300 * 1_000_000_000;

/// What a line says about its connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// `<F-NOFAIL>`: the line alone is not a failure.
    pub(super) is_no_failure: bool,
    /// `<F-MLFGAINED>`: access was gained.
    pub(super) is_gained: bool,
    /// `<F-MLFFORGET>`: the connection ends.
    pub(super) is_end: bool,
    /// The name is that of a host, which fail2ban would look up.
    pub(super) is_host_name: bool,
}

impl Signs {
    /// The signs as a byte of an event.
    pub(super) fn packed(self) -> u8 {
        let signs = [self.is_no_failure, self.is_gained, self.is_end, self.is_host_name];
        signs.iter().rev().fold(0, |packed, sign| packed << 1 | u8::from(*sign))
    }

    pub(super) fn unpacked(packed: u8) -> Self {
        let sign = |bit: u8| packed >> bit & 1 == 1;
        Self { is_no_failure: sign(0), is_gained: sign(1), is_end: sign(2), is_host_name: sign(3) }
    }
}

/// A line of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLine<'l> {
    /// The text that all lines of the connection share.
    pub(super) id: &'l [u8],
    /// By whom a failure would be counted; empty if the line does not say it.
    pub(super) name: &'l [u8],
    /// The user; empty if the line has none.
    pub(super) user: &'l [u8],
    pub(super) signs: Signs,
}

/// A failure that a line completes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConnectionFailure {
    Of(Box<[u8]>),
    /// The address is not known, only the name of a host.
    OfHostName,
}

#[derive(Debug, Default)]
struct Connection {
    since_ns: i64,
    name: Box<[u8]>,
    is_host_name: bool,
    user: Option<Box<[u8]>>,
    has_several_users: bool,
    /// A failure waits for a line with an address.
    is_pending: bool,
}

impl Connection {
    fn add_user(&mut self, user: &[u8]) {
        match &self.user {
            _ if user.is_empty() => {}
            None => self.user = Some(user.into()),
            Some(known) => self.has_several_users |= **known != *user,
        }
    }

    /// Takes over what a line says.
    fn update(&mut self, line: &ConnectionLine<'_>) {
        if line.signs.is_gained {
            self.is_pending = false;
        }
        if !line.name.is_empty() || line.signs.is_host_name {
            self.name = line.name.into();
            self.is_host_name = line.signs.is_host_name;
        }
    }

    /// The failure after a line, if it is one.
    fn failure(&mut self, line: &ConnectionLine<'_>) -> Option<ConnectionFailure> {
        let was_pending = std::mem::take(&mut self.is_pending);
        let is_excused = line.signs.is_no_failure || line.signs.is_gained;
        // Several users or a failure that waits are not excused.
        if is_excused && !was_pending && !self.has_several_users {
            return None;
        }
        if self.is_host_name {
            return Some(ConnectionFailure::OfHostName);
        }
        if self.name.is_empty() {
            self.is_pending = true;
            return None;
        }
        Some(ConnectionFailure::Of(self.name.clone()))
    }
}

/// The connections of which lines have been seen.
#[derive(Debug, Default)]
pub(super) struct Connections {
    known: HashMap<Box<[u8]>, Connection>,
    /// Their names in the order in which they began, with the times of that. A connection that has
    /// ended may still be there.
    order: VecDeque<(i64, Box<[u8]>)>,
}

impl Connections {
    /// Takes a line at a time. Returns the failure that it completes.
    pub(super) fn take(
        &mut self,
        now_ns: i64,
        line: &ConnectionLine<'_>,
    ) -> Option<ConnectionFailure> {
        let is_young = |known: &Connection| now_ns < known.since_ns.saturating_add(LIFE_NS);
        if self.known.get(line.id).is_some_and(|known| !is_young(known)) {
            self.known.remove(line.id);
        }
        let is_end = line.signs.is_end;
        if let Some(known) = self.known.get_mut(line.id) {
            known.add_user(line.user);
            known.update(line);
            if !is_end {
                return known.failure(line);
            }
            return self.known.remove(line.id).and_then(|mut known| known.failure(line));
        }
        let mut connection = Connection { since_ns: now_ns, ..Connection::default() };
        connection.update(line);
        if !is_end {
            connection.add_user(line.user);
        }
        let failure = connection.failure(line);
        if !is_end {
            self.make_room();
            self.order.push_back((now_ns, line.id.into()));
            self.known.insert(line.id.into(), connection);
        }
        failure
    }

    /// Forgets the oldest connections until there is room for one.
    fn make_room(&mut self) {
        while self.known.len() >= CONNECTIONS_MAX || self.order.len() > 2 * CONNECTIONS_MAX {
            let Some((since_ns, id)) = self.order.pop_front() else { return };
            if self.known.get(&id).is_some_and(|known| known.since_ns == since_ns) {
                self.known.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionFailure, ConnectionLine, Connections, LIFE_NS, Signs};

    const NOT: Signs =
        Signs { is_no_failure: false, is_gained: false, is_end: false, is_host_name: false };

    fn line<'l>(id: &'l str, name: &'l str, user: &'l str, signs: Signs) -> ConnectionLine<'l> {
        ConnectionLine { id: id.as_bytes(), name: name.as_bytes(), user: user.as_bytes(), signs }
    }

    /// The names that fail, line by line; `-` for no failure.
    fn failures(lines: &[ConnectionLine<'_>]) -> String {
        let mut connections = Connections::default();
        let shown = lines.iter().map(|line| match connections.take(0, line) {
            None => "-".to_owned(),
            Some(ConnectionFailure::OfHostName) => "host".to_owned(),
            Some(ConnectionFailure::Of(name)) => String::from_utf8_lossy(&name).into_owned(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_of_a_connection_make_a_failure_together() {
        let excused = Signs { is_no_failure: true, ..NOT };
        let gained = Signs { is_gained: true, is_end: true, ..NOT };
        let ended = Signs { is_no_failure: true, is_end: true, ..NOT };
        for (lines, expected) in [
            (&[line("1", "a", "", NOT), line("1", "a", "", NOT)][..], "a a"),
            // The failure comes before the line with the address.
            (&[line("1", "", "", NOT), line("1", "a", "", excused)], "- a"),
            (&[line("1", "", "", NOT), line("2", "a", "", excused)], "- -"),
            // The address comes first.
            (&[line("1", "a", "", excused), line("1", "", "", NOT)], "- a"),
            (&[line("1", "a", "u", excused), line("1", "a", "u", excused)], "- -"),
            // Two users of a connection.
            (&[line("1", "a", "u", excused), line("1", "a", "v", excused)], "- a"),
            (&[line("1", "a", "u", NOT), line("1", "a", "u", gained)], "a -"),
            (&[line("1", "", "u", NOT), line("1", "a", "u", gained)], "- -"),
            (&[line("1", "a", "u", NOT), line("1", "a", "v", gained)], "a a"),
            // After its end another connection may have the same name.
            (
                &[line("1", "", "", NOT), line("1", "a", "", ended), line("1", "b", "", excused)],
                "- a -",
            ),
            (&[line("1", "a", "", ended)], "-"),
            (&[line("1", "", "", Signs { is_host_name: true, ..NOT })], "host"),
        ] {
            assert_eq!(failures(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn connections_are_forgotten() {
        let excused = Signs { is_no_failure: true, ..NOT };
        let mut connections = Connections::default();
        assert_eq!(connections.take(0, &line("1", "", "", NOT)), None);
        assert_eq!(connections.take(LIFE_NS, &line("1", "a", "", excused)), None);
        for number in 0..1_000 {
            let id = number.to_string();
            let is_end = number % 3 == 0;
            connections.take(number, &line(&id, "", "", NOT));
            connections.take(number, &line(&id, "", "", Signs { is_end, ..NOT }));
            assert!(connections.known.len() <= 100 && connections.order.len() <= 201);
        }
        // The youngest are remembered.
        let failure = connections.take(1_000, &line("998", "a", "", excused));
        assert_eq!(failure, Some(ConnectionFailure::Of((*b"a").into())));
        assert_eq!(connections.take(1_000, &line("1", "a", "", excused)), None);
    }

    #[test]
    fn signs_are_packed() {
        for packed in 0..16 {
            assert_eq!(Signs::unpacked(packed).packed(), packed);
        }
    }
}
