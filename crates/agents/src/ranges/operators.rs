//! The files of addresses that operators publish, by name.

/// A file, and whose crawlers ask from its addresses.
#[derive(Debug)]
pub(super) struct Published {
    /// The name of the file, without folder and `.json`.
    pub(super) file: &'static str,
    pub(super) operator: &'static str,
    /// The names of the crawlers.
    pub(super) crawlers: &'static [&'static str],
}

/// The files that are known. docs/crawlers.md has their addresses; a test compares the names.
pub(super) const PUBLISHED: [Published; 14] = [
    published(
        "googlebot",
        "Google",
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
        "Google",
        &["AdsBot-Google", "AdsBot-Google-Mobile", "Mediapartners-Google", "APIs-Google"],
    ),
    published(
        "user-triggered-fetchers",
        "Google",
        &["Feedfetcher-Google", "Google-Site-Verification", "Google-Read-Aloud", "GoogleProducer"],
    ),
    published("user-triggered-fetchers-google", "Google", &["Google-NotebookLM"]),
    published("bingbot", "Microsoft", &["bingbot"]),
    published("gptbot", "OpenAI", &["GPTBot"]),
    published("searchbot", "OpenAI", &["OAI-SearchBot"]),
    published("chatgpt-user", "OpenAI", &["ChatGPT-User"]),
    published("perplexitybot", "Perplexity", &["PerplexityBot"]),
    published("perplexity-user", "Perplexity", &["Perplexity-User"]),
    published("claudebot", "Anthropic", &["ClaudeBot"]),
    published("claude-user", "Anthropic", &["Claude-User", "Claude-SearchBot"]),
    published("applebot", "Apple", &["Applebot"]),
    published("duckduckbot", "DuckDuckGo", &["DuckDuckBot"]),
];

const fn published(
    file: &'static str,
    operator: &'static str,
    crawlers: &'static [&'static str],
) -> Published {
    Published { file, operator, crawlers }
}
