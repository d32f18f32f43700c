//! `weir report`: totals, a histogram and top lists of some logs.

mod arguments;
mod blocks;
mod compared;
mod csv;
mod findings;
mod fold;
mod html;
mod reading;
mod records;
mod request;
mod robot_like;
mod step;

use std::io::{self, IsTerminal};

use weir_ingest::Input;
use weir_view::Report;

pub(crate) use arguments::ReportArguments;
pub(crate) use findings::{field_names, truncated};
pub(crate) use html::page as html_page;
pub(crate) use step::names as step_names;

use crate::options::OutputKind;
use crate::outcome::{Exit, Failure, print, print_csv};
use crate::output_file::refuse_input;
use crate::scan::inputs_of;
use crate::sources;
use crate::terminal::{self, Screen};
use reading::{Reading, read};
use records::Records;
use request::ReportRequest;

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let mut inputs = sources::inputs(&arguments.files)?;
    if inputs.is_empty() && !io::stdin().is_terminal() {
        inputs.push(Input::Stdin(Vec::new()));
    }
    if inputs.is_empty() {
        return Err(Failure::new(
            "name a log file to report on, or - for standard input; see weir report --help",
        ));
    }
    let screen = Screen::of_stdout(arguments.wide);
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let output = arguments.output.kind();
    if let Some(file) = &arguments.html {
        if file.as_os_str() == "-" && output != OutputKind::Text {
            return Err(Failure::new(
                "--html: standard output is already used by --json or --csv; name a file",
            ));
        }
        refuse_input("--html", file, &inputs)?;
    }
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    reading.name_sources();
    let columns =
        (output == OutputKind::Text && arguments.html.is_none()).then_some(screen.columns);
    reading.notes.extend(step::notes(arguments.step, &reading.report, columns));
    let Reading { report, sources, .. } = &reading;
    // Standard output has what could be read.
    let file = arguments.html.as_deref();
    let withheld = reading.withheld().filter(|_| file.is_some_and(|file| file.as_os_str() != "-"));
    if let Some(file) = file.filter(|_| withheld.is_none()) {
        html::write(file, report, sources)?;
    }
    match output {
        OutputKind::Json => print(&(weir_view::to_json(report).map_err(Failure::new)? + "\n"))?,
        OutputKind::Csv => print_csv(&csv::write(report, sources))?,
        OutputKind::Text if arguments.html.is_none() && report.lines > 0 => {
            print(&terminal::draw(report, sources, &screen))?;
        }
        OutputKind::Text => {}
    }
    let exit = reading.say();
    if let (Some(file), Some(withheld)) = (file, withheld) {
        withheld.say(&file.to_string_lossy(), Some("--html -"));
    }
    Ok(exit)
}

/// Prints what tripped the rules in force, with what would let an address pass.
///
/// # Errors
/// If an argument is not valid, or no block stands beside the requests.
pub(crate) fn print_blocks(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let screen = Screen::of_stdout(false);
    let inputs = sources::inputs(&arguments.files)?;
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    if let Some(blocks) = &reading.report.blocks {
        print(&terminal::draw_blocks(blocks, &screen))?;
        return Ok(reading.say());
    }
    reading.say();
    Err(Failure::new(
        "no block stands beside the requests of these logs; name an error log of nginx, a fail2ban.log, or \
         a log of CrowdSec or UFW beside the access log, or a rule to try with --rule FILE or --rule-text \
         TEXT",
    ))
}

/// Reads a report for its group, without what tripped the rules. The notes and complaints are printed
/// by the function that is returned, after the report.
///
/// # Errors
/// If an argument is not valid, or a log cannot be read.
pub(crate) fn read_group(
    arguments: &ReportArguments,
) -> Result<(Report, impl FnOnce() -> Exit + use<>), Failure> {
    let screen = Screen::of_stdout(false);
    let inputs = inputs_of(&arguments.files)?;
    let (mut records, complaints) = Records::find(arguments, &inputs)?;
    let request = ReportRequest::new(arguments, &mut records, &screen)?;
    let mut reading = read(arguments, &mut records, request, &screen)?;
    reading.complaints.splice(0..0, complaints);
    reading.name_sources();
    Ok((reading.report.clone(), move || reading.say()))
}
