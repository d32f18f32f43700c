//! The file `/proc/PID/stat` of a process or thread (`proc_pid_stat(5)`).

/// The unit of times in the file: `USER_HZ`, which is 100 on every Linux target of Rust.
const TICKS_PER_S: f64 = 100.0;

/// The fields of the file that this crate needs. Optional fields are at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcStat<'a> {
    /// The number of the process or thread.
    pub(crate) id: u64,
    /// Its name, which may contain any character.
    pub(crate) name: &'a str,
    /// The letter of its state.
    pub(crate) state: &'a str,
    /// The processor time in user mode, in seconds.
    pub(crate) user_s: f64,
    /// The processor time in the kernel, in seconds.
    pub(crate) system_s: f64,
    /// The time from the boot of the system to its start, in seconds.
    pub(crate) start_s: Option<f64>,
    /// The processor on which it last ran.
    pub(crate) processor: Option<u64>,
}

impl<'a> ProcStat<'a> {
    /// Parses the text of the file. Returns `None` if a required field is missing or malformed.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (id, rest) = text.split_once(" (")?;
        // The name may contain parentheses too.
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // The third field of the file is the first after the name.
        let field = |number: usize| fields.get(number - 3).copied();
        let seconds = |number: usize| Some(field(number)?.parse::<f64>().ok()? / TICKS_PER_S);
        Some(Self {
            id: id.parse().ok()?,
            name,
            state: field(3)?,
            user_s: seconds(14)?,
            system_s: seconds(15)?,
            start_s: seconds(22),
            processor: field(39).and_then(|number| number.parse().ok()),
        })
    }

    /// Returns the processor time, in seconds.
    pub(crate) fn running_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

#[cfg(test)]
mod tests {
    use super::ProcStat;

    const STAT: &str = "7 (a ) R 1) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 123456 1000 10 0 0 0 0 0 0 \
                        0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";

    #[test]
    fn the_fields_are_parsed() {
        let expected = ProcStat {
            id: 7,
            name: "a ) R 1",
            state: "S",
            user_s: 1.5,
            system_s: 0.5,
            start_s: Some(1_234.56),
            processor: Some(1),
        };
        assert_eq!(ProcStat::parse(STAT), Some(expected));
        assert_eq!(expected.running_s(), 2.0);
    }

    #[test]
    fn a_file_may_be_short() {
        let parsed = ProcStat::parse("8 (a) R 1 7 7 0 -1 4194304 100 0 0 0 150 50").expect("times");
        assert_eq!((parsed.running_s(), parsed.start_s, parsed.processor), (2.0, None, None));
        let no_id = "x (a) R 1 7 7 0 -1 4194304 100 0 0 0 150 50";
        for broken in ["", "8 (a", "8 (a) ", "8 (a) R 1", no_id] {
            assert_eq!(ProcStat::parse(broken), None, "{broken}");
        }
    }
}
