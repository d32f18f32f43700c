//! The state of mod_evasive for a client and its pages, in whole seconds.

use super::{Count, Settings};

/// A node of the table of hits.
#[derive(Debug, Clone, Copy)]
struct Hits {
    last_s: i64,
    count: i64,
}

/// The node of a page of a client, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageHits(Option<Hits>);

/// Writes the key of a page of a client.
pub(super) fn write_page(client: &[u8], path: &[u8], text: &mut Vec<u8>) {
    text.clear();
    text.extend_from_slice(client);
    text.push(b'_');
    text.extend_from_slice(path);
}

/// The nodes of a client, if there are any.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct History {
    /// The time of the hold; `None` before the client was over a count for the first time.
    held_s: Option<i64>,
    site: Option<Hits>,
}

/// The result of checking a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// The client is on hold.
    Held,
    /// The request was counted for its page and for the site.
    Counted { page: i64, site: i64, is_over: bool },
}

impl Check {
    /// Whether the request is rejected.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Held | Self::Counted { is_over: true, .. })
    }
}

impl History {
    /// Begins or renews the hold. The first one has a time so long ago that it is over.
    fn hold(&mut self, now_s: i64) {
        self.held_s = Some(self.held_s.map_or(i64::MIN, |_| now_s));
    }

    /// Counts a request, as `access_checker` does. Intervals are `more_s` longer than they are set.
    pub(super) fn check(
        &mut self,
        page: &mut PageHits,
        settings: Settings,
        now_s: i64,
        more_s: i64,
    ) -> Check {
        let is_held = |held_s: i64| now_s.saturating_sub(held_s) < settings.block_s;
        if self.held_s.is_some_and(is_held) {
            self.held_s = Some(now_s);
            return Check::Held;
        }
        let by_page = hit(&mut page.0, settings.page, now_s, more_s);
        let by_site = hit(&mut self.site, settings.site, now_s, more_s);
        let is_over = by_page.1 || by_site.1;
        if is_over {
            self.hold(now_s);
        }
        Check::Counted { page: by_page.0, site: by_site.0, is_over }
    }
}

/// Counts a hit. Returns the count with this request, and whether it is over the limit.
fn hit(hits: &mut Option<Hits>, limit: Count, now_s: i64, more_s: i64) -> (i64, bool) {
    let Some(hits) = hits else {
        *hits = Some(Hits { last_s: now_s, count: 0 });
        return (0, false);
    };
    let is_apart = now_s.saturating_sub(hits.last_s) >= limit.interval_s + more_s;
    let is_over = !is_apart && hits.count >= limit.most;
    if is_apart {
        hits.count = 0;
    }
    hits.last_s = now_s;
    hits.count += 1;
    (hits.count, is_over)
}
