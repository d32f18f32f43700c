//! Whole logs: normal traffic, dirt, and the shapes that slow parsers down.

mod dirt;
mod normal;
mod support;
