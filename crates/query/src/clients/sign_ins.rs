//! Whether a client whose requests name a user has signed in.
//!
//! Servers log the user that a request names, also if nobody asked for one: `curl -u x:y` is enough.
//! A user is believed only if the server tells requests with a user from those without. Then somebody
//! else, who named none, was challenged at the path or above it, and nobody who named none got it.

use super::marks::{CHALLENGED, READS, SUCCEEDED};

/// The most parts of a path that are looked at, from its end.
const PARTS_MAX: usize = 64;

/// The most paths of a client with a user that are looked at.
pub(super) const USER_PATHS_MAX: usize = 64;

/// What would let a path look as if it were below another one.
const MISLEADING_PARTS: [&[u8]; 7] = [b"..", b"//", b"/./", b"\\", b"%2e", b"%2f", b"%5c"];

/// What requests for a path that name no user were answered, and whether one with a user succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PathAnswers {
    challenged: Challenged,
    is_open: bool,
    has_user: bool,
}

/// Which clients were challenged at a path to name a user, by their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Challenged {
    #[default]
    Nobody,
    One(u32),
    Several,
}

/// Which clients have signed in if they name a user and get a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Believed {
    #[default]
    Nobody,
    /// The client with this number was the only one that was challenged.
    AllBut(u32),
    Everyone,
}

impl PathAnswers {
    /// Adds a request, by the flags of its status and method. Only requests that read count: others
    /// of the same path may be answered by other rules.
    pub(super) fn take(&mut self, client: u32, (status, method): (u16, u16), has_user: bool) {
        if method & READS == 0 {
            return;
        }
        let is_success = status & SUCCEEDED != 0;
        match has_user {
            true => self.has_user |= is_success,
            false => self.is_open |= is_success,
        }
        if !has_user && status & CHALLENGED != 0 {
            self.challenged = self.challenged.and(Challenged::One(client));
        }
    }

    /// Adds other requests for the path.
    pub(super) fn merge(&mut self, other: Self) {
        self.challenged = self.challenged.and(other.challenged);
        self.is_open |= other.is_open;
        self.has_user |= other.has_user;
    }

    /// Whether a request that names a user succeeded.
    pub(super) fn has_user(self) -> bool {
        self.has_user
    }
}

impl Challenged {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, known) | (known, Self::Nobody) => known,
            (Self::One(one), Self::One(other)) if one == other => self,
            _ => Self::Several,
        }
    }
}

impl Believed {
    /// Decides about a path by the answers to it and to the paths above it. The nearest one that
    /// somebody got without a user ends the search.
    pub(super) fn at(path: &[u8], answers: impl Fn(&[u8]) -> Option<PathAnswers>) -> Self {
        let lower = path.to_ascii_lowercase();
        let has = |part: &[u8]| lower.windows(part.len()).any(|window| window == part);
        if MISLEADING_PARTS.iter().any(|part| has(part)) {
            return Self::Nobody;
        }
        let mut challenged = Challenged::Nobody;
        for above in path_and_above(path) {
            let Some(answers) = answers(above) else { continue };
            if answers.is_open {
                break;
            }
            challenged = challenged.and(answers.challenged);
        }
        match challenged {
            Challenged::Nobody => Self::Nobody,
            Challenged::One(client) => Self::AllBut(client),
            Challenged::Several => Self::Everyone,
        }
    }

    /// Whether it holds for a client.
    pub(super) fn holds_for(self, client: u32) -> bool {
        match self {
            Self::Nobody => false,
            Self::AllBut(other) => other != client,
            Self::Everyone => true,
        }
    }
}

/// A path and the folders above it, the last ones with and without a slash at the end.
pub(super) fn path_and_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    let folders = slashes.flat_map(|(at, _)| [&path[..=at], &path[..at]]);
    std::iter::once(path).chain(folders.filter(move |folder| *folder != path)).take(PARTS_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::marks::{method_flags, status_flags};
    use super::{Believed, PathAnswers, path_and_above};

    /// Requests of clients: method, path, whether it names a user, status.
    fn believed(path: &str, requests: &[(u32, &str, &str, bool, &str)]) -> Believed {
        let mut by_path: HashMap<&[u8], PathAnswers> = HashMap::new();
        for (client, method, path, has_user, status) in requests {
            let flags = (status_flags(status.as_bytes()), method_flags(method.as_bytes()));
            by_path.entry(path.as_bytes()).or_default().take(*client, flags, *has_user);
        }
        Believed::at(path.as_bytes(), |path| by_path.get(path).copied())
    }

    #[test]
    fn a_user_is_believed_only_where_others_are_challenged() {
        let other = (2, "GET", "/admin/", false, "401");
        for (path, requests, expected) in [
            ("/", vec![], Believed::Nobody),
            ("/admin/", vec![other], Believed::AllBut(2)),
            ("/admin/a/b.html", vec![other], Believed::AllBut(2)),
            ("/admin", vec![other], Believed::Nobody),
            ("/other", vec![other], Believed::Nobody),
            ("/admin/", vec![other, (3, "GET", "/admin/", false, "401")], Believed::Everyone),
            ("/admin/a", vec![other, (3, "HEAD", "/admin/a", false, "401")], Believed::Everyone),
            // Somebody gets it without a user.
            ("/admin/", vec![other, (3, "GET", "/admin/", false, "200")], Believed::Nobody),
            ("/admin/a", vec![other, (3, "GET", "/admin/a", false, "304")], Believed::Nobody),
            ("/admin/a/b", vec![other, (3, "GET", "/admin/a/", false, "200")], Believed::Nobody),
            ("/admin/a", vec![other, (3, "GET", "/", false, "200")], Believed::AllBut(2)),
            // A redirect may come before the server looks at the user.
            ("/admin/", vec![other, (3, "GET", "/admin/", false, "301")], Believed::AllBut(2)),
            // Other methods may have other rules.
            ("/api", vec![(2, "POST", "/api", false, "401")], Believed::Nobody),
            // Wrong passwords are no challenge to somebody without a user.
            ("/", vec![(2, "GET", "/", true, "401")], Believed::Nobody),
            // These lead elsewhere.
            ("/admin/../", vec![other], Believed::Nobody),
            ("/admin/%2E%2e/", vec![other], Believed::Nobody),
            ("/admin/..%2f", vec![other], Believed::Nobody),
        ] {
            assert_eq!(believed(path, &requests), expected, "{path} {requests:?}");
        }
        assert!(!Believed::AllBut(2).holds_for(2) && Believed::AllBut(2).holds_for(1));
    }

    #[test]
    fn paths_have_folders_above_them() {
        let above = |path: &'static str| -> Vec<&str> {
            path_and_above(path.as_bytes())
                .map(|it| std::str::from_utf8(it).expect("text"))
                .collect()
        };
        assert_eq!(above("/a/b"), ["/a/b", "/a/", "/a", "/", ""]);
        assert_eq!(above("/a/"), ["/a/", "/a", "/", ""]);
        assert_eq!(above("/"), ["/", ""]);
        assert_eq!(above("*"), ["*"]);
    }
}
