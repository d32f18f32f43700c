//! `--geoip`: the files that say where addresses are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use weir_core::DerivedField;
use weir_geo::{GeoField, Geography, USUAL_FOLDERS, usual_files};

use crate::outcome::{Failure, say, warn};

/// The value of `--geoip` that looks nowhere.
const NONE: &str = "none";

/// The files that say where addresses are.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GeographyArguments {
    /// A file that says where addresses are, any number of times, for the fields `country`, `city`,
    /// `asn` and `asn_name`: a MaxMind DB or CSV ranges (docs/geography.md). `none` looks nowhere
    /// [default: the databases in /usr/share/GeoIP, /var/lib/GeoIP and /usr/local/share/GeoIP, if
    /// one of these fields is asked for]
    #[arg(long, value_name = "FILE")]
    geoip: Vec<PathBuf>,
}

impl GeographyArguments {
    /// The fields among these names that files answer. Says which files those are.
    ///
    /// # Errors
    /// If a file of the command line cannot be used.
    pub(super) fn fields<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<DerivedField>, Failure> {
        let mut asked: Vec<GeoField> = names.into_iter().filter_map(GeoField::by_name).collect();
        asked.sort_unstable_by_key(|field| field.name());
        asked.dedup();
        if asked.is_empty() || self.geoip.iter().any(|file| file == Path::new(NONE)) {
            return Ok(Vec::new());
        }
        let geography = Arc::new(self.open(&asked)?);
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        geography.notes(&asked, now_s as i64).into_iter().for_each(say);
        let known = asked.into_iter().filter(|field| geography.has(*field));
        Ok(known.map(|field| geography.derived_field(field)).collect())
    }

    /// Whether there is a file that may have a field. Nothing is opened.
    pub(super) fn may_have(&self, field: GeoField) -> bool {
        match &self.geoip[..] {
            [] => !usual_files(&USUAL_FOLDERS.map(Path::new), &[field]).is_empty(),
            files => files.iter().all(|file| file != Path::new(NONE)),
        }
    }

    fn open(&self, asked: &[GeoField]) -> Result<Geography, Failure> {
        if !self.geoip.is_empty() {
            let opened = Geography::open(&self.geoip);
            return opened.map_err(|error| Failure::new(format_args!("--geoip: {error}")));
        }
        let folders = USUAL_FOLDERS.map(Path::new);
        let (geography, errors) = Geography::open_usual(&folders, asked);
        errors.into_iter().for_each(warn);
        Ok(geography)
    }
}
