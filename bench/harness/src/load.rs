//! The measurements of a client of an HTTP server.

use weir_tools::shell::Outcome;

/// The percentiles of the latency.
pub(crate) const PERCENTS: [usize; 5] = [50, 75, 90, 95, 99];

/// The requests of one run.
#[derive(Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) requests: f64,
    pub(crate) seconds: f64,
    /// By [`PERCENTS`], in microseconds.
    pub(crate) latencies_us: Vec<f64>,
}

impl Load {
    /// Reads the line `measured REQUESTS FAILURES SECONDS LATENCY...`, which `bench/http/wrk.lua`
    /// prints.
    pub(crate) fn of_line(printed: &str) -> Outcome<Self> {
        let line = printed.lines().find_map(|line| line.strip_prefix("measured "));
        let numbers: Result<Vec<f64>, _> =
            line.ok_or("the client printed no numbers")?.split(' ').map(str::parse).collect();
        let [requests, failures, seconds, ref latencies_us @ ..] = numbers?[..] else {
            return Err("the client printed too few numbers".into());
        };
        if failures > 0.0 || requests == 0.0 {
            return Err(format!("{failures} of {requests} requests failed").into());
        }
        Ok(Self { requests, seconds, latencies_us: latencies_us.to_vec() })
    }

    /// Computes the percentiles of the times of all requests, in microseconds.
    pub(crate) fn of_times(mut times_us: Vec<f64>, seconds: f64) -> Outcome<Self> {
        times_us.sort_by(f64::total_cmp);
        let highest = times_us.len().checked_sub(1).ok_or("the client measured no request")?;
        let rank = |percent: usize| times_us[(times_us.len() * percent / 100).min(highest)];
        let latencies_us = PERCENTS.map(rank).to_vec();
        Ok(Self { requests: times_us.len() as f64, seconds, latencies_us })
    }

    /// The 99th percentile of the latency.
    pub(crate) fn p99_us(&self) -> f64 {
        self.latencies_us.last().copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn the_line_of_a_client_is_read() {
        let load = Load::of_line("Running\nmeasured 200 0 1.5 5 6 7 8 9\n").unwrap();
        let latencies_us = vec![5.0, 6.0, 7.0, 8.0, 9.0];
        assert_eq!(load.p99_us(), 9.0);
        assert_eq!(load, Load { requests: 200.0, seconds: 1.5, latencies_us });
        assert!(Load::of_line("measured 200 1 1.5 5 6 7 8 9\n").is_err());
        assert!(Load::of_line("Running\n").is_err());
    }
}
