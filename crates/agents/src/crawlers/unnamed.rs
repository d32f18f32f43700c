//! Agents that no list names, but that call themselves robots.

use aho_corasick::AhoCorasick;

/// Words of robots, in lower case. Browsers have none of them: an address in an agent is that of a
/// page about the robot.
const WORDS: [&str; 13] = [
    "bot", "crawl", "spider", "scraper", "scrapy", "slurp", "fetcher", "indexer", "archiver",
    "headless", "http://", "https://", "uptime",
];

/// A name of phones that ends as robots do.
const PHONE: &[u8] = b"cubot";

/// The search for the words of robots.
#[derive(Debug)]
pub(super) struct UnnamedBots(Option<AhoCorasick>);

impl UnnamedBots {
    pub(super) fn new() -> Self {
        Self(AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok())
    }

    /// Returns whether an agent calls itself a robot.
    pub(super) fn is_match(&self, agent: &[u8]) -> bool {
        let Some(words) = &self.0 else { return false };
        words.find_iter(agent).any(|found| {
            let is_bot = found.pattern().as_usize() == 0;
            let goes_on = agent.get(found.end()).is_some_and(u8::is_ascii_alphabetic);
            let start = (found.end()).saturating_sub(PHONE.len());
            let is_phone = agent[start..found.end()].eq_ignore_ascii_case(PHONE);
            !is_bot || !goes_on && !is_phone
        })
    }
}

#[cfg(test)]
mod tests {
    use super::UnnamedBots;

    #[test]
    fn robots_call_themselves_so() {
        let bots = UnnamedBots::new();
        for agent in [
            "ExampleBot/1.0",
            "my-bot",
            "some Crawler 2",
            "Mozilla/5.0 (compatible; Thing/1; +https://example.com/about)",
            "example_spider",
            "Robot",
        ] {
            assert!(bots.is_match(agent.as_bytes()), "{agent}");
        }
        for agent in [
            "Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 Chrome/74 Mobile",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
            "Bottle/1.0",
            "",
            "bo",
        ] {
            assert!(!bots.is_match(agent.as_bytes()), "{agent}");
        }
    }
}
