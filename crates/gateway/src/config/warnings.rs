//! Settings that are probably not meant: what no route uses, and routes that are all open.

use super::route_table::LocatedRoute;
use super::table::{LocatedValue, TableReader};
use super::target::{Choice, RouteTarget};

/// Warns about backends that no route uses. A lookup may name any of them, and a route with a
/// mistake may be meant to.
pub(super) fn warn_unused(
    backends: &[(LocatedValue<&str>, TableReader<'_>)],
    routes: &[Option<LocatedRoute>],
) {
    let mut used = Vec::new();
    for route in routes {
        match route.as_ref().map(|route| &route.config.target) {
            Some(RouteTarget::Claim { choice: Choice::Lookup { .. }, .. }) | None => return,
            Some(target) => used.extend(target.backends().unwrap_or_default()),
        }
    }
    for (name, table) in backends {
        if !used.contains(&name.value) {
            table.warn("no route uses this backend");
        }
    }
}

/// Warns about limits with a name that no route uses.
pub(super) fn warn_unnamed(limits: &[TableReader<'_>], routes: &[Option<LocatedRoute>]) {
    let names = || routes.iter().flatten().flat_map(|route| &route.config.limits);
    for table in limits {
        if let Some(name) = table.text("name")
            && !names().any(|it| it == name)
        {
            table.warn(
                "no route names this limit, so it counts nothing; without `name` it is for all",
            );
        }
    }
}

/// Warns about issuers that no route names, and if all routes are open to everybody, whose clients need
/// not even a certificate.
pub(super) fn warn_open(
    root: &TableReader<'_>,
    issuers: &[(LocatedValue<&str>, TableReader<'_>)],
    routes: &[Option<LocatedRoute>],
    all_have_certificates: bool,
) {
    // A route with a mistake may be meant to have an issuer.
    let routes: Option<Vec<&LocatedRoute>> = routes.iter().map(Option::as_ref).collect();
    let routes = routes.unwrap_or_default();
    let is_guarded = |route: &&LocatedRoute| route.config.is_guarded();
    if !routes.is_empty() && !routes.iter().any(is_guarded) && !all_have_certificates {
        let limits = match root.has("limits") {
            true => "",
            false => ", as often as they like",
        };
        root.warn(format_args!(
            "EVERYTHING IS ALLOWED: no route needs a token, so everybody may send anything to every \
             backend{limits}; name an `issuer` in the routes that are not meant for everybody"
        ));
    }
    for (name, table) in issuers {
        let is_named =
            |route: &&LocatedRoute| route.config.issuers.iter().any(|it| it == name.value);
        if !routes.is_empty() && !routes.iter().any(is_named) {
            table.warn("no route names this issuer, so no token of it is asked for");
        }
    }
}
