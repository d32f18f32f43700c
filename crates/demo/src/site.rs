//! The site: its paths with their frequencies, and the pages that link to it.

use std::collections::HashSet;

use crate::alias::{Alias, zipf_weight};
use crate::pool::Pool;
use crate::rng::Rng;

/// The kind of resource at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    Page,
    Asset,
    Api,
    /// A page that redirects.
    Moved,
    /// A page that was removed, but is still linked from other sites.
    Gone,
    /// The resource for monitors.
    Health,
}

impl ResourceKind {
    /// The number of kinds.
    pub(crate) const COUNT: usize = 6;
}

/// A resource of the site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resource {
    pub(crate) kind: ResourceKind,
    /// The size of a full response in bytes.
    pub(crate) bytes: u32,
}

/// The paths by rank, the most frequent first. The last path is the one for monitors.
#[derive(Debug)]
pub(crate) struct Site {
    /// Each path with its query.
    pub(crate) paths: Pool,
    pub(crate) resources: Vec<Resource>,
    /// Draws the paths that browsers and tools request.
    pub(crate) browsed: Alias,
    /// Draws the paths that crawlers request, which are pages.
    pub(crate) crawled: Alias,
    /// The texts between size and user agent: `"-" "` first, then other sites, then own pages.
    pub(crate) referers: Pool,
    /// Draws from own pages, counted from 0.
    pub(crate) own: Alias,
    /// Draws from other sites, counted from 0.
    pub(crate) foreign: Alias,
}

/// The shift of Zipf's law, which flattens its top: the most frequent path has about 1 in 37
/// requests.
const SHIFT: f64 = 3.0;
/// The number of own pages that occur as referers.
const OWN_REFERERS: usize = 3000;

const FIXED: [(ResourceKind, &str, u32); 14] = [
    (ResourceKind::Page, "/", 14_210),
    (ResourceKind::Asset, "/assets/app-4f2a91c7.js", 183_442),
    (ResourceKind::Asset, "/assets/app-9be01d33.css", 41_907),
    (ResourceKind::Api, "/api/v1/session", 412),
    (ResourceKind::Asset, "/favicon.ico", 15_086),
    (ResourceKind::Asset, "/img/logo.svg", 3_318),
    (ResourceKind::Page, "/cart", 9_120),
    (ResourceKind::Page, "/search?q=", 11_400),
    (ResourceKind::Page, "/robots.txt", 310),
    (ResourceKind::Api, "/api/v1/cart", 1_204),
    (ResourceKind::Asset, "/fonts/inter-var.woff2", 98_868),
    (ResourceKind::Page, "/sitemap.xml", 88_210),
    (ResourceKind::Moved, "/index.html", 162),
    (ResourceKind::Page, "/login", 5_211),
];

const WORDS: [&str; 64] = [
    "amber", "anchor", "apron", "arch", "basket", "beacon", "birch", "blanket", "bottle", "brass",
    "bridge", "candle", "canvas", "cedar", "chair", "clay", "copper", "cotton", "desk", "drift",
    "elm", "fern", "field", "flint", "garden", "glass", "grain", "harbor", "hazel", "indigo",
    "ivory", "kettle", "lamp", "lantern", "leather", "linen", "maple", "marble", "meadow", "mill",
    "mirror", "north", "oak", "olive", "paper", "pebble", "pine", "plate", "quilt", "river",
    "saddle", "shelf", "silver", "slate", "spoon", "stone", "table", "teal", "timber", "velvet",
    "walnut", "water", "willow", "wool",
];

const FOREIGN: [&str; 16] = [
    "https://www.google.com/",
    "https://www.bing.com/",
    "https://duckduckgo.com/",
    "https://m.facebook.com/",
    "https://www.instagram.com/",
    "https://t.co/",
    "https://www.reddit.com/",
    "https://news.ycombinator.com/",
    "android-app://com.google.android.googlequicksearchbox/",
    "https://www.ecosia.org/",
    "https://yandex.ru/",
    "https://www.pinterest.com/",
    "https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.example.com%2F",
    "https://www.youtube.com/",
    "https://chatgpt.com/",
    "https://lnkd.in/",
];

impl Site {
    /// A site of `len` paths.
    pub(crate) fn new(len: usize, rng: &mut Rng) -> Self {
        let mut paths = Pool::default();
        let mut resources = Vec::with_capacity(len + 1);
        let mut seen = HashSet::with_capacity(len);
        while resources.len() < len {
            let (kind, path, bytes) = match FIXED.get(resources.len()) {
                Some(&(kind, path, bytes)) => (kind, path.to_owned(), bytes),
                None => generate(rng),
            };
            if !seen.contains(&path) {
                paths.push(path.as_bytes());
                resources.push(Resource { kind, bytes });
                seen.insert(path);
            }
        }
        let browsed = Alias::new(&weights(&resources, |kind| kind != ResourceKind::Health));
        let crawled = Alias::new(&weights(&resources, |kind| {
            !matches!(kind, ResourceKind::Asset | ResourceKind::Api)
        }));
        paths.push(b"/healthz");
        resources.push(Resource { kind: ResourceKind::Health, bytes: 2 });
        let (referers, own_count, foreign_count) = referers(&paths, &resources, rng);
        let (own, foreign) = (Alias::zipf(own_count, SHIFT), Alias::zipf(foreign_count, 0.5));
        Self { paths, resources, browsed, crawled, referers, own, foreign }
    }

