//! Spellings of paths that some server may read as another one.

/// The handlers of the servers: each has the path of its name and all below it, and `other` the
/// rest.
pub(crate) const HANDLERS: [&str; 6] = ["admin/users", "admin", "api/v1", "api", "public", "other"];

/// The targets of requests that may mean one of the handlers.
pub(crate) fn spellings() -> Vec<String> {
    let mut targets = Vec::new();
    for name in ["admin", "admin/users", "admin/users/7", "api", "api/v1", "api/v1/x"] {
        targets.extend(of_letters(name));
        targets.extend(at_segments(name));
        targets.extend(around(name));
    }
    for target in [
        "/public/../admin",
        "/public/%2e%2e/admin",
        "/public/..;/admin",
        "/public/..;x=1/admin",
        "/public;/../admin",
        "/public;x/../admin",
        "/public/..%2fadmin",
        "/public/..%5cadmin",
        "/public/%2e%2e%2fadmin",
        "/public%2f..%2fadmin",
        "/public%2f%2e%2e%2fadmin",
        "/public\\..\\admin",
        "/public//admin",
        "/public/%2fadmin",
        "/public//..//admin",
        "/public/x%2f..%2f..%2fadmin",
        "/public%2fadmin",
        "/api//v1/x",
        "/api/%2fv1/x",
        "/api%2fv1",
        "/admin//users",
        "/admin%2fusers",
        "/admin//users%2fx",
        "/admin/;%2fusers",
        "/admin/users//..",
        "/admin/users/%2f%2e%2e",
        "//public//admin",
        "//gate/admin",
        "/%2fgate/admin",
        "/public;x/secret",
        "/public;x",
        "/PUBLIC/secret",
        "/public./secret",
        "/api;/v1",
        "/api/;x/v1",
        "/api;v1/x",
        "/%EF%BC%A1dmin",
        "/adm%C4%B1n",
        "/adm%C4%B0n",
        "/api/v%EF%BC%91",
        "/%2561dmin",
        "*",
    ] {
        targets.push(target.to_owned());
    }
    targets
}

/// Other letters for the same name.
fn of_letters(name: &str) -> Vec<String> {
    let mut title = name.to_owned();
    title[..1].make_ascii_uppercase();
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let encoded = encoded.replace("%2f", "/");
    let first = format!("%{:02X}{}", name.as_bytes()[0], &name[1..]);
    let upper = name.to_uppercase();
    let upper_encoded = format!("%{:02X}{}", upper.as_bytes()[0], &name[1..]);
    let twice = format!("%25{:02x}{}", name.as_bytes()[0], &name[1..]);
    [name.to_owned(), title, upper, encoded, first, upper_encoded, twice]
        .map(|it| format!("/{it}"))
        .into()
}

/// Additions to each segment in turn.
fn at_segments(name: &str) -> Vec<String> {
    let segments: Vec<&str> = name.split('/').collect();
    let mut targets = Vec::new();
    for index in 0..segments.len() {
        for addition in [
            ";",
            ";x",
            ";v=1",
            ";jsessionid=0",
            ";a;b",
            "%3b",
            "%3Bx=1",
            ".",
            "..",
            "%2e",
            "%20",
            "+",
            "%00",
            "%09",
            "%0d%0a",
            "::$DATA",
            ":x",
            "%3a%3a$data",
            "~1",
            "%7e1",
            "/.",
            "/./",
            "/;",
            "/;x",
            "/..;/x/..",
            "\\",
            "%5c",
            "//",
            "/%2f",
            "%2f",
            "%252f",
            "%c0%af",
            "%ef%bc%8f",
            "%3fx",
            "%23x",
            ".json",
            "*",
            "%",
        ] {
            let mut spelled = segments.clone();
            let changed = format!("{}{addition}", spelled[index]);
            spelled[index] = &changed;
            targets.push(format!("/{}", spelled.join("/")));
        }
    }
    targets
}

/// Additions before and after the whole path.
fn around(name: &str) -> Vec<String> {
    let before = [
        "//",
        "///",
        "/./",
        "/%2e/",
        "/%2f",
        "/\\",
        "/%5c",
        "/x/../",
        "/x/%2e%2e/",
        "/x;/../",
        "/x/..;/",
        "/;/",
        "/;x/",
        "/%3b/",
        "/%20/",
        "/%20",
        "/x//../",
        "http://gate/",
        "http://gate//",
        "http://gate/./",
    ];
    let after = [
        "/",
        "//",
        "/.",
        "/..",
        "/x/..",
        "?x",
        "/?x",
        "?/../public",
        "/%2e",
        "/;",
        ";/",
        "/%20",
        "/%00",
    ];
    let before = before.into_iter().map(|text| format!("{text}{name}"));
    let after = after.into_iter().map(|text| format!("/{name}{text}"));
    before.chain(after).collect()
}
