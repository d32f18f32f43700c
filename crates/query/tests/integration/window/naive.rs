//! A naive time window, which follows the description of the window literally.

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) time_s: i64,
    pub(crate) value: u8,
    pub(crate) bytes: u16,
}

impl Line {
    pub(crate) fn text(&self) -> String {
        let Self { time_s, value, bytes } = self;
        let status = [200, 200, 404, 301, 500][usize::from(value % 5)];
        let method = if value % 7 == 0 { "POST" } else { "GET" };
        let (client, took) = (value % 11, u32::from(*bytes) * 37 % 900);
        format!(
            "192.0.2.{client} {time_s}.000 \"{method} /{value} HTTP/1.1\" {status} {bytes} 0.{took:03}\n"
        )
    }
}

/// The lines of a feed, and which of them are still in the window.
#[derive(Debug)]
pub(crate) struct NaiveWindow {
    width_s: i64,
    /// Whether the lines come from a live sender, whose times may be wrong.
    is_live: bool,
    /// How far the log's clock is accepted to be ahead of the machine's.
    lead_s: i64,
    /// The machine's time when a log time was last accepted.
    accepted_s: Option<i64>,
    lines: Vec<(Line, bool)>,
    newest_s: Option<i64>,
    agreeing: usize,
    agreed: usize,
    /// Consecutive times that are ahead, each with its distance from the machine's clock.
    ahead: Vec<(i64, i64)>,
    behind: Vec<(i64, i64)>,
    /// The number of lines with the machine's time after the end of the window, less those further
    /// ahead.
    present: usize,
    /// Pieces with lines that are ahead: the lines, and the number of agreeing lines at that time.
    suspect: Vec<(std::ops::Range<usize>, usize)>,
}

impl NaiveWindow {
    pub(crate) fn new(width_s: i64, is_live: bool) -> Self {
        let (lines, newest_s) = (Vec::new(), None);
        let (ahead, behind, suspect) = (Vec::new(), Vec::new(), Vec::new());
        let (lead_s, accepted_s, agreeing, agreed) = (0, None, 0, 0);
        Self {
            width_s,
            is_live,
            lead_s,
            accepted_s,
            lines,
            newest_s,
            agreeing,
            agreed,
            ahead,
            behind,
            present: 0,
            suspect,
        }
    }

    /// The lines in the window.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|(_, is_kept)| *is_kept).map(|(line, _)| line)
    }

    /// Adds the lines of one piece.
    pub(crate) fn pass(&mut self, lines: &[Line], machine_s: i64) {
        let place = self.lines.len()..self.lines.len() + lines.len();
        for line in lines {
            self.see(line.time_s, machine_s);
            self.lines.push((*line, true));
        }
        let Some(newest_s) = self.newest_s else {
            if lines.iter().any(|line| self.is_beyond(line.time_s, machine_s)) {
                self.suspect.push((place, self.agreed));
            }
            return;
        };
        let ceiling_s = newest_s + self.width_s;
        if lines.iter().any(|line| line.time_s > ceiling_s) {
            self.suspect.push((place, self.agreed));
        }
        for (place, agreed) in std::mem::take(&mut self.suspect) {
            if self.agreed - agreed < 16 {
                self.suspect.push((place, agreed));
                continue;
            }
            for (line, is_kept) in &mut self.lines[place] {
                *is_kept &= line.time_s <= ceiling_s;
            }
        }
        if self.agreeing >= 16 {
            for (line, is_kept) in &mut self.lines {
                *is_kept &= line.time_s >= newest_s - self.width_s;
            }
        }
    }

    fn see(&mut self, time_s: i64, machine_s: i64) {
        let silence_s = machine_s - *self.accepted_s.get_or_insert(machine_s);
        let is_over = silence_s >= self.width_s;
        let is_ahead = self.newest_s.is_some_and(|newest_s| time_s > newest_s + self.width_s);
        let is_present = self.is_live && (time_s - machine_s).abs() <= self.width_s / 10;
        if is_ahead || self.is_beyond(time_s, machine_s) {
            if is_present {
                self.present += 1;
            } else {
                self.present = self.present.saturating_sub(1);
            }
            self.behind.clear();
            self.ahead.push((time_s, time_s - machine_s));
            let nearest_s = self.ahead.iter().map(|(time_s, _)| *time_s).min();
            let lead_s = self.ahead.iter().map(|(_, lead_s)| *lead_s).min();
            let most_s = self.lead_s + silence_s.max(self.width_s / 10);
            let is_believable =
                !self.is_live || is_over || lead_s.is_some_and(|lead| lead <= most_s);
            if self.ahead.len() >= 16 && is_believable {
                let is_slack = self.is_live && lead_s <= Some(self.lead_s + self.width_s / 10);
                let lead_s = if is_slack { lead_s.min(Some(self.lead_s)) } else { lead_s };
                self.accept(nearest_s, lead_s, machine_s);
                self.agreeing = 16;
                self.ahead.clear();
            }
        } else if self.newest_s.is_some_and(|newest_s| time_s < newest_s - self.width_s) {
            self.ahead.clear();
            self.present += usize::from(is_present);
            if self.present >= 32 {
                let present = self.present;
                self.accept(Some(time_s), Some(time_s - machine_s), machine_s);
                self.agreeing = present;
                self.behind.clear();
                return;
            }
            self.behind.push((time_s, time_s - machine_s));
            if self.behind.len() >= self.agreeing.clamp(16, 1 << 14) {
                let nearest_s = self.behind.iter().map(|(time_s, _)| *time_s).max();
                let lead_s = self.behind.iter().map(|(_, lead_s)| *lead_s).max();
                self.accept(nearest_s, lead_s, machine_s);
                self.agreeing = self.behind.len();
                self.behind.clear();
            }
        } else {
            self.newest_s = self.newest_s.max(Some(time_s));
            self.accepted_s = Some(machine_s);
            self.agreeing += 1;
            self.agreed += 1;
            self.ahead.clear();
            self.behind.clear();
            self.present = if is_present { 0 } else { self.present.saturating_sub(1) };
        }
    }

    /// Whether a time is too far ahead of the machine's.
    fn is_beyond(&self, time_s: i64, machine_s: i64) -> bool {
        self.is_live && time_s > machine_s + self.lead_s + self.width_s / 10
    }

    fn accept(&mut self, newest_s: Option<i64>, lead_s: Option<i64>, machine_s: i64) {
        self.newest_s = newest_s;
        self.accepted_s = Some(machine_s);
        self.lead_s = lead_s.unwrap_or_default().max(0);
        self.present = 0;
    }
}
