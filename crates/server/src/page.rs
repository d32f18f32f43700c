//! The page, embedded from the committed `web/dist`. The pages of `--admin` are a second entry there,
//! in `admin`; they share the files of the frame.

use hyper::{Request, Response, StatusCode};
use weir_net::Body;

use crate::assets::{Asset, Assets};
use crate::response;

/// The page itself. It is not an asset, because each session has its own address for it.
static INDEX: &str = include_str!("../../../web/dist/index.html");

/// The script that opens the page from the login link.
pub(crate) const ENTER: &str = "/assets/enter.js";

/// A script of the page, by the name of its file.
macro_rules! script {
    ($name:literal) => {
        Asset::script(
            concat!("/assets/", $name),
            include_bytes!(concat!("../../../web/dist/assets/", $name)),
        )
    };
}

static ASSETS: Assets = Assets::new(&[
    Asset::script(ENTER, include_bytes!("../../../web/dist/assets/enter.js")),
    script!("app.js"),
    script!("frame.js"),
    script!("page.js"),
    script!("later.js"),
    script!("bench.js"),
    script!("fileName.js"),
    script!("Formats.js"),
    script!("HeatPanel.js"),
    script!("help.js"),
    script!("lines.js"),
    script!("LiveNow.js"),
    script!("menus.js"),
    script!("Progress.js"),
    script!("rare.js"),
    script!("rolldown-runtime.js"),
    script!("rules.js"),
    script!("StoryPane.js"),
    script!("uploads.js"),
    script!("Wall.js"),
    script!("WholeList.js"),
    Asset::style("/assets/page.css", include_bytes!("../../../web/dist/assets/page.css")),
    Asset::style("/assets/frame.css", include_bytes!("../../../web/dist/assets/frame.css")),
    Asset {
        path: "/favicon.svg",
        content_type: "image/svg+xml",
        bytes: include_bytes!("../../../web/dist/favicon.svg"),
    },
]);

/// The path of the page on which logs are dropped, also if the program serves a data set at `/`.
pub(crate) const NEW: &str = "/new";

/// What the page is told about the server that it came from.
#[derive(Debug, Default)]
pub(crate) struct Surroundings<'a> {
    /// The address of the pages of `--admin`.
    pub(crate) admin: Option<&'a str>,
    /// The name of the data set that the program serves.
    pub(crate) served: Option<&'a str>,
    /// Whether the server asks for a token, which an address of the page does not have.
    pub(crate) needs_token: bool,
}

/// Returns the page.
pub(crate) fn index(
    status: StatusCode,
    Surroundings { admin, served, needs_token }: Surroundings<'_>,
) -> Response<Body> {
    let admin = admin.map(|address| ("weir-admin", address));
    let served = served.map(|name| ("weir-served", name));
    let token = needs_token.then_some(("weir-token", "required"));
    html_page(status, INDEX, admin.into_iter().chain(served).chain(token))
}

/// Returns an HTML page whose head has these names and values, such as the address of a neighbour for
/// a link. It is not cached: it is small, and names the files to load.
pub fn html_page<'a>(
    status: StatusCode,
    html: &'static str,
    values: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Response<Body> {
    const TYPE: &str = "text/html; charset=utf-8";
    let meta = |(name, value)| {
        format!("  <meta name=\"{name}\" content=\"{}\" />\n  ", response::html_escaped(value))
    };
    let mut head: String = values.into_iter().map(meta).collect();
    if head.is_empty() {
        return response::content(status, TYPE, html);
    }
    head += "</head>";
    response::content(status, TYPE, html.replacen("</head>", &head, 1))
}

/// Returns the file of the page at this path.
pub fn asset<B>(path: &str, request: &Request<B>) -> Option<Response<Body>> {
    ASSETS.response(path, request)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use http_body_util::BodyExt;
    use hyper::StatusCode;

    use super::{ASSETS, Surroundings};

    fn files(folder: &Path, base: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("web/dist is committed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // The crate `inside` embeds the pages of `--admin`.
                if !path.ends_with("admin") {
                    files(&path, base, names);
                }
            } else {
                let name = path.strip_prefix(base).expect("inside").to_string_lossy();
                names.push(format!("/{name}"));
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_embedded() {
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
        let mut names = Vec::new();
        files(&dist, &dist, &mut names);
        names.sort();
        let mut embedded: Vec<&str> = ASSETS.paths().collect();
        embedded.push("/index.html");
        embedded.sort_unstable();
        assert_eq!(names, embedded, "the table in page.rs lists the files of web/dist");
    }

    #[test]
    fn the_page_has_no_inline_script() {
        let index = super::INDEX;
        for script in index.split("<script").skip(1) {
            let (head, rest) = script.split_once('>').expect("a tag");
            assert!(head.contains("src=\"/assets/"), "{head}");
            assert!(rest.starts_with("</script>"), "{rest}");
        }
        assert!(!index.contains("style=") && !index.contains("<style"));
    }

    #[tokio::test]
    async fn the_address_of_a_neighbour_is_in_the_head() {
        let address = "http://127.0.0.1:1/?a=\"&b";
        let around = Surroundings { admin: Some(address), served: Some("web1"), needs_token: true };
        let page = super::index(StatusCode::OK, around).into_body();
        let page = page.collect().await.expect("a body").to_bytes();
        let (head, _) =
            std::str::from_utf8(&page).expect("text").split_once("<body>").expect("a body");
        let meta = "<meta name=\"weir-admin\" content=\"http://127.0.0.1:1/?a=&quot;&amp;b\" />";
        assert!(head.contains(meta), "{head}");
        assert!(head.contains("<meta name=\"weir-served\" content=\"web1\" />"), "{head}");
        assert!(head.contains("<meta name=\"weir-token\" content=\"required\" />"), "{head}");
        let page = super::index(StatusCode::OK, Surroundings::default()).into_body();
        let page = page.collect().await.expect("a body").to_bytes();
        assert_eq!(page, super::INDEX.as_bytes(), "there is nothing to tell");
    }
}
