//! The embedded files of the admin pages.

use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use weir_net::Body;

/// A file of a page: its URL path, its content type and its text.
struct PageFile(&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Builds a page from the common head, with its title, style sheet and script, and from the body in
/// its file.
macro_rules! page {
    ($name:literal, $title:literal) => {
        concat!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"referrer\" content=\"no-referrer\">\n",
            concat!("<title>", $title, "</title>\n"),
            "<link rel=\"icon\" href=\"/favicon.svg\">\n",
            "<link rel=\"stylesheet\" href=\"/inside.css\">\n",
            concat!("<link rel=\"stylesheet\" href=\"/", $name, ".css\">\n"),
            "<script type=\"module\" src=\"/navigation.js\"></script>\n",
            concat!("<script type=\"module\" src=\"/", $name, ".js\"></script>\n</head>\n"),
            include_str!(concat!("../pages/", $name, ".html")),
            "</html>\n",
        )
    };
}

const FILES: &[PageFile] = &[
    PageFile("/", HTML, page!("route", "Inside Weir")),
    PageFile("/route.js", SCRIPT, include_str!("../pages/route.js")),
    PageFile("/route.css", STYLE, include_str!("../pages/route.css")),
    PageFile("/tasks", HTML, page!("tasks", "Tasks · Weir")),
    PageFile("/tasks.js", SCRIPT, include_str!("../pages/tasks.js")),
    PageFile("/tasks.css", STYLE, include_str!("../pages/tasks.css")),
    PageFile("/profile", HTML, page!("profile", "Profile · Weir")),
    PageFile("/profile.js", SCRIPT, include_str!("../pages/profile.js")),
    PageFile("/profile.css", STYLE, include_str!("../pages/profile.css")),
    PageFile("/calls", HTML, page!("calls", "Calls · Weir")),
    PageFile("/calls.js", SCRIPT, include_str!("../pages/calls.js")),
    PageFile("/calls.css", STYLE, include_str!("../pages/calls.css")),
    PageFile("/glass", HTML, page!("glass", "One request · Weir")),
    PageFile("/glass.js", SCRIPT, include_str!("../pages/glass.js")),
    PageFile("/glass.css", STYLE, include_str!("../pages/glass.css")),
    PageFile("/log", HTML, page!("log", "Log · Weir")),
    PageFile("/log.js", SCRIPT, include_str!("../pages/log.js")),
    PageFile("/log.css", STYLE, include_str!("../pages/log.css")),
    PageFile("/navigation.js", SCRIPT, include_str!("../pages/navigation.js")),
    PageFile("/numbers.js", SCRIPT, include_str!("../pages/numbers.js")),
    PageFile("/asking.js", SCRIPT, include_str!("../pages/asking.js")),
    PageFile("/inside.css", STYLE, include_str!("../pages/inside.css")),
];

/// Returns the file at a path.
pub(crate) fn page_file(path: &str) -> Option<Response<Body>> {
    let PageFile(_, content_type, text) = FILES.iter().find(|file| file.0 == path)?;
    let mut response = Response::new(Body::from(*text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    Some(response)
}
