//! The files of the configuration, and `weir config`.

use std::process::Command;

use crate::support::{Folder, Run, finish, line, text, weir};

/// Two lines, one of them of an error.
fn log(folder: &Folder) -> String {
    let line =
        |status| line("192.0.2.1", "17/Dec/2025:09:00:00 +0000", "GET /a HTTP/1.1", status, "-");
    text(&folder.file("a.log", [line(200), line(500)].concat().as_bytes())).to_owned()
}

/// A command with this file as its configuration.
fn with(folder: &Folder, config: &str, arguments: &[&str]) -> Run {
    let config = folder.file("weir.toml", config.as_bytes());
    finish(weir(arguments).env("WEIR_CONFIG", config))
}

#[test]
fn a_setting_is_a_default_and_what_is_typed_wins() {
    let folder = Folder::new();
    let log = log(&folder);
    let config = "json = true\n[grep]\ncount = true\nwhere = ['status=500']\n[count]\nby = ['status', 'method']\n";
    let counted = |arguments: &[&str]| with(&folder, config, &[arguments, &[&log]].concat());
    assert!(counted(&["count"]).stdout.starts_with("{\"kind\":\"request\",\"columns\""));
    assert!(counted(&["count", "--by", "status"]).stdout.contains("\"field\":\"status\""));
    // An option that excludes another one replaces it.
    assert_eq!(
        counted(&["count", "--csv", "--by", "status"]).stdout,
        "status,count\r\n200,1\r\n500,1\r\n"
    );
    assert_eq!(counted(&["count", "--no-config"]).stdout, "2\n");
    assert_eq!(counted(&["grep", "GET"]).stdout, "1\n");
    assert_eq!(counted(&["grep", "--where", "status<600", "GET"]).stdout, "2\n");
    let names = "[grep]\nwith-filename = true\n";
    let printed = |arguments: &[&str]| with(&folder, names, &[arguments, &[&log]].concat()).stdout;
    assert!(printed(&["grep", " 500 "]).starts_with(&log));
    assert!(printed(&["grep", "-h", " 500 "]).starts_with("192.0.2.1"));
    // A column means nothing for lines, nor a window without a feed.
    let columns = "keep = \"1h\"\n[grep]\ncolumns = ['status']\n";
    let printed = |arguments: &[&str]| with(&folder, columns, &[arguments, &[&log]].concat());
    assert_eq!(printed(&["grep", "-c", "GET"]).stdout, "2\n");
    assert_eq!(printed(&["grep", "--csv", "GET"]).stdout, "status\r\n200\r\n500\r\n");
    assert_eq!(printed(&["grep", "--columns", "status", "GET"]).code, 2);
    // A pattern is no option.
    let pattern = with(&folder, "[grep]\ncount = true\n", &["grep", "-e", "--no-config", &log]);
    assert_eq!((pattern.code, &*pattern.stdout), (1, "0\n"));
    let help = with(&folder, "[report]\ntop = 7\n", &["report", "--help"]).stdout;
    assert!(help.contains("[default: 7]"), "{help}");
}

