//! One request, upload or feed with its steps, which `GET /glass.json` of `--admin` answers with.

use serde::{Deserialize, Serialize};

/// One request, upload or feed that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Glass {
    /// What it is, such as `GET /a`. It may hold any character.
    pub name: String,
    /// When it began, in seconds since 1970.
    pub begun: f64,
    /// How long it took, in seconds; so far, if it has not ended.
    pub duration: f64,
    /// Whether it has ended. What has not ended is shown when the one who waited has waited for long enough.
    pub has_ended: bool,
    /// A sentence about its parts, if it has many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its steps, in the order in which they ended: the first and the last ones.
    pub steps: Vec<GlassStep>,
    /// How many of the steps came before those that are left out.
    pub first_steps: u64,
    /// The number of steps that are left out.
    pub steps_left_out: u64,
    /// All steps by their names, also those that are left out.
    pub totals: Vec<GlassTotal>,
    /// The heads that passed, without secrets.
    pub heads: Vec<GlassHead>,
}

/// Something that was done or waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlassStep {
    /// What it was.
    pub name: String,
    /// When it began, in seconds since the beginning; negative if it was before.
    pub begun: f64,
    /// How long it took, in seconds.
    pub duration: f64,
    /// The bytes that it moved, if it is a step that moves some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// More about it. It may hold any character.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// All steps of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlassTotal {
    /// What they were.
    pub name: String,
    /// How many.
    pub count: u64,
    /// How long they took together, in seconds.
    pub duration: f64,
    /// The bytes that they moved together, if they move some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The bytes of the one in the middle, to about 3 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_median: Option<u64>,
}

/// The head of a request or an answer, at one place of its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlassHead {
    /// Between whom it passed.
    pub title: String,
    /// A line for each field. It may hold any character.
    pub text: String,
}
