//! What crawlers are for.

/// What a crawler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlerKind {
    /// An index of a search engine.
    Search,
    /// Texts from which a model learns.
    AiTraining,
    /// The index of an assistant, and pages that it reads for a person who asks.
    AiSearch,
    /// Another one for artificial intelligence, or one that does not tell what for.
    AiOther,
    /// Analyses of links and of rankings.
    Seo,
    /// Previews of links in messages.
    SocialPreview,
    /// Whether a site answers.
    Monitor,
    /// Feeds of news.
    Feed,
    /// Scans for weaknesses and surveys of the Internet.
    Scanner,
    /// A library or a program with which anybody makes requests.
    Tool,
    /// Archives.
    Archive,
    /// Another purpose, such as advertising and research.
    Other,
    /// An agent that no list names, but that calls itself a robot.
    Unnamed,
}

use CrawlerKind as Kind;

const TEXTS: [(Kind, &str); 13] = [
    (Kind::Search, "search"),
    (Kind::AiTraining, "ai_training"),
    (Kind::AiSearch, "ai_search"),
    (Kind::AiOther, "ai_other"),
    (Kind::Seo, "seo"),
    (Kind::SocialPreview, "social_preview"),
    (Kind::Monitor, "monitor"),
    (Kind::Feed, "feed"),
    (Kind::Scanner, "scanner"),
    (Kind::Tool, "tool"),
    (Kind::Archive, "archive"),
    (Kind::Other, "other"),
    (Kind::Unnamed, "unnamed"),
];

/// The tags of crawler-user-agents.
const TAGS: [(&str, Kind); 12] = [
    ("ai-crawler", Kind::AiOther),
    ("search-engine", Kind::Search),
    ("seo", Kind::Seo),
    ("social-preview", Kind::SocialPreview),
    ("monitoring", Kind::Monitor),
    ("feed-reader", Kind::Feed),
    ("scanner", Kind::Scanner),
    ("http-library", Kind::Tool),
    ("browser-automation", Kind::Tool),
    ("archiver", Kind::Archive),
    ("advertising", Kind::Other),
    ("academic", Kind::Other),
];

impl CrawlerKind {
    /// The kind as a value of the field.
    pub fn text(self) -> &'static str {
        TEXTS.iter().find(|known| known.0 == self).map_or("other", |known| known.1)
    }

    /// Whether a crawler of this kind says whose it is.
    pub(crate) fn is_claim(self) -> bool {
        !matches!(self, Self::Tool | Self::Unnamed)
    }

    /// Returns the kind of a crawler with these tags, which have commas between them. A kind of this
    /// crate is a tag too. Fails with the first tag that is not known.
    pub(super) fn of_tags(tags: &str) -> Result<Self, &str> {
        let mut kind = None;
        let has = |wanted: &str| tags.split(',').any(|tag| tag == wanted);
        for tag in tags.split(',') {
            let of_tag = TAGS.iter().find(|known| known.0 == tag).map(|known| known.1);
            let own = || TEXTS.iter().find(|known| known.1 == tag).map(|known| known.0);
            let found = of_tag.or_else(own).ok_or(tag)?;
            kind.get_or_insert(found);
        }
        Ok(match (has("ai-crawler"), has("search-engine")) {
            (true, true) => Self::AiSearch,
            (true, false) => Self::AiOther,
            _ => kind.unwrap_or(Self::Other),
        })
    }

    /// The kinds, as a message lists them.
    pub(super) fn texts() -> String {
        TEXTS.map(|known| known.1).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::CrawlerKind as Kind;

    #[test]
    fn tags_have_kinds() {
        for (tags, kind) in [
            ("search-engine", Ok(Kind::Search)),
            ("search-engine,ai-crawler", Ok(Kind::AiSearch)),
            ("ai-crawler,social-preview", Ok(Kind::AiOther)),
            ("browser-automation,ai-crawler", Ok(Kind::AiOther)),
            ("feed-reader,seo", Ok(Kind::Feed)),
            ("academic", Ok(Kind::Other)),
            ("ai_training", Ok(Kind::AiTraining)),
            ("seo,what", Err("what")),
            ("", Err("")),
        ] {
            assert_eq!(Kind::of_tags(tags), kind, "{tags}");
        }
    }
}
