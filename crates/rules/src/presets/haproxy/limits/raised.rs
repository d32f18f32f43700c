//! The limits of general counters, which other lines raise.

use super::super::super::Preset;
use super::super::condition::{Term, Test};
use super::super::configuration::{Comparison, Denial, Raise, is_raised};
use super::super::counter::{Counter, CounterKind};
use super::super::request_condition::{alternatives, condition, is_always, without_earlier};
use super::{Limits, NEVER, PRESETS_MAX};
use crate::error::RuleError;
use crate::windows::{Effect, Hold};

impl<'t> Limits<'_, 't> {
    /// Which requests raise a general counter, as a condition; `None` within if all do. `None` if none
    /// does, which is noted.
    pub(super) fn raised(
        &mut self,
        counter: &Counter<'t>,
        notes: &mut Vec<RuleError>,
    ) -> Option<Option<String>> {
        let raises = self.configuration.raises.iter();
        let raises: Vec<&Raise<'t>> =
            raises.filter(|raise| is_raised(counter, &raise.counter)).collect();
        let Some(raise) = raises.first() else {
            let message = "no line raises this counter, so this line is not followed";
            self.note(counter.place.error(message));
            return None;
        };
        let raised = alternatives(&raise.condition, notes, |notes| {
            let message = "which requests raise the counter is not followed: all do";
            notes.push(raise.counter.place.error(message));
        });
        let message = "of several lines that raise the counter, the first is used";
        notes.extend(raises.get(1).map(|other| other.counter.place.error(message)));
        Some(raised)
    }

    /// The limit of a general counter that requests raise, whatever their rate is.
    pub(super) fn of_raised(
        &mut self,
        denial: &Denial<'t>,
        terms: &[Term<'t>],
        term: &Term<'t>,
        comparison: &Comparison<'t>,
    ) -> Result<Option<Preset>, RuleError> {
        let read = &comparison.counter;
        let mut raises = self.configuration.raises.iter();
        let raise = raises.find(|raise| is_raised(read, &raise.counter));
        // The line that raises it after the denial has not counted this request.
        let is_later = raise.is_some_and(|raise| raise.line > denial.line);
        let count = comparison.count(term.is_negated)? + u64::from(is_later);
        let Some(track) = self.track(read) else { return Ok(None) };
        let Some(mut preset) = self.limit(read, track, count)? else { return Ok(None) };
        let others: Vec<&Term<'t>> =
            terms.iter().filter(|other| !std::ptr::eq(*other, term)).collect();
        let message = "this condition is not followed: the count alone decides here";
        let rejects = condition(&others, &mut preset.notes, message);
        let Some(rejects) = without_earlier(rejects, &denial.earlier, &mut preset.notes) else {
            self.note(term.place.error(NEVER));
            return Ok(None);
        };
        self.set_rejects(&mut preset, rejects, term.place.start)?;
        Ok(Some(preset))
    }

    /// The limit of a general counter. If a rate raises it, who was over the rate stays rejected.
    pub(super) fn of_general(
        &mut self,
        denial: &Denial<'t>,
        terms: &[Term<'t>],
        term: &Term<'t>,
        comparison: &Comparison<'t>,
    ) -> Result<Vec<Preset>, RuleError> {
        let read = &comparison.counter;
        let mut presets = Vec::new();
        let raises = &self.configuration.raises;
        let of_counter = |raise: &&Raise<'t>| is_raised(read, &raise.counter);
        let has_rate =
            |raise: &Raise<'t>| raise.condition.iter().flatten().any(|term| term.rate().is_some());
        if raises.iter().find(of_counter).is_some_and(|raise| !has_rate(raise)) {
            return Ok(Vec::from_iter(self.of_raised(denial, terms, term, comparison)?));
        }
        for raise in raises.iter().filter(|raise| is_raised(read, &raise.counter)) {
            if presets.len() > PRESETS_MAX {
                break;
            }
            for raised in &raise.condition {
                let rate = raised.iter().find_map(|term| match &term.test {
                    Test::Counter(it) if matches!(it.counter.kind, CounterKind::Rate(_)) => {
                        Some((term, it))
                    }
                    _ => None,
                });
                let Some((rate_term, rate)) =
                    rate.filter(|_| comparison.count(term.is_negated) == Ok(0))
                else {
                    continue;
                };
                let count = rate.count(rate_term.is_negated)?;
                let Some(track) = self.track(&rate.counter) else { continue };
                let Some(mut preset) = self.limit(&rate.counter, track, count)? else { continue };
                if let Some(earlier) = denial.earlier.first() {
                    preset.notes.push(earlier.place.error(
                        "requests that this line sends to its backend are shown as rejected too",
                    ));
                }
                let others = raised.iter().filter(|other| !std::ptr::eq(*other, rate_term));
                let others: Vec<&Term<'t>> = others
                    .chain(terms.iter().filter(|other| !std::ptr::eq(*other, term)))
                    .collect();
                if let Some(other) = others.iter().find(|other| !is_always(other)) {
                    preset.notes.push(
                        other.place.error("this condition of a counter that stays is not followed"),
                    );
                }
                let length_ns = self.table(track).and_then(|table| table.expire_ns);
                preset.limit.effect = match length_ns {
                    Some(length_ns) => {
                        let spares_first = raise.line > denial.line;
                        let hold = Some(Hold { length_ns, is_renewed: true, spares_first });
                        Effect { rejects: None, hold }
                    }
                    None => {
                        let message =
                            "a counter that never expires is not followed: the rate alone decides";
                        preset.notes.push(read.place.error(message));
                        Effect::default()
                    }
                };
                presets.push(preset);
            }
        }
        if presets.is_empty() {
            let message = "this counter is not followed, so this line is not: it can be if a rate \
                           raises it, and the line denies from 1 on";
            self.note(read.place.error(message));
        }
        Ok(presets)
    }
}
