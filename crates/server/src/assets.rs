//! Files that are embedded in the program, and sent plain or compressed.

use std::io::{self, Write};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Request, Response};
use weir_net::{Body, ContentCoding, Resource};

/// An embedded file.
#[derive(Debug)]
pub struct Asset {
    /// The path of its address.
    pub path: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// Embedded files by the paths of their addresses.
#[derive(Debug)]
pub struct Assets {
    files: &'static [Asset],
    /// The files in the same order, plain and compressed.
    resources: OnceLock<Vec<Resource>>,
}

impl Asset {
    /// Creates a script.
    pub const fn script(path: &'static str, bytes: &'static [u8]) -> Self {
        Self { path, content_type: "text/javascript; charset=utf-8", bytes }
    }

    /// Creates a style sheet.
    pub const fn style(path: &'static str, bytes: &'static [u8]) -> Self {
        Self { path, content_type: "text/css; charset=utf-8", bytes }
    }
}

impl Assets {
    /// Creates the table of these files.
    pub const fn new(files: &'static [Asset]) -> Self {
        Self { files, resources: OnceLock::new() }
    }

    /// Returns the paths of the files.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.files.iter().map(|file| file.path)
    }

    /// Returns the file at a path. File names are the same in every version of a page, so a browser
    /// must revalidate its copy each time.
    pub fn response<B>(&self, path: &str, request: &Request<B>) -> Option<Response<Body>> {
        // Compressing them once takes some milliseconds.
        let resources = self.resources.get_or_init(|| self.files.iter().map(resource).collect());
        let (_, resource) = self.files.iter().zip(resources).find(|(file, _)| file.path == path)?;
        let mut response = resource.respond(request);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Some(response)
    }
}

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
