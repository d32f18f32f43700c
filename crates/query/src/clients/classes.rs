//! Classifies each distinct value of the columns that say something about clients.

use weir_core::{ABSENT, Codes, Field, REMAINDER, Segment, Values};

use super::marks::{
    FAILED, READS, REFUSED, ROBOT, SCANNED, SERVED, UNKNOWN, USER_CLAIMED, agent_flags, is_set,
    method_flags, path_flags, status_flags,
};
use super::sign_ins::PathAnswers;
use crate::value_classes::ValueClasses;

/// The flags of the values of requests, by id.
///
/// Memory: two bytes for each distinct agent, user, status, method and path.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestClasses {
    agents: ValueClasses<u16>,
    users: ValueClasses<u16>,
    statuses: ValueClasses<u16>,
    methods: ValueClasses<u16>,
    has_users: bool,
    paths: ValueClasses<u16>,
}

/// The columns of a segment that are classified.
pub(super) struct RequestColumns<'s> {
    agents: Option<&'s Codes>,
    users: Option<&'s Codes>,
    statuses: Option<&'s Codes>,
    methods: Option<&'s Codes>,
    paths: Option<&'s Codes>,
}

/// What a row says about its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowMarks {
    pub(super) flags: u16,
    pub(super) is_refused: bool,
    pub(super) is_failed: bool,
}

impl RequestClasses {
    /// Classifies the values that were added since the last call.
    pub(super) fn refresh(&mut self, values: &Values) {
        let dictionary = |field: Field| values.dictionary(field.column());
        self.agents.refresh(dictionary(Field::UserAgent), agent_flags);
        let mut has_users = self.has_users;
        self.users.refresh(dictionary(Field::User), |user| {
            has_users |= is_set(user);
            if is_set(user) { USER_CLAIMED } else { 0 }
        });
        self.has_users = has_users;
        self.methods.refresh(dictionary(Field::Method), method_flags);
        self.statuses.refresh(dictionary(Field::Status), status_flags);
        self.paths.refresh(dictionary(Field::Path), path_flags);
    }

    /// Returns what a row says. A missing agent says something only where others have one.
    pub(super) fn marks(&self, columns: &RequestColumns<'_>, row: usize) -> RowMarks {
        let status = flags_at(&self.statuses, columns.statuses, row, 0);
        let path = flags_at(&self.paths, columns.paths, row, 0);
        let mut flags = flags_at(&self.agents, columns.agents, row, ROBOT);
        flags |= status & UNKNOWN | path & SCANNED;
        if status & SERVED != 0 {
            flags |= path | flags_at(&self.users, columns.users, row, 0);
        }
        RowMarks { flags, is_refused: status & REFUSED != 0, is_failed: status & FAILED != 0 }
    }

    /// Whether some request names a user.
    pub(super) fn has_users(&self) -> bool {
        self.has_users
    }

    /// What the row of a client says about its path. Returns `None` if the path is unknown.
    pub(super) fn answer(
        &self,
        columns: &RequestColumns<'_>,
        row: usize,
        client: u32,
    ) -> Option<(usize, PathAnswers)> {
        let path = columns.path(row);
        if path == ABSENT || path == REMAINDER {
            return None;
        }
        let status = flags_at(&self.statuses, columns.statuses, row, 0);
        // A log without methods does not tell requests that read from others.
        let method =
            columns.methods.map_or(READS, |_| flags_at(&self.methods, columns.methods, row, 0));
        let user = flags_at(&self.users, columns.users, row, 0);
        // A user that was not kept may be one.
        let has_user = user & (USER_CLAIMED | UNKNOWN) != 0;
        let mut answers = PathAnswers::default();
        answers.take(client, (status, method), has_user);
        (answers != PathAnswers::default()).then_some((path as usize, answers))
    }

    /// The flags of the path of a row.
    pub(super) fn path_flags(&self, columns: &RequestColumns<'_>, row: usize) -> u16 {
        flags_at(&self.paths, columns.paths, row, 0)
    }

    /// Whether an agent is that of a program.
    pub(super) fn is_program(&self, agent: u32) -> bool {
        self.agents.get(agent).is_some_and(|flags| flags & ROBOT != 0)
    }
}

impl<'s> RequestColumns<'s> {
    pub(super) fn of(segment: &'s Segment) -> Self {
        let column = |field: Field| segment.text(field.column());
        Self {
            agents: column(Field::UserAgent),
            users: column(Field::User),
            statuses: column(Field::Status),
            methods: column(Field::Method),
            paths: column(Field::Path),
        }
    }

    /// The id of the agent of a row.
    pub(super) fn agent(&self, row: usize) -> u32 {
        self.agents.map_or(ABSENT, |codes| codes.get(row) as u32)
    }

    /// The id of the path of a row.
    pub(super) fn path(&self, row: usize) -> u32 {
        self.paths.map_or(ABSENT, |codes| codes.get(row) as u32)
    }
}

/// Returns the flags of the value that a row has in a column, or `of_none` if it has none there.
fn flags_at(classes: &ValueClasses<u16>, codes: Option<&Codes>, row: usize, of_none: u16) -> u16 {
    let Some(codes) = codes else { return 0 };
    match codes.get(row) as u32 {
        ABSENT => of_none,
        REMAINDER => UNKNOWN,
        id => classes.get(id).copied().unwrap_or(0),
    }
}
