//! Recognises blocks in the records of error logs and firewalls.

use weir_core::{ABSENT, ColumnId, Field, RecordKind, RowBits, Segment, Values};
use weir_view::BlockCause;

use crate::value_classes::ValueClasses;

/// The prefixes in UFW's log, without `UFW`. UFW logs 3 packets a minute for each of its rules.
const UFW_ACTIONS: [&[u8]; 2] = [b"BLOCK", b"LIMIT BLOCK"];

/// A packet filter that logs one of these words has refused the packet.
const DENIALS: [&str; 6] = ["block", "drop", "deny", "denied", "reject", "refuse"];

/// The bans in fail2ban's log. `already banned` and `Increase Ban` refer to an earlier ban.
const BANS: [&[u8]; 2] = [b"Ban", b"Restore Ban"];

/// A message of nginx's error log that reports a block.
pub(crate) struct BlockMessage {
    pub(crate) text: &'static str,
    /// Whether the text is the whole message and not only its beginning.
    pub(crate) is_whole: bool,
    pub(crate) cause: BlockCause,
}

/// The messages that report a block. No text is a prefix of another.
pub(crate) const BLOCK_MESSAGES: [BlockMessage; 6] = [
    begins("limiting requests, excess: ", BlockCause::RequestLimit),
    begins("limiting requests, dry run", BlockCause::DryRun),
    begins("limiting connections, dry run", BlockCause::DryRun),
    begins("delaying request, excess: ", BlockCause::RequestDelay),
    begins("limiting connections by zone ", BlockCause::ConnectionLimit),
    BlockMessage {
        text: "access forbidden by rule",
        is_whole: true,
        cause: BlockCause::AccessRule,
    },
];

const fn begins(text: &'static str, cause: BlockCause) -> BlockMessage {
    BlockMessage { text, is_whole: false, cause }
}

/// A block. Values are ids of the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) client: u32,
    /// In nanoseconds since 1970.
    pub(super) time_ns: Option<i64>,
    pub(super) cause: BlockCause,
    /// The name of the rule. [`rule_column`] returns its column.
    pub(super) rule: u32,
    /// In thousandths of a request; `None` if the log lacks it.
    pub(super) excess: Option<u32>,
    /// Whether the log has only a sample of such blocks.
    pub(super) is_sampled: bool,
}

/// Finds the blocks in segments. It classifies each distinct value of a data set once.
///
/// Memory: one byte for each distinct message and action, 8 for each excess.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockFinder {
    columns: Columns,
    /// By message id.
    messages: ValueClasses<Option<BlockCause>>,
    /// By action id.
    actions: ValueClasses<Action>,
    /// By excess id.
    excesses: ValueClasses<Option<u32>>,
    /// Whether any value so far can make a record a block.
    has_blocks: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    message: Option<ColumnId>,
    action: Option<ColumnId>,
    excess: Option<ColumnId>,
    zone: Option<ColumnId>,
    rule: Option<ColumnId>,
    /// Only fail2ban's log has this column.
    logger: Option<ColumnId>,
}

impl Columns {
    fn of(values: &Values) -> Self {
        let column = |name| values.schema().text_column_by_name(name);
        Self {
            message: column("message"),
            action: column("action"),
            excess: column("excess"),
            zone: column("zone"),
            rule: column("rule"),
            logger: column("logger"),
        }
    }

    /// Returns the column with the rule names of this cause.
    fn of_rule(&self, cause: BlockCause) -> Option<ColumnId> {
        match cause {
            BlockCause::RequestLimit
            | BlockCause::RequestDelay
            | BlockCause::DryRun
            | BlockCause::ConnectionLimit => self.zone,
            BlockCause::AccessRule => None,
            BlockCause::Jail | BlockCause::Scenario => self.rule,
            BlockCause::PacketFilter => self.action,
        }
    }
}

/// Returns the column with the rule names of this cause, in a data set with these values.
pub(super) fn rule_column(cause: BlockCause, values: &Values) -> Option<ColumnId> {
    Columns::of(values).of_rule(cause)
}

/// The meaning of an action in a firewall's record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Action {
    /// Not a block, unless the record has a rule: then it is a decision of CrowdSec.
    #[default]
    Other,
    /// An alert of CrowdSec, which is never a block.
    Alert,
    Ban,
    Denial,
    /// A denial in UFW's words.
    UfwDenial,
}

impl BlockFinder {
    /// Classifies the values that were added since the last call.
    pub(super) fn refresh(&mut self, values: &Values) {
        self.columns = Columns::of(values);
        let dictionary = |column: Option<ColumnId>| column.map(|it| values.dictionary(it));
        if let Some(messages) = dictionary(self.columns.message) {
            self.messages.refresh(messages, |text| {
                let cause = cause_of(text);
                self.has_blocks |= cause.is_some();
                cause
            });
        }
        if let Some(actions) = dictionary(self.columns.action) {
            self.actions.refresh(actions, |text| {
                self.has_blocks = true;
                Action::of(text)
            });
        }
        if let Some(excesses) = dictionary(self.columns.excess) {
            self.excesses.refresh(excesses, thousandths);
        }
    }

