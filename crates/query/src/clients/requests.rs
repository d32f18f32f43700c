//! Describes a client by its requests, read one after another.

use weir_core::{AddressBlock, Field, Record};
use weir_view::ClientProfile;

use super::assessment::{ClientAssessment, is_named};
use super::marks::{
    FAILED, READS, REFUSED, ROBOT, SCANNED, SERVED, SIGNED_IN, SUCCEEDED, USER_CLAIMED,
    agent_flags, is_set, path_flags, status_flags,
};
use super::minutes::MinuteWeights;
use super::sign_ins::USER_PATHS_MAX;
use super::user_paths::{UserPaths, method_of};

/// What the requests of a client say about it, as far as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientRequests {
    flags: u16,
    requests: u64,
    errors: u64,
    /// Answers with a status of 400 to 499.
    refused: u64,
    first_path: Option<Box<[u8]>>,
    agent: Option<Box<[u8]>>,
    /// The flags of that agent.
    agent_flags: u16,
    minutes: MinuteWeights,
    /// The first paths that it got with a user.
    user_paths: Vec<Box<[u8]>>,
}

impl ClientRequests {
    /// Takes the next request of the client. `has_agents` states whether the log has agents.
    pub fn take(&mut self, record: &Record<'_>, has_agents: bool) {
        let text = |field| record.text(field).filter(|value: &&[u8]| is_set(value));
        let (agent, path) = (text(Field::UserAgent), text(Field::Path));
        let status = status_flags(record.text(Field::Status).unwrap_or_default());
        if self.requests == 0 {
            self.first_path = path.map(Into::into);
        }
        self.requests += 1;
        if has_agents {
            self.take_agent(agent);
        }
        let of_path = path.map_or(0, path_flags);
        self.flags |= of_path & SCANNED;
        if status & SERVED != 0 {
            self.flags |= of_path;
            if text(Field::User).is_some() {
                self.flags |= USER_CLAIMED;
                if status & SUCCEEDED != 0 && method_of(record) & READS != 0 {
                    path.into_iter().for_each(|path| self.keep_user_path(path));
                }
            }
        }
        self.minutes.take(record.time, of_path);
        self.errors += u64::from(status & FAILED != 0);
        self.refused += u64::from(status & REFUSED != 0);
    }

    /// Adds the requests that follow.
    pub fn merge(&mut self, later: Self) {
        if self.requests == 0 {
            *self = later;
            return;
        }
        self.keep_agent(later.agent.as_deref(), later.agent_flags);
        self.flags |= later.flags;
        self.minutes.merge(&later.minutes);
        later.user_paths.iter().for_each(|path| self.keep_user_path(path));
        self.requests += later.requests;
        self.errors += later.errors;
        self.refused += later.refused;
    }

    fn take_agent(&mut self, agent: Option<&[u8]>) {
        // Most clients have one agent.
        if agent.is_some() && agent == self.agent.as_deref() {
            return;
        }
        let flags = agent_flags(agent.unwrap_or_default());
        self.flags |= flags;
        self.keep_agent(agent, flags);
    }

    /// Keeps the first agent, or the first one of a program: it says more about a client than the
    /// browsers that it pretends to be.
    fn keep_agent(&mut self, agent: Option<&[u8]>, flags: u16) {
        let is_better = self.agent.is_none() || flags & ROBOT != 0 && self.agent_flags & ROBOT == 0;
        if agent.is_some() && is_better {
            (self.agent, self.agent_flags) = (agent.map(Into::into), flags);
        }
    }

    fn keep_user_path(&mut self, path: &[u8]) {
        if self.user_paths.len() < USER_PATHS_MAX && !self.user_paths.iter().any(|it| **it == *path)
        {
            self.user_paths.push(path.into());
        }
    }

    pub(super) fn user_paths(&self) -> impl Iterator<Item = &[u8]> {
        self.user_paths.iter().map(|path| &**path)
    }

    /// Describes the client, which is good if it is in one of the networks. Its users are believed
    /// if `users` says so.
    pub fn profile(
        &self,
        client: &[u8],
        good_networks: &[AddressBlock],
        users: Option<&UserPaths>,
    ) -> ClientProfile {
        let has_signed_in = users.is_some_and(|users| users.believe(client, self));
        let assessed = ClientAssessment {
            flags: self.flags | if has_signed_in { SIGNED_IN } else { 0 },
            requests: self.requests,
            refused: self.refused,
            is_named: is_named(client, good_networks),
            floods: self.minutes.floods(),
        };
        assessed.profile(client, self.agent.as_deref(), self.first_path.as_deref(), self.errors)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::{AddressBlock, Field, Record};
    use weir_view::{ClientLooks, GoodReason};

    use super::ClientRequests;

    const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

    fn requests(list: &[(&str, &str, &str)]) -> ClientRequests {
        let mut client = ClientRequests::default();
        for (agent, path, status) in list {
            let mut record = Record::new();
            record.put_text(Field::UserAgent, Some(agent.as_bytes()));
            record.put_text(Field::Path, Some(path.as_bytes()));
            record.put_text(Field::Status, Some(status.as_bytes()));
            client.take(&record, true);
        }
        client
    }

    #[test]
    fn clients_look_like_what_they_do() {
        let page = (BROWSER, "/", "200");
        let style = (BROWSER, "/site.css", "200");
        let missing = (BROWSER, "/a", "404");
        for (list, looks) in [
            (vec![page, style], ClientLooks::Person),
            (vec![page], ClientLooks::Unknown),
            (vec![("curl/8.5.0", "/", "200")], ClientLooks::Program),
            (vec![("-", "/", "200")], ClientLooks::Program),
            (vec![missing; 10], ClientLooks::Attack),
            (vec![missing; 9], ClientLooks::Unknown),
            ([vec![page; 10], vec![missing; 10]].concat(), ClientLooks::Unknown),
            (vec![page, style, (BROWSER, "/.env", "404")], ClientLooks::Attack),
            (vec![("Googlebot/2.1", "/", "200")], ClientLooks::Crawler),
            (vec![("Googlebot/2.1", "/a", "404"); 10], ClientLooks::Attack),
            (vec![("kube-probe/1.29", "/health", "200")], ClientLooks::Monitor),
        ] {
            let profile = requests(&list).profile(b"192.0.2.7", &[], None);
            assert_eq!(profile.looks, looks, "{list:?}");
            assert_eq!(profile.requests, list.len() as u64);
        }
    }

    #[test]
    fn parts_of_a_log_add_up() {
        let (page, missing) = ((BROWSER, "/first", "200"), ("curl/8", "/then", "500"));
        let mut first = requests(&[page, missing]);
        first.merge(requests(&[missing, page]));
        assert_eq!(first, requests(&[page, missing, missing, page]));
        let mut none = ClientRequests::default();
        none.merge(first.clone());
        assert_eq!(none, first);
        let nameless = ("-", "/then", "500");
        let mut parts = requests(&[page, nameless]);
        parts.merge(requests(&[nameless, missing]));
        assert_eq!(parts, requests(&[page, nameless, nameless, missing]));
        assert_eq!(parts.profile(b"192.0.2.7", &[], None).agent.as_deref(), Some("curl"));
        let networks = [AddressBlock::parse("192.0.2.0/24").expect("a network")];
        let profile = first.profile(b"192.0.2.7", &networks, None);
        assert_eq!(profile.good, [GoodReason::NamedNetwork]);
        assert_eq!((profile.requests, profile.errors), (4, 2));
        assert_eq!(profile.first_path.as_deref(), Some("/first"));
        assert_eq!(profile.agent.as_deref(), Some("curl"), "the program among its agents");
    }
}
