//! The request log, which is switched off.

use std::collections::VecDeque;

use weir_observe::mark;

#[derive(Debug)]
pub(super) struct RequestLog {
    is_on: bool,
    makes_text_first: bool,
}

impl RequestLog {
    pub(super) fn new(makes_text_first: bool) -> Self {
        Self { is_on: false, makes_text_first }
    }

    /// Logs the last requests of a connection.
    #[inline(never)]
    pub(super) fn log_requests(&self, requests: &VecDeque<String>) {
        let _call = mark!("log_requests").enter();
        if self.makes_text_first {
            let text = format!("{requests:#?}");
            if self.is_on {
                eprintln!("{text}");
            }
        } else if self.is_on {
            eprintln!("{requests:#?}");
        }
    }
}
