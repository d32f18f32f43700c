//! User agents: browsers of many versions, crawlers, tools and monitors.

use std::collections::HashSet;

use crate::pool::Pool;
use crate::rng::Rng;

/// The kind of program of a user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Browser,
    Crawler,
    Tool,
    Monitor,
}

/// The user agents by rank, the most frequent first.
#[derive(Debug)]
pub(crate) struct Agents {
    /// Each user agent with the end of the line: `curl/8.5.0"\n`.
    pub(crate) texts: Pool,
    pub(crate) classes: Vec<Class>,
}

/// Every seventh rank is a user agent of `FIXED`, until all are used.
const FIXED_EVERY: usize = 7;

const FIXED: [(Class, &str); 34] = [
    (Class::Crawler, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36",
    ),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    ),
    (Class::Monitor, "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
    ),
    (Class::Crawler, "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"),
    (Class::Crawler, "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)"),
    (
        Class::Crawler,
        "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
    ),
    (
        Class::Crawler,
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.122 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    ),
    (Class::Tool, "curl/8.5.0"),
    (Class::Monitor, "Blackbox Exporter/0.25.0"),
    (
        Class::Crawler,
        "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)",
    ),
    (Class::Crawler, "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)"),
    (Class::Tool, "python-requests/2.32.3"),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
    ),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot",
    ),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
    ),
    (
        Class::Crawler,
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
    ),
    (Class::Tool, "Go-http-client/2.0"),
    (Class::Tool, "Go-http-client/1.1"),
    (Class::Crawler, "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)"),
    (Class::Crawler, "CCBot/2.0 (https://commoncrawl.org/faq/)"),
    (Class::Crawler, "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"),
    (
        Class::Crawler,
        "Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)",
    ),
    (Class::Monitor, "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)"),
    (
        Class::Crawler,
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
    ),
    (Class::Tool, "Wget/1.21.4"),
    (
        Class::Crawler,
        "Mozilla/5.0 (compatible; DataForSeoBot/1.0; +https://dataforseo.com/dataforseo-bot)",
    ),
    (Class::Tool, "axios/1.7.9"),
    (Class::Tool, "Java/17.0.13"),
    (Class::Crawler, "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)"),
    (
        Class::Crawler,
        "Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
    ),
    (Class::Tool, "Apache-HttpClient/4.5.14 (Java/21.0.5)"),
    (Class::Tool, "-"),
];

/// Major versions of Apple's systems and browser; newer ones are more frequent.
const APPLE: [&str; 9] = ["14", "15", "16", "17", "17", "18", "18", "26", "26"];

const PHONES: [&str; 18] = [
    "K",
    "SM-G991B",
    "SM-G998U",
    "SM-S911B",
    "SM-S928U1",
    "SM-A546E",
    "SM-A155F",
    "Pixel 6a",
    "Pixel 7",
    "Pixel 8 Pro",
    "Pixel 9",
    "M2101K6G",
    "2201117TY",
    "23021RAA2Y",
    "CPH2481",
    "RMX3710",
    "moto g54 5G",
    "V2247",
];

impl Agents {
    /// Draws `len` distinct user agents.
    pub(crate) fn new(len: usize, rng: &mut Rng) -> Self {
        let mut agents = Self { texts: Pool::default(), classes: Vec::with_capacity(len) };
        let mut seen = HashSet::with_capacity(len);
        let mut fixed = FIXED.into_iter();
        while agents.classes.len() < len {
            let is_turn = agents.classes.len() % FIXED_EVERY == 3;
            let known = if is_turn { fixed.next() } else { None };
            let (class, mut text) = match known {
                Some((class, text)) => (class, text.to_owned()),
                None => generate(rng),
            };
            text.push_str("\"\n");
            if !seen.contains(&text) {
                agents.texts.push(text.as_bytes());
                agents.classes.push(class);
                seen.insert(text);
            }
        }
        agents
    }
}

fn generate(rng: &mut Rng) -> (Class, String) {
    match rng.below(100) {
        0..97 => (Class::Browser, browser(rng)),
        97 => (Class::Tool, tool(rng)),
        98 => (Class::Crawler, crawler(rng)),
        _ => (Class::Browser, app(rng)),
    }
}

fn browser(rng: &mut Rng) -> String {
    match rng.below(100) {
        0..30 => {
            let system = desktop(rng.below(4));
            chromium(rng, system, "")
        }
        30..38 => {
            let edge = format!(" Edg/{}.0.{}.{}", major(rng), rng.between(2000, 3400), patch(rng));
            chromium(rng, desktop(0), &edge)
        }
        38..65 => android(rng),
        65..82 => iphone(rng),
        82..88 => mac_safari(rng),
        _ => firefox(rng),
    }
}

