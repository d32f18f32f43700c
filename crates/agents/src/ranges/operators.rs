//! The files of addresses that operators publish, by name.

/// A file, and whose crawlers ask from its addresses.
#[derive(Debug)]
pub(super) struct Published {
    /// The name of the file, without folder and `.json`.
    pub(super) file: &'static str,
    /// The names of the crawlers.
    pub(super) crawlers: &'static [&'static str],
}

/// The files that are known. docs/crawlers.md has their addresses; a test compares the names.
pub(super) const PUBLISHED: [Published; 14] = [
    published(
        "googlebot",
        &[
            "Googlebot",
            "Googlebot-Image",
            "Googlebot-Mobile",
            "Googlebot-News",
            "Googlebot-Video",
            "GoogleOther",
            "Google-InspectionTool",
            "Storebot-Google",
            "Google-CloudVertexBot",
        ],
    ),
    published(
        "special-crawlers",
        &["AdsBot-Google", "AdsBot-Google-Mobile", "Mediapartners-Google", "APIs-Google"],
    ),
    published(
        "user-triggered-fetchers",
        &["Feedfetcher-Google", "Google-Site-Verification", "Google-Read-Aloud", "GoogleProducer"],
    ),
    published("user-triggered-fetchers-google", &["Google-NotebookLM"]),
    published("bingbot", &["bingbot"]),
    published("gptbot", &["GPTBot"]),
    published("searchbot", &["OAI-SearchBot"]),
    published("chatgpt-user", &["ChatGPT-User"]),
    published("perplexitybot", &["PerplexityBot"]),
    published("perplexity-user", &["Perplexity-User"]),
    published("claudebot", &["ClaudeBot"]),
    published("claude-user", &["Claude-User", "Claude-SearchBot"]),
    published("applebot", &["Applebot"]),
    published("duckduckbot", &["DuckDuckBot"]),
];

const fn published(file: &'static str, crawlers: &'static [&'static str]) -> Published {
    Published { file, crawlers }
}
