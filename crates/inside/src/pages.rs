//! The pages, embedded from the committed `web/dist`. All have the same document, whose script draws
//! the page of the address.

use hyper::{Request, Response, StatusCode};
use weir_net::Body;
use weir_server::{Asset, Assets, asset, html_page};

static INDEX: &str = include_str!("../../../web/dist/admin/index.html");

static ASSETS: Assets = Assets::new(&[
    Asset::script("/admin/admin.js", include_bytes!("../../../web/dist/admin/admin.js")),
    Asset::style("/admin/admin.css", include_bytes!("../../../web/dist/admin/admin.css")),
]);

/// The addresses of the pages.
const PAGES: [&str; 6] = ["/", "/tasks", "/profile", "/calls", "/glass", "/log"];

/// The files of the page of the traffic that these pages share, and the script that leads from a
/// link with a token to the page without it.
const SHARED: [&str; 4] =
    ["/assets/enter.js", "/assets/frame.js", "/assets/frame.css", "/favicon.svg"];

/// Returns the page or the file at a path. The pages link to the page of the traffic at `traffic`.
pub(crate) fn page_file<B>(
    path: &str,
    request: &Request<B>,
    traffic: Option<&str>,
) -> Option<Response<Body>> {
    if PAGES.contains(&path) {
        let neighbour = traffic.map(|address| ("weir-page", address));
        return Some(html_page(StatusCode::OK, INDEX, neighbour));
    }
    match SHARED.contains(&path) {
        true => asset(path, request),
        false => ASSETS.response(path, request),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ASSETS, INDEX};

    #[test]
    fn every_file_of_the_pages_is_embedded() {
        let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/admin");
        let files = std::fs::read_dir(dist).expect("web/dist is committed");
        let name = |file: std::io::Result<std::fs::DirEntry>| {
            format!("/admin/{}", file.expect("an entry").file_name().to_string_lossy())
        };
        let mut names: Vec<String> = files.map(name).collect();
        names.sort();
        let mut embedded: Vec<&str> = ASSETS.paths().collect();
        embedded.push("/admin/index.html");
        embedded.sort_unstable();
        assert_eq!(names, embedded, "the table in pages.rs lists the files of web/dist/admin");
    }

    #[test]
    fn the_files_that_the_document_names_are_served() {
        let request = hyper::Request::new(());
        let mut parts = INDEX.split(['"', '\'']);
        let named = parts.by_ref().filter(|part| part.starts_with('/')).collect::<Vec<_>>();
        assert!(named.len() >= 5, "{named:?}");
        for path in named {
            assert!(super::page_file(path, &request, None).is_some(), "{path}");
        }
        assert!(super::page_file("/assets/app.js", &request, None).is_none());
    }
}
