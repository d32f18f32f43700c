//! All metrics there are.

use super::metric::{Metric, MetricKind};

/// Declares metrics and lists them.
macro_rules! metrics {
    ($($constant:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            pub(crate) static $constant: Metric = Metric {
                name: $name,
                kind: MetricKind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*

        /// All metrics, by subject.
        pub static METRICS: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    BUILD: Info "weir_build" ["version"]
        "The version of the program.";
    CPU_SECONDS: Counter "process_cpu_seconds" []
        "Time on a processor, of all threads together, in the program and in the system for it.";
    RESIDENT_BYTES: Gauge "process_resident_memory_bytes" []
        "Memory of the process in the machine.";
    OPEN_FILES: Gauge "process_open_fds" []
        "Open file descriptors.";
    OPEN_FILES_MAX: Gauge "process_max_fds" []
        "File descriptors that may be open.";
    THREADS: Gauge "process_threads" []
        "Threads.";
    START_SECONDS: Gauge "process_start_time_seconds" []
        "When the process began, in seconds since 1970.";
    THREAD_CPU_SECONDS: Counter "weir_thread_cpu_seconds" ["thread"]
        "Time on a processor of the threads whose names are the same but for the number at their end, also of those \
         that have ended, as far as they had come when the metrics were read before. By the system.";
    THREAD_WAITING_SECONDS: Counter "weir_thread_waiting_seconds" ["thread"]
        "Time in which these threads could have run, and waited for a processor.";

    GATEWAY_CONNECTIONS: Gauge "weir_gateway_connections" []
        "Open connections of clients.";
    GATEWAY_CONNECTIONS_MAX: Gauge "weir_gateway_connections_max" []
        "Connections of clients that may be open.";
    GATEWAY_DURATION: Histogram "weir_gateway_request_duration_seconds" ["backend", "status"]
        "Time of requests that a backend was chosen for, from the head to the last byte of the answer, by the \
         class of the status: 2xx, or none if the client had gone before. Counted when a request ends.";
    GATEWAY_PARTS: Counter "weir_gateway_request_part_seconds" ["backend", "part"]
        "The same time by its parts: wait (in the gateway before a server is turned to), header (until the head \
         of its answer has come) and body (until the client has taken the last byte).";
    GATEWAY_UNANSWERED: Counter "weir_gateway_unanswered_requests" ["outcome"]
        "Requests that ended in anything but an answer of a backend that was passed on whole, by the outcome as \
         in the records.";
    GATEWAY_DECISIONS: Counter "weir_gateway_limit_decisions" ["limit", "verdict"]
        "Requests that a limit rejected or delayed, or would have.";
    LIMIT_KEYS: Gauge "weir_gateway_limit_keys" ["file"]
        "Keys, such as addresses of clients, that the limits of a rule file hold.";
    LIMIT_BYTES: Gauge "weir_gateway_limit_bytes" ["file"]
        "Memory of these keys and of what is counted for them.";
    LIMIT_EVICTIONS: Counter "weir_gateway_limit_evictions" ["file"]
        "Keys that were forgotten for want of room although they still counted.";
    LIMIT_NO_ROOM: Counter "weir_gateway_limit_full_rejections" ["file"]
        "Requests that were rejected because there was no room for their key, as nginx does.";
    LIMIT_CLOCK_RESETS: Counter "weir_gateway_limit_clock_resets" ["file"]
        "How often the limits of a rule file forgot all keys, because the clock was set back by more than 60 \
         seconds.";
    CLOCK_JUMPS: Counter "weir_gateway_clock_jumps" ["direction"]
        "How often the system's clock was set by a second or more while the gateway ran, forward or back.";
    GATEWAY_CACHE: Counter "weir_gateway_cache_lookups" ["cache", "result"]
        "Questions to the caches of backends (lookup) and of sessions (session), with a hit, a miss or, for a \
         session that a backend had forgotten, renewed.";
    TOKEN_CACHE: Counter "weir_gateway_token_cache_lookups" ["issuer", "result"]
        "Questions to the cache of verified tokens, with a hit or a miss.";
    TOKEN_CACHE_EVICTIONS: Counter "weir_gateway_token_cache_evictions" ["issuer"]
        "Tokens that were forgotten for want of room while they could still have been used.";
    TOKEN_CACHE_ENTRIES: Gauge "weir_gateway_token_cache_entries" ["issuer"]
        "Tokens that are remembered.";
    TOKEN_CACHE_BYTES: Gauge "weir_gateway_token_cache_bytes" ["issuer"]
        "Memory of the tokens that are remembered.";
    TOKENS_VERIFIED: Counter "weir_gateway_verified_tokens" ["issuer"]
        "Tokens whose signature was verified and right.";
    TOKENS_REFUSED: Counter "weir_gateway_refused_tokens" ["issuer", "reason"]
        "Tokens that were refused.";
    SERVER_UP: Gauge "weir_gateway_server_up" ["backend", "server"]
        "Whether a server of a backend may get requests: 1 if it is well, 0 if it failed or its health check did.";
    SERVER_IN_FLIGHT: Gauge "weir_gateway_server_requests" ["backend", "server"]
        "Requests that a server is answering.";
    SERVER_BUSY_CONNECTIONS: Gauge "weir_gateway_server_busy_connections" ["backend", "server"]
        "HTTP/1.1 connections to a server that requests use.";
    SERVER_IDLE_CONNECTIONS: Gauge "weir_gateway_server_idle_connections" ["backend", "server"]
        "Connections to a server that are kept for the next request; those of HTTP/2 also while they are used.";
    RECORDS_WAITING: Gauge "weir_gateway_waiting_record_bytes" []
        "Records that wait to be read into the page.";
    RECORDS_DROPPED: Counter "weir_gateway_dropped_records" []
        "Requests that are not on the page, because they came faster than they were counted.";
    LOG_LINES_LOST: Counter "weir_gateway_lost_access_log_lines" []
        "Lines that are missing in the access log, because the disk was too slow or refused them.";
    SPANS_SENT: Counter "weir_gateway_sent_spans" []
        "Spans of traced requests that the collector has taken.";
    SPANS_LOST: Counter "weir_gateway_lost_spans" ["reason"]
        "Spans that were lost: too many waited (full), the collector refused them, or none of the tries was answered.";

    PAGE_CONNECTIONS: Gauge "weir_page_connections" []
        "Open connections to the page.";
    SESSIONS: Gauge "weir_sessions" []
        "Data sets in memory.";
    SESSION_USERS: Gauge "weir_session_users" []
        "Pages and uploads that use the data sets.";
    MEMORY_BYTES: Gauge "weir_data_memory_bytes" []
        "Memory of all data sets.";
    MEMORY_BYTES_MAX: Gauge "weir_data_memory_max_bytes" []
        "Memory that all data sets may take together.";
    QUEUE_BYTES: Gauge "weir_queue_bytes" []
        "Memory of the blocks that wait for a parser or are being parsed, of all data sets.";
    QUEUE_BYTES_MAX: Gauge "weir_queue_max_bytes" []
        "Memory that these blocks may take; beyond it, sources wait.";
    READ_BYTES: Counter "weir_read_bytes" []
        "Bytes of the lines that were read, unpacked, of all data sets since the start.";
    READ_LINES: Counter "weir_read_lines" []
        "Lines that were read.";
    READ_RECORDS: Counter "weir_read_records" []
        "Lines that were parsed into records, and records of the gateway.";
    UNPARSED_LINES: Counter "weir_unparsed_lines" []
        "Lines that do not match the format of their source.";
    TOO_LONG_LINES: Counter "weir_too_long_lines" []
        "Lines over the limit of length, which are skipped.";
    SOURCE_BYTES: Counter "weir_source_read_bytes" ["number", "source"]
        "Bytes of the lines that were read of a source which the command line names, or of a listener or the \
         gateway; of the first hundred of them.";
    SOURCE_LINES: Counter "weir_source_read_lines" ["number", "source"]
        "Lines that were read of such a source.";
    SOURCE_RECORDS: Counter "weir_source_read_records" ["number", "source"]
        "Records of such a source.";
    SOURCE_UNPARSED: Counter "weir_source_unparsed_lines" ["number", "source"]
        "Lines of such a source that do not match its format.";

    FEED_CONNECTIONS: Gauge "weir_feed_connections" ["listener"]
        "Open connections of senders.";
    FEED_ACCEPTED: Counter "weir_feed_accepted_connections" ["listener"]
        "Connections that were accepted.";
    FEED_ENDED: Counter "weir_feed_ended_connections" ["listener", "reason"]
        "Connections that were refused at the limit, timed out, or were dropped for their input.";
    FEED_TORN: Counter "weir_feed_torn_lines" ["listener"]
        "Lines that had begun when their connection failed or was dropped.";
    FEED_DATAGRAMS: Counter "weir_feed_datagrams" ["listener"]
        "Datagrams that were received.";
    FEED_LOST_DATAGRAMS: Counter "weir_feed_lost_datagrams" ["listener", "reason"]
        "Datagrams that were cut at 64 KiB, dropped at the cap, or dropped by the kernel.";
    FEED_BYTES: Counter "weir_feed_received_bytes" ["listener"]
        "Bytes that were received.";
    FEED_READS: Counter "weir_feed_reads" ["listener"]
        "Reads that returned bytes.";
    FEED_RECEIVING: Counter "weir_feed_receiving_seconds" ["listener"]
        "Time in these reads, of all threads together.";
    FEED_WORKING: Counter "weir_feed_working_seconds" ["listener"]
        "Time in splitting and writing lines, of all threads together, with the time that there was no room.";
}
