//! The fields of an event, as the parsers of CrowdSec's hub name them.
//!
//! All parsers of access logs use the same names in `evt.Meta`. In `evt.Parsed` each server has its
//! own names, and a scenario may use any of them; here an event has all of them.

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventField {
    LogType,
    Service,
    /// The kind of message within the type of log.
    SubType,
    SourceIp,
    Status,
    Verb,
    /// The request target as sent; the raw bytes if the client did not send a valid request.
    Target,
    /// The request target before its last `?`.
    Request,
    /// The request target after its last `?`.
    Arguments,
    /// The length of [`Self::Arguments`].
    ArgumentsLength,
    /// The raw bytes that the client sent, if they are not a valid request.
    RawRequest,
    HttpVersion,
    UserAgent,
    Referer,
    User,
    TargetHost,
    Bytes,
    FileDirectory,
    FileStem,
    FileExtension,
    FileName,
    /// Whether the requested file is static, such as a picture.
    IsStatic,
    /// Whether the response is not 403, 404 or 502.
    IsComplete,
    /// The whole line.
    Line,
    /// A field that only some logs have, by its name in the log.
    Named(String),
}

impl EventField {
    /// The field `evt.Meta.name`.
    pub(super) fn of_meta(name: &str) -> Option<Self> {
        Some(match name {
            "log_type" => Self::LogType,
            "service" => Self::Service,
            "sub_type" | "log_subtype" => Self::SubType,
            "source_ip" => Self::SourceIp,
            "http_status" => Self::Status,
            "http_path" => Self::Target,
            "http_verb" => Self::Verb,
            "http_user_agent" => Self::UserAgent,
            "http_args_len" => Self::ArgumentsLength,
            "target_fqdn" => Self::TargetHost,
            "user" => Self::User,
            _ => return None,
        })
    }

    /// The field `evt.Parsed.name`.
    pub(super) fn of_parsed(name: &str) -> Option<Self> {
        Some(match name {
            "request" => Self::Request,
            "http_args" => Self::Arguments,
            "rawrequest" => Self::RawRequest,
            "verb" | "method" | "http_verb" => Self::Verb,
            "http_version" | "httpversion" => Self::HttpVersion,
            "http_user_agent" => Self::UserAgent,
            "http_referer" | "referrer" => Self::Referer,
            "status" | "response" | "http_status_code" => Self::Status,
            "remote_addr" | "clientip" | "client_ip" | "remote_ip" | "source_ip" => Self::SourceIp,
            "remote_user" | "auth" => Self::User,
            "target_fqdn" => Self::TargetHost,
            "body_bytes_sent" | "bytes" | "bytes_read" => Self::Bytes,
            "file_dir" => Self::FileDirectory,
            "file_frag" => Self::FileStem,
            "file_ext" => Self::FileExtension,
            "file_name" => Self::FileName,
            "static_ressource" => Self::IsStatic,
            "impact_completion" => Self::IsComplete,
            "message" => Self::Line,
            _ => return None,
        })
    }
}
