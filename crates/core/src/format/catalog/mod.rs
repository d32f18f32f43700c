//! The formats that are known by name.
//!
//! Each is a text file in this folder: its name, a description, the manual that defines it, its
//! definition, and sample lines with their fields or the reason why they do not match. A test
//! checks the samples of all files. docs/formats.md is generated from them.
//!
//! A format that a notation can describe needs no code: only a file, its line in the list of files,
//! and its samples. The position in the list is its rank in detection.

use std::sync::{Arc, LazyLock, OnceLock};

use super::compiled::Format;
use super::notation;
use super::program::Program;
use super::program::handwritten::HandwrittenProgram;
use super::program::wrapper::Wrapper;
use crate::schema::RecordKind;

/// The files, the more specific formats first: of two formats that match a log equally well,
/// detection chooses the earlier.
const FILES: [&str; 87] = [
    include_str!("vmain.txt"),
    include_str!("vcombined.txt"),
    include_str!("vcommon.txt"),
    include_str!("combined.txt"),
    include_str!("common.txt"),
    include_str!("varnishncsa.txt"),
    include_str!("proxycommon.txt"),
    include_str!("virtualmin.txt"),
    include_str!("bunkerweb.txt"),
    include_str!("lighttpd.txt"),
    include_str!("gandi.txt"),
    include_str!("kinsta.txt"),
    include_str!("ovhcdn.txt"),
    include_str!("main.txt"),
    include_str!("combinedtime.txt"),
    include_str!("icecast.txt"),
    include_str!("ingressnginx.txt"),
    include_str!("ingressnginx2019.txt"),
    include_str!("ingressnginx2018.txt"),
    include_str!("npm.txt"),
    include_str!("npmstandard.txt"),
    include_str!("npmplus.txt"),
    include_str!("litespeed.txt"),
    include_str!("cpanel.txt"),
    include_str!("jira.txt"),
    include_str!("confluence711.txt"),
    include_str!("confluence.txt"),
    include_str!("sslrequest.txt"),
    include_str!("traefikclf.txt"),
    include_str!("envoy.txt"),
    include_str!("istio.txt"),
    include_str!("istiomixer.txt"),
    include_str!("haproxy.txt"),
    include_str!("haproxytcp.txt"),
    include_str!("uwsgi.txt"),
    include_str!("django.txt"),
    include_str!("uvicorn.txt"),
    include_str!("gin.txt"),
    include_str!("heroku.txt"),
    include_str!("phpfpm.txt"),
    include_str!("bitbucket.txt"),
    include_str!("squid.txt"),
    include_str!("awsalb.txt"),
    include_str!("awselb.txt"),
    include_str!("awsnlb.txt"),
    include_str!("awss3.txt"),
    include_str!("cloudfront.txt"),
    include_str!("cloudfrontrealtime.txt"),
    include_str!("azurestorage.txt"),
    include_str!("w3c.txt"),
    include_str!("cloudstorage.txt"),
    include_str!("caddy.txt"),
    include_str!("caddyconsole.txt"),
    include_str!("traefik.txt"),
    include_str!("cloudflare.txt"),
    include_str!("awswaf.txt"),
    include_str!("azuregateway.txt"),
    include_str!("envoyjson.txt"),
    include_str!("haproxyjson.txt"),
    include_str!("gitlabworkhorse.txt"),
    include_str!("weirgateway.txt"),
    include_str!("googlecloud.txt"),
    include_str!("azurefrontdoor.txt"),
    include_str!("azuregatewayv1.txt"),
    include_str!("akamai.txt"),
    include_str!("akamaicloudmonitor.txt"),
    include_str!("kong.txt"),
    include_str!("pino.txt"),
    include_str!("suricata.txt"),
    include_str!("modsecurityjson.txt"),
    include_str!("har.txt"),
    include_str!("datadog.txt"),
    include_str!("awss3json.txt"),
    include_str!("grokjson.txt"),
    include_str!("jsonrequest.txt"),
    include_str!("json.txt"),
    include_str!("ltsv.txt"),
    include_str!("lograge.txt"),
    include_str!("logfmt.txt"),
    include_str!("nginxerror.txt"),
    include_str!("apacheerror.txt"),
    include_str!("apachesyslog.txt"),
    include_str!("lighttpderror.txt"),
    include_str!("firewall.txt"),
    include_str!("fail2ban.txt"),
    include_str!("crowdsec.txt"),
    include_str!("crowdsecalerts.txt"),
];

