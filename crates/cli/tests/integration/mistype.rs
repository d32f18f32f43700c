//! Mistyped commands, options and names: the message suggests what was probably meant.

use crate::support::{Folder, line, run, text};

#[test]
fn a_mistyped_command_is_not_a_file() {
    let mistyped = run(["reprot", "access.log"]);
    let message = "weir: `reprot` is neither a command nor a file; did you mean `weir report`?\n";
    assert_eq!((mistyped.code, mistyped.stderr.as_str()), (2, message));
    let folder = Folder::new();
    let log = folder.file("a.log", b"");
    let beside_a_log = run(["reprot", text(&log)]);
    assert_eq!((beside_a_log.code, beside_a_log.stderr.as_str()), (2, message));
    let tail = run(["tail", text(&log)]);
    let message = "weir: `tail` is neither a command nor a file; write `weir --follow FILE`\n";
    assert_eq!((tail.code, tail.stderr.as_str()), (2, message));
    let top = run(["top", text(&log)]);
    assert_eq!(top.code, 2);
    assert!(top.stderr.contains("`weir top` with a file is `weir watch`"), "{}", top.stderr);
    assert!(top.stderr.contains("is not a terminal"), "{}", top.stderr);
    assert!(run(["top"]).stderr.contains("--admin"), "the option stays required");
    let unlike = run(["access.log"]);
    assert_eq!(unlike.stderr, "weir: access.log: the file does not exist; check the name\n");
}

#[test]
fn an_option_of_another_command_is_named() {
    let folder = Folder::new();
    let log = line("192.0.2.1", "17/Dec/2025:09:00:00 +0000", "GET / HTTP/1.1", 200, "-");
    let log = folder.file("a.log", log.as_bytes());
    for (arguments, hint) in [
        (
            &["report", "--follow"][..],
            "'--follow' is an option of 'weir' and 'weir watch', not of 'weir report'",
        ),
        (&["report", "-o"], "'-o' is an option of 'weir grep', not of 'weir report'"),
        (&["report", "--top", "-1"], "-1 is not in 0.."),
        (
            &["report", "--stack", "bytes"],
            "weir: --stack: the histogram cannot be stacked by `bytes`",
        ),
        (&["report", "--stack", "sttus"], "did you mean `status`?"),
        (&["count", "--by", "sttus"], "did you mean `status`?"),
        (&["report", "--format", "COMBIND"], "did you mean COMBINED"),
        (
            &["report", "--format", "shop.toml"],
            "weir: shop.toml: the file does not exist; check the name",
        ),
    ] {
        let run = run([arguments, &[text(&log)]].concat());
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(hint), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("as a value"), "{arguments:?}: {}", run.stderr);
    }
    let expression = run(["grep", "a(", text(&log)]).stderr;
    assert!(expression.contains("\n    a(\n     ^\n"), "{expression}");
}