#[test]
fn the_file_of_the_user_wins_over_that_of_the_machine() {
    // The file of the machine cannot be written by a test, so that of the user alone is read here.
    let folder = Folder::new();
    let log = log(&folder);
    std::fs::create_dir_all(folder.path("home/.config/weir")).expect("a folder");
    folder.file("home/.config/weir/config.toml", b"[count]\nby = \"status\"\ncsv = true\n");
    let run = |arguments: &[&str]| {
        let mut command = weir(arguments);
        command.env_remove("WEIR_CONFIG").env_remove("XDG_CONFIG_HOME");
        finish(command.env("HOME", folder.path("home")))
    };
    assert_eq!(run(&["count", &log]).stdout, "status,count\r\n200,1\r\n500,1\r\n");
    let listed = run(&["config"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let path = folder.path("home/.config/weir/config.toml");
    let expected =
        format!("\n[count]\nby = \"status\"    # {0}:2\ncsv = true    # {0}:3\n", text(&path));
    assert!(listed.stdout.ends_with(&expected), "{}", listed.stdout);
    assert!(listed.stdout.starts_with("# /etc/weir/weir.toml: "), "{}", listed.stdout);
}

#[test]
fn what_is_listed_is_a_configuration() {
    let folder = Folder::new();
    let config = "tz = \"Europe/Zurich\"\n[report]\nwhere = ['path=\"/a\\\\b\"', 'status=500']\ntop = 3\ncompare = true\n";
    let listed = with(&folder, config, &["config"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let again = with(&folder, &listed.stdout, &["config"]);
    let settings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split("    #").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(settings(&again.stdout), settings(&listed.stdout));
    assert!(
        listed.stdout.contains("where = [\"path=\\\"/a\\\\\\\\b\\\"\", \"status=500\"]"),
        "{}",
        listed.stdout
    );
    assert!(listed.stdout.contains("[serve]\ntz = \"Europe/Zurich\""), "{}", listed.stdout);
}

#[test]
fn mistakes_name_their_place_and_the_nearest_name() {
    let folder = Folder::new();
    let log = log(&folder);
    for (config, place, sentence) in [
        (
            "[report]\ntpo = 3\n",
            ":2:1",
            "`tpo` is not an option of `weir report`; did you mean `top`?",
        ),
        ("tzz = 'UTC'\n", ":1:1", "`tzz` is not an option of any command; did you mean `tz`?"),
        ("[reprot]\n", ":1:2", "`reprot` is not a command; did you mean `report`?"),
        ("[report]\ntop = true\n", ":2:7", "`top` must be a text or a number, not true"),
        ("[report]\n\n  top = [1]\n", ":3:9", "`top` takes one value, not a list"),
        ("[report]\ncompare = 'yes'\n", ":2:11", "`compare` must be true or false, not a text"),
        ("[report]\ntop = 'x'\n", ":2:7", "`top` is not valid: invalid value 'x' for '--top <N>'"),
        ("[report\n", ":1:8", ""),
        ("[report]\nhelp = true\n", ":2:1", "`help` is not an option of `weir report`"),
    ] {
        let run = with(&folder, config, &["report", &log]);
        let start = format!("weir: {}{place}: {sentence}", text(&folder.path("weir.toml")));
        assert!(run.stderr.starts_with(&start), "{config}: {} instead of {start}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{config}");
        assert!(run.stderr.contains("--no-config"), "{}", run.stderr);
        assert_eq!(with(&folder, config, &["report", "--no-config", &log]).code, 0, "{config}");
        // Commands that help to mend it work.
        let listed = with(&folder, config, &["config"]);
        assert_eq!(listed.code, 2, "{config}");
        assert!(listed.stderr.starts_with(&start), "{}", listed.stderr);
        assert_eq!(with(&folder, config, &["version"]).code, 0);
    }
    // A mistake in the table of another command does no harm.
    assert_eq!(with(&folder, "[grep]\nnothing = 1\n", &["report", &log]).code, 0);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let log = log(&folder);
    let run = |path: &str| finish(weir(["report", &log]).env("WEIR_CONFIG", path));
    let missing = run("no.toml");
    assert_eq!(missing.stderr, "weir: WEIR_CONFIG: no.toml does not exist; check the name\n");
    assert_eq!(missing.code, 2);
    assert!(run("/dev/zero").stderr.contains("/dev/zero: cannot be read: it is not a file"));
    let large = folder.file("large.toml", &vec![b'#'; (1 << 20) + 1]);
    assert!(run(text(&large)).stderr.contains("it is larger than 1 MiB"));
    let binary = folder.file("binary.toml", b"\xff\xfe");
    assert_eq!(run(text(&binary)).code, 2);
    let fifo = folder.path("fifo");
    if Command::new("mkfifo").arg(&fifo).status().is_ok_and(|status| status.success()) {
        assert!(run(text(&fifo)).stderr.contains("it is not a file"));
    }
}
