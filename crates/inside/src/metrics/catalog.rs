//! The catalog of all metrics.

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
        "Processor time of all threads, in user mode and in the kernel.";
    RESIDENT_BYTES: Gauge "process_resident_memory_bytes" []
        "Resident memory of the process.";
    ALLOWED_BYTES: Gauge "weir_process_memory_max_bytes" []
        "Memory that the process may take: what the machine has, its control group allows, or the limit of address \
         space is, whichever is least.";
    OPEN_FILES: Gauge "process_open_fds" []
        "Open file descriptors.";
    OPEN_FILES_MAX: Gauge "process_max_fds" []
        "Limit of open file descriptors.";
    THREADS: Gauge "process_threads" []
        "Threads.";
    START_SECONDS: Gauge "process_start_time_seconds" []
        "When the process began, in seconds since 1970.";
    THREAD_CPU_SECONDS: Counter "weir_thread_cpu_seconds" ["thread"]
        "Processor time of the threads whose names differ only in a number at the end, measured by the system. A \
         thread that has ended counts up to the last time that the metrics were read.";
    THREAD_WAITING_SECONDS: Counter "weir_thread_waiting_seconds" ["thread"]
        "Time in which these threads were ready to run and waited for a processor.";

    GATEWAY_CONNECTIONS: Gauge "weir_gateway_connections" []
        "Open connections of clients.";
    GATEWAY_CONNECTIONS_MAX: Gauge "weir_gateway_connections_max" []
        "Limit of open connections of clients.";
    GATEWAY_ENDED: Counter "weir_gateway_ended_connections" ["reason"]
        "Connections of clients that were refused, because the server was full (server_full), their address had too \
         many (address_full), they sent HTTP without TLS to a TLS address (plain_http) or their TLS handshake failed \
         (tls_failed), and those that were closed: to make room for another one (made_room), without a request in \
         time, which is also the normal end of a kept connection (no_request), because the head of a request was \
         malformed (malformed_head), too large (head_too_large) or had too long a target (target_too_long), because a \
         body was too slow (slow_body) or a response was not read (unread). \
         Over HTTP/2, a response that is not read ends only its stream (unread_stream).";
    GATEWAY_DURATION: Histogram "weir_gateway_request_duration_seconds" ["backend", "status"]
        "Duration of requests for which a backend was chosen, from the request head to the last byte of the \
         response, by class of the status, such as 2xx; none if the client disconnected before there was a status. \
         Counted when a request ends.";
    GATEWAY_PARTS: Counter "weir_gateway_request_part_seconds" ["backend", "part"]
        "The same duration by part: wait (in the gateway, before the request goes to a server), header (until the \
         head of the response arrives) and body (until the client has received the last byte).";
    SHARE_REQUESTS: Counter "weir_gateway_share_requests" ["route", "backend"]
        "Requests of a route with weights for which a backend was chosen, since these weights were set.";
    SHARE_WEIGHT: Gauge "weir_gateway_share_weight" ["route", "backend"]
        "The weight of the backend on the route; divided by the sum over the route, it is the share that was asked \
         for.";
    GATEWAY_UNANSWERED: Counter "weir_gateway_unanswered_requests" ["outcome"]
        "Requests that did not end with a complete response of a backend, by outcome as in the records.";
    GATEWAY_DECISIONS: Counter "weir_gateway_limit_decisions" ["limit", "verdict"]
        "Requests that a limit rejected or delayed, or would have rejected or delayed.";
    LIMIT_KEYS: Gauge "weir_gateway_limit_keys" ["file"]
        "Keys, such as addresses of clients, that the limits of a rule file hold.";
    LIMIT_BYTES: Gauge "weir_gateway_limit_bytes" ["file"]
        "Memory of these keys and their counts.";
    LIMIT_EVICTIONS: Counter "weir_gateway_limit_evictions" ["file"]
        "Keys that were evicted because the memory was full although they still counted.";
    LIMIT_NO_ROOM: Counter "weir_gateway_limit_full_rejections" ["file"]
        "Requests that were rejected because the memory was full and had no room for their key, as in nginx.";
    LIMIT_CLOCK_RESETS: Counter "weir_gateway_limit_clock_resets" ["file"]
        "How often the limits of a rule file forgot all keys, because the clock was set back by more than 60 \
         seconds.";
    CLOCK_JUMPS: Counter "weir_gateway_clock_jumps" ["direction"]
        "How often the system's clock was set by a second or more while the gateway ran, forward or back.";
    GATEWAY_CACHE: Counter "weir_gateway_cache_lookups" ["cache", "result"]
        "Lookups in the caches of backends (lookup) and of sessions (session), by result: hit, miss or, for a \
         session that a backend no longer knew, renewed.";
    TOKEN_CACHE: Counter "weir_gateway_token_cache_lookups" ["issuer", "result"]
        "Lookups in the cache of verified tokens, by result: hit or miss.";
    TOKEN_CACHE_EVICTIONS: Counter "weir_gateway_token_cache_evictions" ["issuer"]
        "Tokens that were evicted from the full cache while they were still valid.";
    TOKEN_CACHE_ENTRIES: Gauge "weir_gateway_token_cache_entries" ["issuer"]
        "Tokens in the cache.";
    TOKEN_CACHE_BYTES: Gauge "weir_gateway_token_cache_bytes" ["issuer"]
        "Memory of the tokens in the cache.";
    TOKENS_VERIFIED: Counter "weir_gateway_verified_tokens" ["issuer"]
        "Tokens whose signature was checked and valid.";
    TOKENS_REFUSED: Counter "weir_gateway_refused_tokens" ["issuer", "reason"]
        "Tokens that were refused.";
    SERVER_UP: Gauge "weir_gateway_server_up" ["backend", "server"]
        "Whether a server of a backend may get requests: 1 if it is available, 0 if it or its health check failed.";
    SERVER_IN_FLIGHT: Gauge "weir_gateway_server_requests" ["backend", "server"]
        "Requests that a server is answering.";
    SERVER_BUSY_CONNECTIONS: Gauge "weir_gateway_server_busy_connections" ["backend", "server"]
        "HTTP/1.1 connections to a server that requests use.";
    SERVER_IDLE_CONNECTIONS: Gauge "weir_gateway_server_idle_connections" ["backend", "server"]
        "Connections to a server that are kept for later requests; HTTP/2 connections also count while in use.";
    RECORDS_WAITING: Gauge "weir_gateway_waiting_record_bytes" []
        "Bytes of records that wait to be read into the page's data.";
    RECORDS_DROPPED: Counter "weir_gateway_dropped_records" []
        "Requests that are missing on the page because they arrived faster than they could be counted.";
    LOG_LINES_LOST: Counter "weir_gateway_lost_access_log_lines" []
        "Lines that are missing in the access log because the disk was too slow or a write failed.";
    SPANS_SENT: Counter "weir_gateway_sent_spans" []
        "Spans of traced requests that the collector has accepted.";
    SPANS_LOST: Counter "weir_gateway_lost_spans" ["reason"]
        "Spans that were lost: the queue was full (full), the collector refused them (refused), or did not answer \
         any attempt (unanswered).";

    PAGE_CONNECTIONS: Gauge "weir_page_connections" []
        "Open connections to the page.";
    PAGE_CONNECTIONS_MAX: Gauge "weir_page_connections_max" []
        "Limit of open connections to the page.";
    PAGE_ENDED: Counter "weir_page_ended_connections" ["reason"]
        "Connections to the page that were refused, because the server was full (server_full), their address had too \
         many (address_full), they sent HTTP without TLS to a TLS address (plain_http) or their TLS handshake failed \
         (tls_failed), and those that were closed: to make room for another one (made_room), without a request in \
         time, which is also the normal end of a kept connection (no_request), because the head of a request was \
         malformed (malformed_head), too large (head_too_large) or had too long a target (target_too_long), because a \
         body was too slow (slow_body) or a response was not read (unread). \
         Over HTTP/2, a response that is not read ends only its stream (unread_stream).";
    SESSIONS: Gauge "weir_sessions" []
        "Data sets in memory.";
    SESSION_USERS: Gauge "weir_session_users" []
        "Pages and uploads that use the data sets.";
    MEMORY_BYTES: Gauge "weir_data_memory_bytes" []
        "Memory of all data sets.";
    MEMORY_BYTES_MAX: Gauge "weir_data_memory_max_bytes" []
        "Limit of the memory of all data sets.";
    QUEUE_BYTES: Gauge "weir_queue_bytes" []
        "Memory of the blocks that wait for a parser or are being parsed, of all data sets.";
    QUEUE_BYTES_MAX: Gauge "weir_queue_max_bytes" []
        "Limit of the memory of these blocks; sources wait when it is reached.";
    READ_BYTES: Counter "weir_read_bytes" []
        "Uncompressed bytes of the lines that were read, of all data sets since the start.";
    READ_LINES: Counter "weir_read_lines" []
        "Lines that were read.";
    READ_RECORDS: Counter "weir_read_records" []
        "Lines that were parsed into records, and records of the gateway.";
    UNPARSED_LINES: Counter "weir_unparsed_lines" []
        "Lines that do not match the format of their source.";
    TOO_LONG_LINES: Counter "weir_too_long_lines" []
        "Lines over the length limit, which are skipped.";
    SOURCE_BYTES: Counter "weir_source_read_bytes" ["number", "source"]
        "Bytes of the lines that were read from a source: one on the command line, a listener or the gateway. Only \
         the first hundred sources are listed.";
    SOURCE_LINES: Counter "weir_source_read_lines" ["number", "source"]
        "Lines that were read from such a source.";
    SOURCE_RECORDS: Counter "weir_source_read_records" ["number", "source"]
        "Records of such a source.";
    SOURCE_UNPARSED: Counter "weir_source_unparsed_lines" ["number", "source"]
        "Lines of such a source that do not match its format.";

    REQUESTS: Counter "weir_requests" ["method", "status"]
        "Requests in the log that is served, by method (other for all but those of RFC 9110 and PATCH) and class of \
         the status (other for none). With --metrics-by they have a label for the field too.";
    RESPONSE_BYTES: Counter "weir_response_bytes" []
        "Bytes of the responses to these requests, as far as the log has them. With --metrics-by by that field too.";
    REQUEST_DURATION: Histogram "weir_request_duration_seconds" []
        "Durations of these requests, if the log has them in a known unit: the field request_time. With --metrics-by \
         by that field too.";

    FEED_CONNECTIONS: Gauge "weir_feed_connections" ["listener"]
        "Open connections of senders.";
    FEED_ACCEPTED: Counter "weir_feed_accepted_connections" ["listener"]
        "Connections that were accepted.";
    FEED_ENDED: Counter "weir_feed_ended_connections" ["listener", "reason"]
        "Connections that were refused at the limit, timed out, or were dropped because of invalid input.";
    FEED_TORN: Counter "weir_feed_torn_lines" ["listener"]
        "Incomplete lines of connections that failed or were dropped.";
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
        "Time in splitting and writing lines, of all threads together, including waits for a full queue.";
}
