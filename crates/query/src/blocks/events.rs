//! Which records of error logs and firewalls are blocks.

use weir_core::{ABSENT, ColumnId, Field, RecordKind, RowBits, Segment, Values};
use weir_view::BlockCause;

use super::learned::Learned;

/// The prefixes of UFW's log, without `UFW`. It logs 3 packets a minute for each of its rules.
const UFW_ACTIONS: [&[u8]; 2] = [b"BLOCK", b"LIMIT BLOCK"];

/// A packet filter that logs such a word has refused the packet.
const DENIALS: [&str; 6] = ["block", "drop", "deny", "denied", "reject", "refuse"];

/// The bans in fail2ban's log. `already banned` and `Increase Ban` are about an earlier one.
const BANS: [&[u8]; 2] = [b"Ban", b"Restore Ban"];

/// A message of nginx's error log that states a block.
pub(crate) struct BlockMessage {
    pub(crate) text: &'static str,
    /// Whether the text is the whole message, not only its beginning.
    pub(crate) is_whole: bool,
    pub(crate) cause: BlockCause,
}

/// The messages that state a block. No text is the beginning of another.
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

/// A block, as ids of the values of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) client: u32,
    /// In nanoseconds since 1970.
    pub(super) time_ns: Option<i64>,
    pub(super) cause: BlockCause,
    /// The name of the rule, in the column of the cause.
    pub(super) rule: u32,
    /// In thousandths of a request, if the log has it.
    pub(super) excess: Option<u32>,
    /// Whether the log has only a sample of such blocks.
    pub(super) is_sampled: bool,
}

/// Finds the blocks in segments. It learns from the values of a data set which of them make a
/// record a block: a byte for each distinct message and action, 8 for each excess.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockFinder {
    columns: Columns,
    /// By the id of a message.
    messages: Learned<Option<BlockCause>>,
    /// By the id of an action.
    actions: Learned<Action>,
    /// By the id of an excess.
    excesses: Learned<Option<u32>>,
    /// Whether a value was learned that may make a record a block.
    has_blocks: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    message: Option<ColumnId>,
    action: Option<ColumnId>,
    excess: Option<ColumnId>,
    zone: Option<ColumnId>,
    rule: Option<ColumnId>,
    /// Only fail2ban has it.
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

    /// The column of the name of a rule.
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

/// The column of the name of a rule, in a data set with these values.
pub(super) fn rule_column(cause: BlockCause, values: &Values) -> Option<ColumnId> {
    Columns::of(values).of_rule(cause)
}

/// What an action of a firewall's record stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Action {
    /// No block of a packet filter or of fail2ban.
    #[default]
    Other,
    /// An alert of CrowdSec, which is no block at all.
    Alert,
    Ban,
    Denial,
    /// A denial in the words of UFW.
    UfwDenial,
}

impl BlockFinder {
    /// Learns the values that were added since the last call.
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

    /// Whether a record of the values that were learned may be a block.
    pub(super) fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Calls `visit` with each block of a segment, among the rows that pass.
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

/// The block that a message of nginx's error log states.
fn cause_of(message: &[u8]) -> Option<BlockCause> {
    let is_it = |known: &&BlockMessage| match known.is_whole {
        true => message == known.text.as_bytes(),
        false => message.starts_with(known.text.as_bytes()),
    };
    BLOCK_MESSAGES.iter().find(is_it).map(|known| known.cause)
}

/// The thousandths of a number such as `20.520`.
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

    /// The block that a record with this action is, and whether the log is a sample.
    fn cause(self, is_of_fail2ban: bool, has_rule: bool) -> Option<(BlockCause, bool)> {
        match self {
            Self::Ban if is_of_fail2ban => Some((BlockCause::Jail, false)),
            _ if is_of_fail2ban => None,
            Self::Alert => None,
            // Decisions of CrowdSec may have any name.
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
