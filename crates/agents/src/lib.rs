//! What a user agent and a referrer say.
//!
//! [`AgentLists`] reads agents: the family of a browser, its system and its kind of device, and
//! crawlers with what they are for and who runs them. [`Referers`] reads addresses of pages that
//! links are on. [`CrawlerRanges`] compares the address of a client with those that operators of
//! crawlers have published. [`agent_field`] and [`referer_field`] make derived fields of them.
//!
//! ```
//! use weir_agents::{AgentField, AgentLists};
//!
//! let lists = AgentLists::embedded();
//! let agent = b"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
//! let mut value = Vec::new();
//! assert!(lists.append(AgentField::Agent, agent, &mut value));
//! assert_eq!(value, b"Firefox 145");
//! assert_eq!(lists.crawler(b"GPTBot/1.2").expect("a crawler").kind.text(), "ai_training");
//! ```
//!
//! The crate does no I/O. Agents are hostile: only their beginning is looked at, and each expression
//! matches in linear time. Lists that a user names are bounded in size and in what they compile to.

mod crawlers;
mod derived;
mod device;
mod expressions;
mod families;
mod list;
mod ranges;
mod reader;
mod referer;

pub use crawlers::{Crawler, CrawlerKind};
pub use derived::{DERIVED_NAMES, agent_field, referer_field, verified_field};
pub use families::Name;
pub use list::{LIST_BYTES_MAX, ListError, ListOrigin, Problem};
pub use ranges::{CrawlerRanges, RANGE_FILE_BYTES_MAX, RangeFileError, Verdict};
pub use reader::{AgentField, AgentLists, ListSummary};
pub use referer::{RefererKind, Referers, referer_host};
