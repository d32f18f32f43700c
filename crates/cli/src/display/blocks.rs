//! The text around the blocks of a report: the requests that tripped the rules in force.

use weir_view::{BlockClock, BlocksReport, ClockEstimate, ClockEvidence, span};

use super::separated;

/// `1,204 blocks of 3 addresses`.
pub(crate) fn blocks_counts(blocks: &BlocksReport) -> String {
    let blocks_noun = if blocks.blocks == 1 { "block" } else { "blocks" };
    let addresses_noun = if blocks.addresses == 1 { "address" } else { "addresses" };
    let [all, addresses] = [blocks.blocks, blocks.addresses].map(separated);
    format!("{all} {blocks_noun} of {addresses} {addresses_noun}")
}

/// Returns what the list does not show, and what is known of the logs of the blocks.
pub(crate) fn blocks_remarks(blocks: &BlocksReport) -> Vec<String> {
    let rest = blocks.addresses.saturating_sub(blocks.clients.len() as u64);
    let mut remarks = Vec::new();
    if rest > 0 {
        remarks.push(format!("{} more, the next ones with --top.", separated(rest)));
    }
    if blocks.unknown > 0 {
        remarks.push(format!("{} blocks are of no known address.", separated(blocks.unknown)));
    }
    remarks.push(clock_text(&blocks.clock));
    remarks.extend(blocks.omissions.iter().cloned());
    remarks
}

/// Describes what is known of the clocks of the two logs.
fn clock_text(clock: &BlockClock) -> String {
    let ahead = |offset_s: i64| match offset_s {
        0 => "agrees with that of the requests".to_owned(),
        s if s > 0 => format!("is {} ahead of that of the requests", span(s.unsigned_abs())),
        s => format!("is {} behind that of the requests", span(s.unsigned_abs())),
    };
    match clock.estimate {
        Some(ClockEstimate { offset_s, by, pairs, agreeing }) => {
            let noun = match by {
                ClockEvidence::Rejections => "rejections",
                ClockEvidence::Bans => "bans",
            };
            let (agreeing, pairs) = (separated(agreeing), separated(pairs));
            let text = format!(
                "The clock of the blocks {}: {agreeing} of {pairs} {noun} agree.",
                ahead(offset_s)
            );
            match clock.offset_s == offset_s {
                true => text,
                false => {
                    format!("{text} Here it {}, as --clock-offset says.", ahead(clock.offset_s))
                }
            }
        }
        None if clock.offset_s != 0 => {
            format!("The clock of the blocks {}, as --clock-offset says.", ahead(clock.offset_s))
        }
        None => "Whether the clock of the blocks is that of the requests cannot be told; \
                 --clock-offset sets it."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_view::{BlockClock, ClockEstimate, ClockEvidence};

    use super::clock_text;

    #[test]
    fn the_clocks_are_described() {
        let by = ClockEvidence::Rejections;
        let estimate = |offset_s| Some(ClockEstimate { offset_s, by, pairs: 10, agreeing: 9 });
        let text = |offset_s, estimate| clock_text(&BlockClock { offset_s, estimate });
        assert_eq!(
            text(7_200, estimate(7_200)),
            "The clock of the blocks is 2 h ahead of that of the requests: 9 of 10 rejections \
             agree."
        );
        assert!(text(0, estimate(-60)).ends_with(
            "is 1 min behind that of the requests: 9 of 10 rejections agree. Here it agrees with \
             that of the requests, as --clock-offset says."
        ));
        assert!(text(0, None).contains("cannot be told"));
        assert!(text(5, None).contains("is 5 s ahead"));
    }
}
