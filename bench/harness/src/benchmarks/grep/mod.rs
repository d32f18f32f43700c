//! `weir grep` and `weir count` beside ripgrep, zgrep and wc: on a plain file and on gzip files.

mod compressed;
mod plain;
mod process;

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use crate::build;
use crate::input::{self, Log};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::Outcome;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let mut tables = plain::searches(settings, &log)?;
    tables.push(plain::count(settings, &log)?);
    tables.extend(compressed::run(settings)?);
    Ok(tables)
}

/// A literal that few lines contain: the client of the first whole line after this offset.
fn rare_literal(log: &Log, offset: u64) -> Outcome<String> {
    let mut file = File::open(&log.path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut lines = BufReader::new(file).split(b'\n').skip(1);
    let line = lines.next().ok_or("the log has no line after the offset")??;
    let client: Vec<u8> = line.into_iter().take_while(|byte| *byte != b' ').collect();
    Ok(String::from_utf8_lossy(&client).into_owned())
}
