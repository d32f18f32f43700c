//! The files of the pages.

use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use weir_net::Body;

/// A file of a page: its path in addresses, its type and its text.
struct PageFile(&'static str, &'static str, &'static str);

const FILES: &[PageFile] = &[
    PageFile("/", "text/html; charset=utf-8", include_str!("../pages/route.html")),
    PageFile("/route.js", "text/javascript; charset=utf-8", include_str!("../pages/route.js")),
    PageFile("/route.css", "text/css; charset=utf-8", include_str!("../pages/route.css")),
    PageFile("/profile", "text/html; charset=utf-8", include_str!("../pages/profile.html")),
    PageFile("/profile.js", "text/javascript; charset=utf-8", include_str!("../pages/profile.js")),
    PageFile("/profile.css", "text/css; charset=utf-8", include_str!("../pages/profile.css")),
    PageFile("/tasks", "text/html; charset=utf-8", include_str!("../pages/tasks.html")),
    PageFile("/tasks.js", "text/javascript; charset=utf-8", include_str!("../pages/tasks.js")),
    PageFile("/tasks.css", "text/css; charset=utf-8", include_str!("../pages/tasks.css")),
    PageFile("/calls", "text/html; charset=utf-8", include_str!("../pages/calls.html")),
    PageFile("/calls.js", "text/javascript; charset=utf-8", include_str!("../pages/calls.js")),
    PageFile("/calls.css", "text/css; charset=utf-8", include_str!("../pages/calls.css")),
    PageFile("/log", "text/html; charset=utf-8", include_str!("../pages/log.html")),
    PageFile("/log.js", "text/javascript; charset=utf-8", include_str!("../pages/log.js")),
    PageFile("/log.css", "text/css; charset=utf-8", include_str!("../pages/log.css")),
    PageFile(
        "/navigation.js",
        "text/javascript; charset=utf-8",
        include_str!("../pages/navigation.js"),
    ),
    PageFile("/glass", "text/html; charset=utf-8", include_str!("../pages/glass.html")),
    PageFile("/glass.js", "text/javascript; charset=utf-8", include_str!("../pages/glass.js")),
    PageFile("/glass.css", "text/css; charset=utf-8", include_str!("../pages/glass.css")),
    PageFile("/inside.css", "text/css; charset=utf-8", include_str!("../pages/inside.css")),
];

/// The file at a path.
pub(crate) fn page_file(path: &str) -> Option<Response<Body>> {
    let PageFile(_, content_type, text) = FILES.iter().find(|file| file.0 == path)?;
    let mut response = Response::new(Body::from(*text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Some(response)
}