    /// Returns whether any value so far can make a record a block.
    pub(super) fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Calls `visit` with each block among the given rows of a segment.
    pub(super) fn for_each(&self, segment: &Segment, rows: &RowBits, mut visit: impl FnMut(Block)) {
        let ids = |column: Option<ColumnId>| {
            let codes = column.and_then(|column| segment.text(column));
            move |row: usize| codes.map_or(ABSENT, |codes| codes.get(row) as u32)
        };
        let client = ids(Some(Field::Client.column()));
        let message = ids(self.columns.message);
        let (action, rule) = (ids(self.columns.action), ids(self.columns.rule));
        let (logger, excess) = (ids(self.columns.logger), ids(self.columns.excess));
        let block = |row: usize| {
            let (cause, is_sampled) = match segment.kind() {
                RecordKind::Request => return None,
                RecordKind::ErrorLogLine => ((*self.messages.get(message(row))?)?, false),
                RecordKind::FirewallEvent => {
                    let action = self.actions.get(action(row))?;
                    let is_of_fail2ban = logger(row) != ABSENT;
                    action.cause(is_of_fail2ban, rule(row) != ABSENT)?
                }
            };
            let rule = ids(self.columns.of_rule(cause))(row);
            let excess = self.excesses.get(excess(row)).copied().flatten();
            let time_ns = segment.time(row).map(|time| time.unix_ns);
            Some(Block { client: client(row), time_ns, cause, rule, excess, is_sampled })
        };
        rows.selection().for_each(|row| block(row).into_iter().for_each(&mut visit));
    }
}

/// Returns the kind of block that a message of nginx's error log reports.
fn cause_of(message: &[u8]) -> Option<BlockCause> {
    let is_it = |known: &&BlockMessage| match known.is_whole {
        true => message == known.text.as_bytes(),
        false => message.starts_with(known.text.as_bytes()),
    };
    BLOCK_MESSAGES.iter().find(is_it).map(|known| known.cause)
}

/// Parses a number with three decimals, such as `20.520`, as thousandths.
fn thousandths(text: &[u8]) -> Option<u32> {
    let (whole, rest) = std::str::from_utf8(text).ok()?.split_once('.')?;
    let is_number = rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let whole: u32 = whole.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(rest.parse().ok().filter(|_| is_number)?)
}

impl Action {
    fn of(text: &[u8]) -> Self {
        if UFW_ACTIONS.contains(&text) {
            return Self::UfwDenial;
        }
        if BANS.contains(&text) {
            return Self::Ban;
        }
        let lower = text.to_ascii_lowercase();
        let has = |word: &&str| lower.windows(word.len()).any(|part| part == word.as_bytes());
        match &lower[..] {
            b"alert" => Self::Alert,
            _ if DENIALS.iter().any(has) => Self::Denial,
            _ => Self::Other,
        }
    }

    /// Returns the cause of the block that a record with this action reports, and whether the log
    /// is only a sample.
    fn cause(self, is_of_fail2ban: bool, has_rule: bool) -> Option<(BlockCause, bool)> {
        match self {
            Self::Ban if is_of_fail2ban => Some((BlockCause::Jail, false)),
            _ if is_of_fail2ban => None,
            Self::Alert => None,
            // Decisions of CrowdSec may have any action.
            _ if has_rule => Some((BlockCause::Scenario, false)),
            Self::Denial => Some((BlockCause::PacketFilter, false)),
            Self::UfwDenial => Some((BlockCause::PacketFilter, true)),
            Self::Ban | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_view::BlockCause;

    use super::{Action, cause_of, thousandths};

    #[test]
    fn messages_of_nginx_are_told_apart() {
        for (message, cause) in [
            ("limiting requests, excess: 3.986 by zone \"one\"", Some(BlockCause::RequestLimit)),
            ("limiting requests, dry run, excess: 1.9 by zone \"one\"", Some(BlockCause::DryRun)),
            ("delaying request, excess: 0.960, by zone \"one\"", Some(BlockCause::RequestDelay)),
            ("delaying request, dry run, excess: 0.960, by zone \"one\"", None),
            ("limiting connections by zone \"c\"", Some(BlockCause::ConnectionLimit)),
            ("access forbidden by rule", Some(BlockCause::AccessRule)),
            ("open() \"/limiting requests, excess: \" failed", None),
        ] {
            assert_eq!(cause_of(message.as_bytes()), cause, "{message}");
        }
        assert_eq!(thousandths(b"20.520"), Some(20_520));
        for bad in ["", "20", "20.5", "20.5x0", "9999999999.000", "-1.000"] {
            assert_eq!(thousandths(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn actions_of_firewalls_are_told_apart() {
        let cause = |action: &str, is_of_fail2ban, has_rule| {
            Action::of(action.as_bytes()).cause(is_of_fail2ban, has_rule)
        };
        assert_eq!(cause("BLOCK", false, false), Some((BlockCause::PacketFilter, true)));
        assert_eq!(cause("nft drop", false, false), Some((BlockCause::PacketFilter, false)));
        assert_eq!(cause("policy DROP", false, false), Some((BlockCause::PacketFilter, false)));
        assert_eq!(cause("AUDIT", false, false), None);
        assert_eq!(cause("Ban", true, true), Some((BlockCause::Jail, false)));
        for action in ["Unban", "Found", "already banned", "Increase Ban"] {
            assert_eq!(cause(action, true, true), None, "{action}");
        }
        assert_eq!(cause("captcha", false, true), Some((BlockCause::Scenario, false)));
        assert_eq!(cause("alert", false, true), None);
    }
}
