//! The page, embedded from the committed `web/dist`.

use std::io::{self, Write};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Request, Response, StatusCode};
use weir_net::{Body, ContentCoding, Resource};

use crate::response;

/// A file of the page.
struct Asset {
    /// The path of its address.
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

/// The page itself. It is not an asset, because each session has its own address for it.
static INDEX: &[u8] = include_bytes!("../../../web/dist/index.html");

/// The script that opens the page from the login link.
pub(crate) const ENTER: &str = "/assets/enter.js";

static ASSETS: [Asset; 5] = [
    Asset {
        path: "/assets/app.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/assets/app.js"),
    },
    Asset {
        path: "/assets/bench.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/assets/bench.js"),
    },
    Asset {
        path: ENTER,
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/assets/enter.js"),
    },
    Asset {
        path: "/assets/app.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/assets/app.css"),
    },
    Asset {
        path: "/favicon.svg",
        content_type: "image/svg+xml",
        bytes: include_bytes!("../../../web/dist/favicon.svg"),
    },
];

/// Returns the page. It is not cached: it is small, and names the files to load.
pub(crate) fn index(status: StatusCode) -> Response<Body> {
    response::content(status, "text/html; charset=utf-8", INDEX)
}

/// Returns the file at this path. File names are the same in every version of the page, so a
/// browser must revalidate its copy each time.
pub fn asset<B>(path: &str, request: &Request<B>) -> Option<Response<Body>> {
    let (_, resource) = ASSETS.iter().zip(RESOURCES.iter()).find(|(one, _)| one.path == path)?;
    let mut response = resource.respond(request);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Some(response)
}

/// The assets, plain and compressed. Compressing them once takes some milliseconds.
static RESOURCES: LazyLock<[Resource; 5]> = LazyLock::new(|| ASSETS.each_ref().map(resource));

fn resource(asset: &Asset) -> Resource {
    let resource = Resource::from_bytes(asset.content_type, asset.bytes);
    match gzip(asset.bytes) {
        Ok(compressed) if compressed.len() < asset.bytes.len() => {
            resource.with_compressed(ContentCoding::Gzip, compressed)
        }
        _ => resource,
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ASSETS;

    fn files(folder: &Path, base: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("web/dist is committed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(&path, base, names);
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
        let mut embedded: Vec<&str> = ASSETS.iter().map(|asset| asset.path).collect();
        embedded.push("/index.html");
        embedded.sort_unstable();
        assert_eq!(names, embedded, "the table in page.rs lists the files of web/dist");
    }

    #[test]
    fn the_page_has_no_inline_script() {
        let index = std::str::from_utf8(super::INDEX).expect("text");
        for script in index.split("<script").skip(1) {
            let (head, rest) = script.split_once('>').expect("a tag");
            assert!(head.contains("src=\"/assets/"), "{head}");
            assert!(rest.starts_with("</script>"), "{rest}");
        }
        assert!(!index.contains("style=") && !index.contains("<style"));
    }
}
