use super::{JoinerWait, RecordJoiner, has_doubtful_end, original_lines, record_length};

const HEAD: &str = "2025/12/17 09:03:01 [error] 12#12: *56 ";
const FASTCGI: &str = "FastCGI sent in stderr: \"";
const END: &str = "\" while reading response header from upstream, client: 192.0.2.1, server: a";

/// The lines of a log after it was joined as a whole.
fn joined(log: &str) -> Vec<String> {
    let mut bytes = log.as_bytes().to_vec();
    let length = bytes.len();
    let ready = RecordJoiner::new(1 << 20).join(&mut bytes, length, JoinerWait::Nothing);
    assert_eq!(ready, length);
    let text = String::from_utf8(bytes).expect("text");
    assert_eq!(text.replace('\u{B}', "\n"), log, "bytes keep their places");
    text.lines().map(str::to_owned).collect()
}

/// Asserts which lines of a log are joined: each part is a record, or a line.
fn assert_parts(parts: &[&str]) {
    let log: String = parts.iter().map(|part| format!("{part}\n")).collect();
    let expected: Vec<String> = parts.iter().map(|part| part.replace('\n', "\u{B}")).collect();
    assert_eq!(joined(&log), expected);
    for (part, line) in parts.iter().zip(&expected) {
        assert_eq!(*original_lines(line.as_bytes()), *part.as_bytes());
        assert_eq!(record_length(part.as_bytes(), true), Some(part.len()));
    }
}

#[test]
fn a_record_goes_on_up_to_its_last_end() {
    let open =
        format!("{HEAD}{FASTCGI}PHP Fatal error: x\nStack trace:\n#0 {{main}}\n thrown{END}");
    let closed = format!("{HEAD}{FASTCGI}PHP Warning: y{END}");
    let notice = "2025/12/17 09:03:02 [notice] 1#1: signal process started";
    assert_parts(&[&open, notice, &closed, &open, &open, notice]);
    assert_parts(&[notice, &closed, "192.0.2.1 - - [", "another line", &open, "", notice]);
    assert_parts(&[&closed]);
}

#[test]
fn text_of_a_client_does_not_end_a_record() {
    let forged = format!("{HEAD}a, client: 192.0.2.66, server: b");
    for inner in ["", "x\n", &forged, &format!("x{END}\ny"), &format!("{forged}\n{FASTCGI}")] {
        assert_parts(&[&format!("{HEAD}{FASTCGI}PHP message:\n{inner}\nz{END}"), &forged]);
    }
    // Neither the end nor the beginning of a record can be told from those of nginx.
    let both = format!("{HEAD}{FASTCGI}x{END}\n{HEAD}{FASTCGI}y{END}");
    assert_eq!(joined(&both).len(), 2);
}

#[test]
fn a_record_that_nginx_has_cut_off_ends_there() {
    let start = format!("{HEAD}{FASTCGI}PHP message:\n");
    for (bytes, is_joined) in [(2_048, true), (2_047, false), (4_096, true), (2_100, false)] {
        let cut = format!("{start}{}", "x".repeat(bytes - 1 - start.len()));
        assert_eq!(cut.len() + 1, bytes);
        let next = format!("{HEAD}open() failed, client: 192.0.2.1, server: a");
        let lines = joined(&format!("{cut}\n{next}\n"));
        assert_eq!(lines.len(), if is_joined { 2 } else { 3 }, "{bytes}");
        let is_doubtful = has_doubtful_end(cut.replace('\n', "\u{B}").as_bytes());
        assert_eq!(is_doubtful, is_joined, "{bytes}");
    }
}

#[test]
fn lines_without_an_end_within_the_limit_stay() {
    let lines = "xy\n".repeat(3_000);
    let log = format!("{HEAD}{FASTCGI}a\n{lines}{HEAD}b\nc{END}\n");
    assert_eq!(joined(&log).len(), 3_003);
    // A line over the limit is skipped as a whole.
    let long = format!("{HEAD}{FASTCGI}{}{HEAD}{FASTCGI}a\nb{END}\n", "x".repeat(5_000));
    assert_eq!(joined(&long).len(), 2);
    assert_eq!(record_length(long.as_bytes(), false), Some(long.len() - END.len() - 2));
}

/// A megabyte of messages in one line is looked at once, and not again from its start for each.
#[test]
fn a_line_with_many_messages_takes_no_longer_than_others() {
    let long = |text: &str| format!("{HEAD}a\nx{}\n", text.repeat(4_000_000 / text.len()));
    let time = |text: &str| {
        let log = long(text);
        let begun = std::time::Instant::now();
        assert_eq!(joined(&log).len(), 2);
        begun.elapsed()
    };
    let (many, none) = (time(FASTCGI), time(&FASTCGI.replace('"', "'")));
    // Some 160,000 messages: from its start for each, it would take 10,000 times as long.
    assert!(many < none * 100 + std::time::Duration::from_millis(500), "{many:?}, {none:?}");
}

#[test]
fn other_logs_are_not_searched() {
    let record = format!("{HEAD}{FASTCGI}a\nb{END}\n");
    let other = |lines: usize| "192.0.2.1 - -\n".repeat(lines);
    assert_eq!(joined(&format!("{}{record}", other(99))).len(), 100);
    assert_eq!(joined(&format!("{}{record}", other(100))).len(), 102);
    let mut joiner = RecordJoiner::new(1 << 20);
    let mut lines = other(60).into_bytes();
    for may_join in [true, false, false] {
        let length = lines.len();
        assert_eq!(joiner.join(&mut lines, length, JoinerWait::Bytes), length);
        assert_eq!(joiner.may_join(), may_join);
    }
}

#[test]
fn what_is_kept_back_depends_on_the_wait() {
    let closed = format!("{HEAD}{FASTCGI}a\nb{END}\n");
    let open = format!("{HEAD}{FASTCGI}a\nb\n");
    for (record, at_pause) in [(&closed, closed.len()), (&open, 0)] {
        let ready = |more: &str, wait| {
            let mut bytes = format!("{record}{more}").into_bytes();
            RecordJoiner::new(1 << 20).join(&mut bytes, record.len(), wait)
        };
        for more in ["", "2025/12/17 09", "c"] {
            assert_eq!(ready(more, JoinerWait::Bytes), 0);
            assert_eq!(ready(more, JoinerWait::Pause), at_pause);
            assert_eq!(ready(more, JoinerWait::Nothing), record.len());
        }
    }
}