/// The larger of two draws, so that newer versions are more frequent.
fn major(rng: &mut Rng) -> u32 {
    rng.between(109, 142).max(rng.between(109, 142))
}

fn patch(rng: &mut Rng) -> u32 {
    rng.below(240)
}

fn desktop(i: u32) -> &'static str {
    match i {
        0 | 1 => "Windows NT 10.0; Win64; x64",
        2 => "Macintosh; Intel Mac OS X 10_15_7",
        _ => "X11; Linux x86_64",
    }
}

fn chromium(rng: &mut Rng, system: &str, tail: &str) -> String {
    let major = major(rng);
    // Since version 101 many browsers hide the rest of the version number.
    let version = if rng.below(40) == 0 {
        format!("{major}.0.0.0")
    } else {
        format!("{major}.0.{}.{}", 5414 + (major - 109) * 60, patch(rng))
    };
    format!(
        "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version} Safari/537.36{tail}"
    )
}

fn android(rng: &mut Rng) -> String {
    let release = rng.between(9, 16);
    let phone = rng.pick(&PHONES);
    let major = major(rng);
    let patch = patch(rng);
    let samsung = if phone.starts_with("SM-") && rng.below(3) == 0 {
        format!("SamsungBrowser/{}.0 ", rng.between(20, 29))
    } else {
        String::new()
    };
    format!(
        "Mozilla/5.0 (Linux; Android {release}; {phone}) AppleWebKit/537.36 (KHTML, like Gecko) {samsung}Chrome/{major}.0.{}.{patch} Mobile Safari/537.36",
        5414 + (major - 109) * 60
    )
}

fn iphone(rng: &mut Rng) -> String {
    let (major, minor) = (rng.pick(&APPLE), rng.below(8));
    let device = if rng.below(8) == 0 { "iPad; CPU OS" } else { "iPhone; CPU iPhone OS" };
    let build = format!(
        "{}{}{:03}",
        rng.between(15, 23),
        rng.pick(&["A", "B", "C", "D", "E", "F"]),
        rng.below(500)
    );
    format!(
        "Mozilla/5.0 ({device} {major}_{minor} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{major}.{minor} Mobile/{build} Safari/604.1"
    )
}

fn mac_safari(rng: &mut Rng) -> String {
    let version = format!("{}.{}.{}", rng.pick(&APPLE), rng.below(7), rng.below(4));
    format!(
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{version} Safari/605.1.15"
    )
}

fn firefox(rng: &mut Rng) -> String {
    let system = match rng.below(4) {
        3 => format!("Android {}; Mobile", rng.between(9, 16)),
        i => desktop(i + 1).to_owned(),
    };
    let version = rng.between(102, 145);
    format!("Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0")
}

fn tool(rng: &mut Rng) -> String {
    let (minor, patch) = (rng.below(30), rng.below(6));
    match rng.below(6) {
        0 => format!("curl/{}.{minor}.{patch}", rng.between(7, 8)),
        1 => format!("python-requests/2.{minor}.{patch}"),
        2 => format!("okhttp/{}.{}.{patch}", rng.between(3, 5), rng.below(13)),
        3 => format!("Python/3.{} aiohttp/3.{}.{patch}", rng.between(8, 14), rng.below(13)),
        4 => format!("PostmanRuntime/7.{minor}.{patch}"),
        _ => format!("node-fetch/{}.{minor}.{patch}", rng.between(2, 3)),
    }
}

fn crawler(rng: &mut Rng) -> String {
    let name = rng.pick(&["Feedly", "SiteAuditBot", "ExampleFeed", "LinkChecker", "PriceWatch"]);
    format!(
        "Mozilla/5.0 (compatible; {name}/{}.{}; +https://bots.example.org/{})",
        rng.between(1, 9),
        rng.below(20),
        name.to_ascii_lowercase()
    )
}

fn app(rng: &mut Rng) -> String {
    let build = rng.between(100, 999);
    if rng.below(2) == 0 {
        let (major, minor) = (rng.between(2, 6), rng.below(20));
        format!(
            "ExampleShop/{major}.{minor} (iPhone; iOS {}.{}; Build {build})",
            rng.between(15, 26),
            rng.below(6)
        )
    } else {
        format!(
            "ExampleShop/{}.{} (Android {}; {}; Build {build})",
            rng.between(2, 6),
            rng.below(20),
            rng.between(9, 16),
            rng.pick(&PHONES)
        )
    }
}
