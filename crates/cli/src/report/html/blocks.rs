//! The requests that tripped the rules in force, a sentence for each address.

use weir_view::{BlockedClient, BlocksReport, ClientProfile};

use super::text::safe;
use crate::display::{blocks_counts, blocks_remarks};

/// The section.
pub(super) fn section(blocks: &BlocksReport) -> String {
    let looks = |profile: &ClientProfile| {
        format!("<br><small><bdi>{}</bdi></small>", safe(&profile.sentence()))
    };
    let item = |client: &BlockedClient| {
        let looks = client.profile.as_ref().map(looks).unwrap_or_default();
        format!("<li><bdi>{}</bdi>{looks}</li>\n", safe(&client.sentence))
    };
    let items: String = blocks.clients.iter().map(item).collect();
    let remark = |remark: String| format!("<p class=\"dim\">{}</p>\n", safe(&remark));
    let remarks: String = blocks_remarks(blocks).into_iter().map(remark).collect();
    format!(
        "<section>\n<h2>What tripped your rules <small>{}</small></h2>\n<ol>\n{items}</ol>\n\
         {remarks}</section>\n",
        blocks_counts(blocks)
    )
}
