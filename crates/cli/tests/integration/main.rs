//! The integration tests of this crate, in one binary: it is linked once.

mod address;
mod agents;
mod anonymize;
mod bad_input;
mod blocks;
mod bursts;
mod changing_logs;
#[cfg(target_os = "linux")]
mod clock;
mod comparison;
mod conditions;
#[cfg(unix)]
mod config;
mod count;
mod crowdsec;
mod derived;
mod derived_oracle;
mod duckdb;
mod escapes;
mod export;
mod files;
mod follow;
mod forged_claims;
mod formats;
mod full_memory;
mod gateway;
mod gateway_log;
#[cfg(unix)]
mod gateway_reload;
mod geography;
mod golden;
mod grep;
#[cfg(unix)]
mod grep_options;
mod group_measures;
mod group_visitors;
mod hostile_files;
mod http2_proxied_cases;
mod http2_recording_backend;
mod http_cases;
mod json;
mod json_files;
mod kinds;
mod lake_readers;
mod late_values;
mod limiters;
mod listen;
mod log;
mod log_fields;
mod mail;
mod manual;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod many_values;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod measures_oracle;
mod memory;
mod metrics;
mod mistype;
mod nginx;
mod period;
mod php_traces;
mod prometheus;
mod proxied_cases;
#[cfg(unix)]
mod pseudo_terminal;
mod python_jobs;
mod recording_backend;
mod report;
mod request_metrics;
mod robot_like;
mod rotated_sets;
mod rule_cases;
mod rule_extremes;
mod rules;
mod running;
mod same_format;
mod saved;
mod schema;
mod self_signed;
mod served;
#[cfg(unix)]
mod shells;
#[cfg(unix)]
mod sockets;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod state_folder;
mod stop;
mod stopped;
mod streams;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod stuck_viewers;
mod support;
#[cfg(target_os = "linux")]
mod systemd;
mod table_readers;
mod tables;
#[cfg(unix)]
mod top;
#[cfg(target_os = "linux")]
mod upgrade;
#[cfg(target_os = "linux")]
mod upgrade_events;
#[cfg(unix)]
mod watch;
mod watch_arguments;
mod watch_moving;