/// The description of a known format.
///
/// # Examples
///
/// ```
/// use weir_core::{format_by_name, format_notes, try_format};
///
/// let notes = format_notes().iter().find(|notes| notes.name == "COMBINED").unwrap();
/// let format = format_by_name(notes.name).unwrap();
/// let sample = notes.sample.join("\n") + "\n";
/// assert_eq!(try_format(&format, sample.as_bytes()).parsed_lines, 1);
/// ```
#[derive(Debug, Clone)]
pub struct FormatNotes {
    /// The format's name.
    pub name: &'static str,
    /// A description of a few sentences.
    pub about: &'static str,
    /// The address of the manual that defines it.
    pub manual: &'static str,
    /// The definition, or the shape of the lines if the format is hand-written.
    pub definition: String,
    /// Whether `definition` is a shape, which does not compile.
    pub is_shape: bool,
    /// Whether [`crate::detect`] tries the format. One whose lines another format reads as well,
    /// but means otherwise, is only taken by name.
    pub is_detected: bool,
    /// The kind of the records, if the definition does not tell.
    kind: Option<RecordKind>,
    /// The names of the parts before each line, of which `-` has none; empty if there are no parts.
    after: Vec<&'static str>,
    /// A line in the format, after the directives that it needs.
    pub sample: Vec<&'static str>,
}

impl FormatNotes {
    fn read(file: &'static str) -> Self {
        let value = |key: &str| {
            file.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim()
        };
        let mut definition = String::new();
        let is_definition =
            |line: &&str| !line.starts_with("definition: ") && !line.starts_with("shape: ");
        let mut lines = file.lines().skip_while(is_definition);
        if let Some((_, first)) = lines.next().and_then(|line| line.split_once(": ")) {
            definition.push_str(first);
        }
        for more in lines.map_while(|line| line.strip_prefix("| ")) {
            definition.push_str(more);
        }
        Self {
            name: value("name: "),
            about: value("about: "),
            manual: value("manual: "),
            definition,
            is_shape: file.contains("\nshape: "),
            is_detected: value("detected: ") != "no",
            kind: (value("kind: ") == "firewall_event").then_some(RecordKind::FirewallEvent),
            after: value("after: ").split_ascii_whitespace().collect(),
            sample: sample(file),
        }
    }

    fn compile(&self) -> Option<Format> {
        let format = if self.is_shape {
            let program = HandwrittenProgram::by_name(self.name)?;
            let (fields, extra_fields) = (program.fields(), program.extra_fields());
            Format::new(&self.definition, fields, extra_fields, Program::Handwritten(program))
        } else {
            notation::compile(&self.definition)?.ok()?
        };
        let format = match self.kind {
            Some(kind) => format.of_kind(kind),
            None => format,
        };
        let format = if self.after.is_empty() { format } else { format.after(&self.after) };
        Some(format.with_name(self.name))
    }
}

/// The first sample line of a file, after its directives if the sample log begins with some.
fn sample(file: &'static str) -> Vec<&'static str> {
    let log: Vec<&str> = file.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    let directives = log.iter().take_while(|line| line.starts_with('#')).count();
    if directives > 0 {
        return log.into_iter().take(directives + 1).collect();
    }
    file.lines().filter_map(|line| line.strip_prefix("line: ")).take(1).collect()
}

static NOTES: LazyLock<Vec<FormatNotes>> =
    LazyLock::new(|| FILES.into_iter().map(FormatNotes::read).collect());

/// A definition that does not compile would be missing here; a test counts them.
static KNOWN: LazyLock<Vec<Format>> =
    LazyLock::new(|| NOTES.iter().filter_map(FormatNotes::compile).collect());

/// Every known format, the more specific ones first.
///
/// They are compiled once, when they are first needed, and shared by all threads.
///
/// # Examples
///
/// ```
/// use weir_core::known_formats;
///
/// let names: Vec<&str> = known_formats().iter().map(|format| format.name()).collect();
/// assert!(names.contains(&"COMBINED") && names.contains(&"HAPROXY"));
/// ```
pub fn known_formats() -> &'static [Format] {
    &KNOWN
}

/// The descriptions of the [`known_formats`], in the same order.
///
/// # Examples
///
/// ```
/// use weir_core::format_notes;
///
/// let notes = format_notes().iter().find(|notes| notes.name == "NGINXERROR").unwrap();
/// assert!(notes.is_shape && notes.manual.starts_with("https://nginx.org/"));
/// ```
pub fn format_notes() -> &'static [FormatNotes] {
    &NOTES
}

/// The known formats that detection tries, in the same order; with a wrapper, those that can stand
/// inside it, each in it.
pub(super) fn detected_formats(wrapper: Option<Wrapper>) -> &'static [Arc<Format>] {
    /// Compiled once, since a directory may have thousands of logs to detect, and those in a wrapper when
    /// it is first met.
    static DETECTED: [OnceLock<Vec<Arc<Format>>>; 1 + Wrapper::ALL.len()] =
        [const { OnceLock::new() }; 1 + Wrapper::ALL.len()];
    let at = |wrapper| Wrapper::ALL.iter().position(|one| *one == wrapper);
    let index = wrapper.and_then(at).map_or(0, |at| at + 1);
    DETECTED[index].get_or_init(|| {
        let detected = KNOWN.iter().zip(NOTES.iter()).filter(|(_, notes)| notes.is_detected);
        let formats = detected.filter_map(|(format, _)| match wrapper {
            Some(wrapper) => format.wrapped_in(wrapper),
            None => Some(format.clone()),
        });
        formats.map(Arc::new).collect()
    })
}

