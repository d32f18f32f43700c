//! The arguments about what agents and referrers say.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::{Args, ValueHint};
use weir_agents::{
    AgentLists, CrawlerRanges, LIST_BYTES_MAX, ListError, RANGE_FILE_BYTES_MAX, Referers,
    agent_field, referer_field, verified_field,
};
use weir_core::DerivedField;

use crate::display::safe;
use crate::outcome::{Failure, warn};
use crate::sources::cannot_read;

/// The most files in the folder of `--crawler-ranges`.
const RANGE_FILES_MAX: usize = 256;

/// Lists of one's own, and names of one's own site.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AgentArguments {
    /// A list of agents and systems in the place of the embedded one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    agents: Option<PathBuf>,

    /// A list of crawlers in the place of the embedded one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    crawlers: Option<PathBuf>,

    /// A folder of the files in which operators publish the addresses of their crawlers, for the
    /// field `crawler_verified`
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    crawler_ranges: Option<PathBuf>,

    /// A name of your site, any number of times: referrers with it, or with a name below it, are of
    /// the kind `own`, as are those with the host of the request
    #[arg(long = "own-host", value_name = "NAME")]
    own_hosts: Vec<String>,
}

/// The fields that agents and referrers tell. Lists are read when a field needs them.
pub(crate) struct AgentFields<'a> {
    arguments: &'a AgentArguments,
    lists: OnceCell<Arc<AgentLists>>,
}

impl AgentArguments {
    /// The fields.
    pub(crate) fn fields(&self) -> AgentFields<'_> {
        AgentFields { arguments: self, lists: OnceCell::new() }
    }

    /// Tells whether an agent calls itself a robot.
    ///
    /// # Errors
    /// If a list cannot be read.
    pub(crate) fn declares_robot(&self) -> Result<impl Fn(&[u8]) -> bool + use<>, Failure> {
        let lists = self.lists()?;
        Ok(move |agent: &[u8]| lists.crawler(agent).is_some())
    }

    fn lists(&self) -> Result<AgentLists, Failure> {
        let mut lists = AgentLists::embedded();
        if let Some(path) = &self.agents {
            replace(path, "--agents", |list| lists.replace_agents(list))?;
        }
        if let Some(path) = &self.crawlers {
            replace(path, "--crawlers", |list| lists.replace_crawlers(list))?;
        }
        Ok(lists)
    }

    /// The addresses of crawlers. A file that cannot be used is left out with a warning.
    fn ranges(&self) -> Result<CrawlerRanges, Failure> {
        let mut ranges = CrawlerRanges::default();
        let Some(folder) = &self.crawler_ranges else {
            return Err(Failure::new(
                "crawler_verified needs --crawler-ranges FOLDER, a folder of the addresses that \
                 operators publish (docs/crawlers.md)",
            ));
        };
        let failure = |problem: String| {
            Failure::new(format_args!(
                "--crawler-ranges {}: {problem}",
                safe(&folder.to_string_lossy())
            ))
        };
        let entries =
            fs::read_dir(folder).map_err(|error| failure(cannot_read(&error).to_string()))?;
        let mut paths: Vec<PathBuf> =
            entries.take(RANGE_FILES_MAX).flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut used = 0;
        for path in paths.iter().filter(|path| path.is_file()) {
            let problem = match read(path, RANGE_FILE_BYTES_MAX) {
                Ok(bytes) => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let added = ranges.add(&name, &bytes, modified_s(path));
                    added.err().map(|error| error.to_string())
                }
                Err(error) => Some(cannot_read(&error).to_string()),
            };
            used += usize::from(problem.is_none());
            if let Some(problem) = problem {
                warn(format_args!("{} is not used: {problem}", safe(&path.to_string_lossy())));
            }
        }
        if used == 0 {
            return Err(failure("the folder has no file of addresses that can be used".to_owned()));
        }
        Ok(ranges)
    }
}

impl AgentFields<'_> {
    /// The field of this name, if agents or referrers tell one.
    ///
    /// # Errors
    /// If a list or a folder cannot be read.
    pub(crate) fn field(&self, name: &str) -> Result<Option<DerivedField>, Failure> {
        if name.starts_with("referer_") {
            let referers = Referers::new(&self.arguments.own_hosts).map_err(|name| {
                Failure::new(format_args!(
                    "--own-host: `{}` is not the name of a host",
                    safe(&name)
                ))
            })?;
            return Ok(referer_field(name, &Arc::new(referers)));
        }
        let is_known = weir_agents::DERIVED_NAMES.iter().any(|known| known.name == name);
        if !is_known {
            return Ok(None);
        }
        let lists = match self.lists.get() {
            Some(lists) => lists,
            None => {
                let lists = Arc::new(self.arguments.lists()?);
                self.lists.get_or_init(|| lists)
            }
        };
        if name == "crawler_verified" {
            let ranges = Arc::new(self.arguments.ranges()?);
            return Ok(Some(verified_field(lists, ranges)));
        }
        Ok(agent_field(name, lists))
    }
}

/// Reads a list, and names the file and the line of what is wrong with it.
fn replace(
    path: &Path,
    option: &str,
    replace: impl FnOnce(&[u8]) -> Result<(), ListError>,
) -> Result<(), Failure> {
    let failure = |problem: &dyn std::fmt::Display| {
        Failure::new(format_args!("{option} {}: {problem}", safe(&path.to_string_lossy())))
    };
    let list = read(path, LIST_BYTES_MAX).map_err(|error| failure(&cannot_read(&error)))?;
    replace(&list).map_err(|error| failure(&error))
}

/// Reads a file, of a larger one a byte more than the limit.
fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// When a file was written, in seconds since 1970.
fn modified_s(path: &Path) -> Option<i64> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}
