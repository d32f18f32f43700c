//! Names of HTTP versions.

use hyper::Version;

/// Returns the version as access logs write it.
pub(crate) fn version_name(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_10 => b"HTTP/1.0",
        Version::HTTP_2 => b"HTTP/2.0",
        _ => b"HTTP/1.1",
    }
}