    /// The number of the path that monitors ask for.
    pub(crate) fn health(&self) -> usize {
        self.resources.len() - 1
    }

    /// The referer of this rank among other sites.
    pub(crate) fn foreign_referer(&self, rng: &mut Rng) -> &[u8] {
        self.referers.get(1 + self.foreign.draw(rng) as u32)
    }

    /// A page of the site itself as the referer.
    pub(crate) fn own_referer(&self, rng: &mut Rng) -> &[u8] {
        let first = self.referers.len() - OWN_REFERERS;
        self.referers.get((first + self.own.draw(rng)) as u32)
    }
}

/// No referer, as it stands in a line.
pub(crate) const NO_REFERER: &[u8] = b" \"-\" \"";

fn weights(resources: &[Resource], wanted: impl Fn(ResourceKind) -> bool) -> Vec<f64> {
    let weight = |(rank, resource): (usize, &Resource)| {
        if wanted(resource.kind) { zipf_weight(rank, SHIFT) } else { 0.0 }
    };
    resources.iter().enumerate().map(weight).collect()
}

fn referers(paths: &Pool, resources: &[Resource], rng: &mut Rng) -> (Pool, usize, usize) {
    let mut pool = Pool::default();
    pool.push(NO_REFERER);
    for url in FOREIGN {
        pool.push(format!(" \"{url}\" \"").as_bytes());
    }
    for _ in 0..400 {
        let (site, page) = (words(rng, 2, '-'), words(rng, 3, '-'));
        pool.push(format!(" \"https://{site}.example.org/{page}\" \"").as_bytes());
    }
    let foreign = pool.len() - 1;
    let is_html = |i: usize| {
        let path = paths.get(i as u32);
        !path.ends_with(b".txt") && !path.ends_with(b".xml")
    };
    let pages =
        (0..resources.len()).filter(|&i| resources[i].kind == ResourceKind::Page && is_html(i));
    for page in pages.cycle().take(OWN_REFERERS) {
        let mut referer = b" \"https://www.example.com".to_vec();
        referer.extend_from_slice(paths.get(page as u32));
        referer.extend_from_slice(b"\" \"");
        pool.push(&referer);
    }
    (pool, OWN_REFERERS, foreign)
}

fn generate(rng: &mut Rng) -> (ResourceKind, String, u32) {
    match rng.below(100) {
        0..34 => (ResourceKind::Page, page(rng), rng.between(4_000, 60_000)),
        34..78 => asset(rng),
        78..96 => (ResourceKind::Api, api(rng), rng.between(60, 9_000)),
        96..98 => (ResourceKind::Moved, page(rng), 162),
        _ => (
            ResourceKind::Gone,
            format!("/old/{}.php?id={}", words(rng, 2, '_'), rng.below(5000)),
            1_245,
        ),
    }
}

fn words(rng: &mut Rng, count: usize, separator: char) -> String {
    let mut text = rng.pick(&WORDS).to_owned();
    for _ in 1..count {
        text.push(separator);
        text.push_str(rng.pick(&WORDS));
    }
    text
}

fn page(rng: &mut Rng) -> String {
    match rng.below(12) {
        0..5 => format!("/products/{}-{}", words(rng, 3, '-'), rng.below(10_000)),
        5 | 6 => format!(
            "/blog/{}/{:02}/{}",
            rng.between(2019, 2026),
            rng.between(1, 12),
            words(rng, 4, '-')
        ),
        7 => format!("/category/{}?page={}", words(rng, 2, '/'), rng.between(1, 40)),
        8 => format!("/search?q={}&sort=price&page={}", words(rng, 2, '+'), rng.between(1, 9)),
        9 => format!("/docs/{}.html", words(rng, 2, '/')),
        10 => format!("/users/{}/reviews", rng.below(100_000)),
        _ => format!(
            "/p/{}?utm_source=news&utm_campaign={}",
            rng.below(1_000_000),
            words(rng, 2, '-')
        ),
    }
}

fn asset(rng: &mut Rng) -> (ResourceKind, String, u32) {
    let hash = rng.bits() as u32;
    let (path, bytes) = match rng.below(10) {
        0..6 => {
            let width = rng.pick(&["160", "320", "640", "1280"]);
            let path = format!("/img/products/{}-{width}w.webp", words(rng, 3, '-'));
            (path, rng.between(3_000, 220_000))
        }
        6 | 7 => {
            (format!("/assets/{}-{hash:08x}.js", words(rng, 1, '-')), rng.between(800, 160_000))
        }
        8 => (format!("/assets/{}-{hash:08x}.css", words(rng, 1, '-')), rng.between(500, 40_000)),
        _ => (
            format!("/media/{hash:08x}/{}.mp4", words(rng, 2, '_')),
            rng.between(400_000, 24_000_000),
        ),
    };
    (ResourceKind::Asset, path, bytes)
}

fn api(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 | 1 => format!("/api/v1/products/{}", rng.below(40_000)),
        2 => format!("/api/v1/orders/{}/items", rng.between(1_000_000, 1_999_999)),
        3 => format!("/api/v2/search?q={}&limit={}", words(rng, 1, '+'), rng.between(1, 10) * 10),
        4 => format!("/api/v1/users/{:08x}-{:04x}/wishlist", rng.bits() as u32, rng.below(65_536)),
        _ => format!("/api/v2/events?cursor={:016x}", rng.bits()),
    }
}
