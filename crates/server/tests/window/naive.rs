//! A window of time as its description has it, line by line.

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

/// The lines of a feed, and which of them are left.
#[derive(Debug)]
pub(crate) struct NaiveWindow {
    width_s: i64,
    lines: Vec<(Line, bool)>,
    newest_s: Option<i64>,
    agreeing: usize,
    agreed: usize,
    ahead: Vec<i64>,
    behind: Vec<i64>,
    /// Pieces with lines that are ahead: which lines, and how many had agreed.
    doubted: Vec<(std::ops::Range<usize>, usize)>,
}

impl NaiveWindow {
    pub(crate) fn new(width_s: i64) -> Self {
        let (lines, newest_s) = (Vec::new(), None);
        let (ahead, behind, doubted) = (Vec::new(), Vec::new(), Vec::new());
        Self { width_s, lines, newest_s, agreeing: 0, agreed: 0, ahead, behind, doubted }
    }

    /// The lines that are left.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|(_, is_kept)| *is_kept).map(|(line, _)| line)
    }

    /// Takes in lines that came together.
    pub(crate) fn pass(&mut self, lines: &[Line]) {
        let place = self.lines.len()..self.lines.len() + lines.len();
        for line in lines {
            self.see(line.time_s);
            self.lines.push((*line, true));
        }
        let Some(newest_s) = self.newest_s else { return };
        let ceiling_s = newest_s + self.width_s;
        if lines.iter().any(|line| line.time_s > ceiling_s) {
            self.doubted.push((place, self.agreed));
        }
        for (place, agreed) in std::mem::take(&mut self.doubted) {
            if self.agreed - agreed < 16 {
                self.doubted.push((place, agreed));
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

    fn see(&mut self, time_s: i64) {
        let Some(newest_s) = self.newest_s else {
            (self.newest_s, self.agreeing, self.agreed) = (Some(time_s), 1, 1);
            return;
        };
        if time_s > newest_s + self.width_s {
            self.behind.clear();
            self.ahead.push(time_s);
            if self.ahead.len() == 16 {
                self.newest_s = self.ahead.iter().min().copied();
                self.agreeing = 16;
                self.ahead.clear();
            }
        } else if time_s < newest_s - self.width_s {
            self.ahead.clear();
            self.behind.push(time_s);
            if self.behind.len() >= self.agreeing.clamp(16, 1 << 14) {
                self.newest_s = self.behind.iter().max().copied();
                self.agreeing = self.behind.len();
                self.behind.clear();
            }
        } else {
            self.newest_s = Some(newest_s.max(time_s));
            self.agreeing += 1;
            self.agreed += 1;
            self.ahead.clear();
            self.behind.clear();
        }
    }
}
