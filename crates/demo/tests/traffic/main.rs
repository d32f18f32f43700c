//! Whole logs: normal traffic, dirty lines, and the shapes that are slow to parse.

mod dirt;
mod normal;
mod support;
