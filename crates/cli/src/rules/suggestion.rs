//! Formats a suggested setting to paste, with the figures in comments.

use weir_rules::LimitSweep;
use weir_view::{JudgedClient, ReplayedRule, Suggestion};

use super::text::count;
use crate::display::{safe, separated};

/// The most lines of a text that are printed whole; of a longer one only those that change.
const TEXT_LINES_MAX: usize = 200;

/// The suggestion in lines of the language of the rule.
pub(super) fn lines(rule: &ReplayedRule, suggestion: &Suggestion) -> String {
    let Suggestion { burst, highest_below, .. } = suggestion;
    let others = rule.keys.seen.saturating_sub(suggestion.keys);
    let rate = suggestion.rate.as_deref().unwrap_or_default();
    let (at, setting) = match &suggestion.setting {
        Some(setting) => (String::new(), safe(setting).to_string()),
        None => (format!("At {rate} "), format!("burst={burst}")),
    };
    let why = match suggestion.lowest_above {
        Some(lowest) => format!(
            "# {at}{} of {} {} {lowest:.1} or more, the others {highest_below:.1} at most.\n\
             # {setting} is between them: it rejects {} of {}.\n",
            count(suggestion.keys, "key"),
            separated(rule.keys.seen),
            if suggestion.keys == 1 { "reaches" } else { "reach" },
            count(suggestion.requests, "request"),
            if suggestion.keys == 1 { "this key" } else { "these keys" },
        ),
        None => format!(
            "# No setting tells a few of the {} from the others; {}the highest reaches \
             {highest_below:.1}.\n# {setting} lets all of this traffic through.\n",
            count(others, "key"),
            if rate.is_empty() { String::new() } else { format!("at {rate} ") },
        ),
    };
    let why = match &suggestion.limit {
        Some(limit) => of_several(limit, &setting, suggestion),
        None => why,
    };
    let figures = why + &spared(rule, suggestion);
    match &suggestion.text {
        Some(text) => format!("\n{figures}{}", safe_lines(text)),
        None => {
            // nginx refuses burst=0, which is its default.
            let burst = if *burst == 0 { String::new() } else { format!(" burst={burst}") };
            let zone = safe(&rule.name);
            format!(
                "\n{figures}# In limit_req_zone: rate={rate}\nlimit_req zone={zone}{burst} nodelay;\n"
            )
        }
    }
}

/// What a setting of one of several limits does, beside the others.
fn of_several(limit: &str, setting: &str, suggestion: &Suggestion) -> String {
    let limit = safe(limit);
    let why = match suggestion.keys {
        0 => format!("No setting of the limit of zone {limit} tells a few keys from the others"),
        _ => format!("Of the limits, that of zone {limit} rejects the most"),
    };
    let mut text = format!(
        "# {why}. With {setting} there,\n\
         # and the others as they are, {} would be rejected, with {}.\n",
        count(suggestion.keys, "key"),
        count(suggestion.requests, "request"),
    );
    if !suggestion.rejected_by_others.is_empty() {
        let client = |it: &JudgedClient| format!("{} ({})", safe(&it.client), it.looks.word());
        let clients: Vec<String> = suggestion.rejected_by_others.iter().map(client).collect();
        text += &format!(
            "# The other limits reject clients that look like a person or are good: {}.\n",
            clients.join(", ")
        );
    }
    text
}

/// Writes a suggestion as annotations of ingress-nginx, whose burst is a multiple of the number of
/// requests in the rate.
pub(super) fn of_annotations(sweep: &LimitSweep, found: Suggestion) -> Suggestion {
    let written = found.rate.as_deref().unwrap_or_default();
    let (number, unit) = written.split_once("r/").unwrap_or_default();
    let Some(number) = number.parse::<u32>().ok().filter(|number| *number > 0) else {
        return found;
    };
    let rate = i64::from(number) * 1_000 / if unit == "m" { 60 } else { 1 };
    let least = (found.highest_below / f64::from(number)).ceil().max(1.0) as u32;
    let middle = found.burst.div_ceil(number).max(1);
    let is_between =
        found.lowest_above.is_none_or(|lowest| f64::from(number.saturating_mul(middle)) < lowest);
    let multiplier = if is_between { middle } else { least };
    let burst = number.saturating_mul(multiplier);
    let swept = sweep.settings(0..sweep.keys(), rate, &[burst]);
    let (keys, requests) = swept.first().map_or((0, 0), |swept| (swept.keys, swept.requests));
    let prefix = "nginx.ingress.kubernetes.io/limit";
    Suggestion {
        burst,
        keys,
        requests,
        setting: Some(format!("limit-rp{unit}={number}, limit-burst-multiplier={multiplier}")),
        text: Some(format!(
            "{prefix}-rp{unit}: \"{number}\"\n{prefix}-burst-multiplier: \"{multiplier}\"\n"
        )),
        ..found
    }
}

/// The busiest client that must not be rejected, or why there is none.
fn spared(rule: &ReplayedRule, suggestion: &Suggestion) -> String {
    match &suggestion.busiest_spared {
        Some(spared) => format!(
            "# The busiest client that looks like a person or is good is {} ({}): it reaches {:.1}.\n",
            safe(&spared.client),
            spared.looks.word(),
            spared.peak,
        ),
        None if rule.clients.is_empty() => {
            "# Who the clients are is not known: the log cannot be read \
                                            again, or keys are no addresses.\n"
                .to_owned()
        }
        None => "# No client looks like a person or is good.\n".to_owned(),
    }
}

/// A text as it is printed.
fn safe_lines(text: &str) -> String {
    let shown = text.lines().take(TEXT_LINES_MAX).map(|line| format!("{}\n", safe(line)));
    let mut shown: String = shown.collect();
    if text.lines().nth(TEXT_LINES_MAX).is_some() {
        shown.push_str("# The text is longer; --json has all of it.\n");
    }
    shown
}