/// The formats of [`detected_formats`] in whose lines clients choose the user, for logs that are known to
/// be in them.
pub(super) fn formats_with_any_user() -> &'static [Arc<Format>] {
    static FORMATS: LazyLock<Vec<Arc<Format>>> = LazyLock::new(|| {
        let formats = detected_formats(None).iter().filter(|format| format.has_user());
        formats.map(Format::with_any_user).collect()
    });
    &FORMATS
}

/// The known format with this name, in any case. The name may include a wrapper, as in
/// `COMBINED in SYSLOG`.
///
/// ```
/// use weir_core::format_by_name;
///
/// assert_eq!(format_by_name("common").unwrap().name(), "COMMON");
/// assert!(format_by_name("uncommon").is_none());
/// ```
///
/// `None` if there is no such format, or if it cannot be wrapped. A definition is not a name:
/// [`Format::parse`] accepts both.
pub fn format_by_name(name: &str) -> Option<Format> {
    if let Some((inside, wrapper)) = Wrapper::split(name) {
        return format_by_name(inside)?.wrapped_in(wrapper);
    }
    KNOWN.iter().find(|format| format.name().eq_ignore_ascii_case(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::{FILES, detected_formats, format_notes, formats_with_any_user, known_formats};
    use crate::format::detect::try_format;
    use crate::format::program::needs::LineMarks;
    use crate::format::program::wrapper::Wrapper;
    use crate::format::read::line_parser::LineParser;

    /// A line as a wrapper writes it.
    fn wrapped(line: &str, wrapper: Option<Wrapper>) -> String {
        match wrapper {
            None => line.to_owned(),
            Some(Wrapper::Syslog) => format!("<190>Dec 17 09:03:01 web nginx: {line}"),
            Some(Wrapper::Cri) => format!("2025-12-17T09:03:01.250Z stdout F {line}"),
            Some(Wrapper::Docker) => {
                let log = serde_json::Value::from(line).to_string().replace('[', "\\u005b");
                format!(r#"{{"log":{log},"stream":"stdout","time":"2025-12-17T09:03:01.250Z"}}"#)
            }
        }
    }

    #[test]
    fn a_line_meets_the_needs_of_each_format_that_reads_it() {
        let sample =
            |line: &'static str| line.strip_prefix("line: ").or_else(|| line.strip_prefix("> "));
        let lines: Vec<&str> =
            FILES.iter().flat_map(|file| file.lines()).filter_map(sample).collect();
        let wrappers = Wrapper::ALL.into_iter().map(Some).chain([None]);
        let mut known: Vec<_> =
            wrappers.map(|wrapper| (wrapper, detected_formats(wrapper))).collect();
        known.push((None, formats_with_any_user()));
        let (mut read, mut text) = (0, Vec::new());
        for (wrapper, formats) in known {
            for format in formats {
                let mut parser = LineParser::new(format.clone());
                for line in lines.iter().map(|line| wrapped(line, wrapper)) {
                    if parser.matches(line.as_bytes(), &mut text) {
                        let marks = LineMarks::of(line.as_bytes());
                        assert!(marks.meet(&format.needs()), "{}: {line}", format.name());
                        assert!(marks.have_bytes(&format.needs()), "{}: {line}", format.name());
                        read += 1;
                    }
                }
            }
        }
        assert!(read > 4 * FILES.len(), "{read} lines are read");
    }

    #[test]
    fn most_formats_need_what_lines_of_others_lack() {
        let refused_by = |line: &str| {
            let marks = LineMarks::of(line.as_bytes());
            detected_formats(None).iter().filter(|format| !marks.meet(&format.needs())).count()
        };
        let formats = detected_formats(None).len();
        let json = r#"{"ts":1765962181.25,"request":{"method":"GET","uri":"/a"},"status":200}"#;
        assert!(refused_by("2025-12-17 09:03:01 started") * 2 > formats);
        assert!(refused_by(json) * 3 > formats * 2);
    }

    #[test]
    fn every_definition_compiles() {
        assert_eq!(known_formats().len(), FILES.len());
        for (format, notes) in known_formats().iter().zip(format_notes()) {
            assert_eq!(format.name(), notes.name);
            assert_eq!(format.definition(), notes.definition);
            assert!(!notes.about.is_empty() && !notes.manual.is_empty(), "{}", notes.name);
            let sample = notes.sample.join("\n") + "\n";
            let read = try_format(format, sample.as_bytes());
            assert!(read.parsed_lines > 0 && read.parsed_lines == read.lines, "{}", notes.name);
        }
    }
}
