//! The gateway: a reverse proxy that checks tokens, routes requests by their claims, limits them, and
//! turns each of them into a record.
