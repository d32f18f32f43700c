//! `--geoip`: the files that say where addresses are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use weir_core::DerivedField;
use weir_geo::{GeoField, Geography, USUAL_FOLDERS, usual_files};
use weir_sync::Lock;

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

    /// The fields that were asked for before, so that no file is read twice.
    #[arg(skip)]
    known: Arc<Lock<Vec<DerivedField>>>,
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
        let mut fields: Vec<GeoField> = names.into_iter().filter_map(GeoField::by_name).collect();
        fields.sort_unstable_by_key(|field| field.name());
        fields.dedup();
        let mut known = self.known.lock();
        let is_known = |name: &str| known.iter().any(|field| field.name() == name);
        let new: Vec<GeoField> =
            fields.iter().copied().filter(|field| !is_known(field.name())).collect();
        if !new.is_empty() && self.geoip.iter().all(|file| file != Path::new(NONE)) {
            known.extend(self.open_fields(&new)?);
        }
        let is_asked = |known: &&DerivedField| fields.iter().any(|it| it.name() == known.name());
        Ok(known.iter().filter(is_asked).cloned().collect())
    }

    /// The fields among these that files have.
    fn open_fields(&self, fields: &[GeoField]) -> Result<Vec<DerivedField>, Failure> {
        let geography = Arc::new(self.open(fields)?);
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        geography.notes(fields, now_s as i64).into_iter().for_each(say);
        let known = fields.iter().filter(|field| geography.has(**field));
        Ok(known.map(|field| geography.derived_field(*field)).collect())
    }

    /// Whether this is the name of a field of a place.
    ///
    /// # Errors
    /// If it is, and there is no file that may have it.
    pub(super) fn check(&self, name: &str) -> Result<bool, Failure> {
        let Some(field) = GeoField::by_name(name) else { return Ok(false) };
        let has_file = match &self.geoip[..] {
            [] => !usual_files(&USUAL_FOLDERS.map(Path::new), &[field]).is_empty(),
            files => files.iter().all(|file| file != Path::new(NONE)),
        };
        match has_file {
            true => Ok(true),
            false => Err(Failure::new(format_args!(
                "`{name}` needs a file that says where addresses are: add --geoip FILE"
            ))),
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
