//! The job of this process, as the shell that started it sees it.

/// Whether a shell may continue this job after it was stopped. The job of the first process of a
/// session has none: for such a job, the system discards the signal that asks to stop.
pub(super) fn can_be_continued() -> bool {
    Place::of_this_process().is_some_and(|own| own.can_be_continued())
}

/// Where a process stands among those of its terminal.
struct Place {
    session: i32,
    /// The session of the parent. `None` if the parent is not seen from here.
    parent_session: Option<i32>,
    group: i32,
}

impl Place {
    fn can_be_continued(&self) -> bool {
        self.parent_session == Some(self.session) && self.session != self.group
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Place {
    /// Reads the files of the kernel, because inside a container each of these numbers can be 0: the
    /// session or the group began outside of it. [`rustix::process::getsid`] takes 0 for impossible.
    fn of_this_process() -> Option<Self> {
        let own = Stat::read("self")?;
        let parent = (own.parent != 0).then(|| Stat::read(&own.parent.to_string())).flatten();
        let parent_session = parent.map(|parent| parent.session);
        Some(Self { session: own.session, parent_session, group: own.group })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl Place {
    fn of_this_process() -> Option<Self> {
        use rustix::process::{getpgrp, getppid, getsid};

        let parent_session = getppid().and_then(|parent| getsid(Some(parent)).ok());
        Some(Self {
            session: getsid(None).ok()?.as_raw_pid(),
            parent_session: parent_session.map(|session| session.as_raw_pid()),
            group: getpgrp().as_raw_pid(),
        })
    }
}

/// What `/proc/PID/stat` says of a process (proc_pid_stat(5)).
#[cfg(any(target_os = "linux", target_os = "android"))]
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    group: i32,
    session: i32,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl Stat {
    fn read(process: &str) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The name of the program, in parentheses, may hold spaces and parentheses itself.
    fn parse(text: &str) -> Option<Self> {
        let (_, after_name) = text.rsplit_once(')')?;
        let mut numbers = after_name.split_ascii_whitespace().skip(1).map(|text| text.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { parent: next()?, group: next()?, session: next()? })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Place, Stat};

    #[test]
    fn the_name_of_the_program_may_look_like_numbers() {
        let expected = Some(Stat { parent: 0, group: 7, session: 0 });
        assert_eq!(Stat::parse("12 (a) S 1 2) R 0 7 0 34816 7 4194304"), expected);
        assert_eq!(Stat::parse("12 (a) R 0 7"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn a_shell_continues_the_jobs_of_its_session() {
        // The last is in a container whose session began outside of it, as that of its shell did.
        for (session, parent_session, group, expected) in [
            (7, Some(7), 9, true),
            (7, Some(7), 7, false),
            (7, Some(1), 9, false),
            (7, None, 9, false),
            (0, Some(0), 9, true),
        ] {
            let place = Place { session, parent_session, group };
            assert_eq!(place.can_be_continued(), expected, "{session} {parent_session:?} {group}");
        }
    }

    #[test]
    fn the_parent_of_a_test_is_seen() {
        let place = Place::of_this_process().expect("the files of the kernel");
        let parent = Stat::read(&std::os::unix::process::parent_id().to_string());
        assert_eq!(place.parent_session, parent.map(|parent| parent.session));
    }
}
