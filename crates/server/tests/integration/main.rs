//! The integration tests of this crate, in one binary so that they are linked once.

mod addresses;
mod archives;
mod attack;
mod bench;
mod blocks;
mod capture;
mod common;
mod counts;
mod damage;
mod export;
mod fairness;
mod growing;
mod interruption;
mod lines;
mod live;
mod memory;
mod protection;
mod put;
mod removal;
mod resume;
mod rules;
mod selection;
mod sessions;
mod several_connections;
mod sliding;
mod upload;
