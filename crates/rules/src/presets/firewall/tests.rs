use super::iptables::{looks_like as looks_like_iptables, parse as parse_iptables};
use super::nft::{looks_like as looks_like_nft, parse as parse_nft};
use crate::windows::Algorithm;

#[test]
fn lines_of_iptables_are_limits() {
    for (text, expected) in [
        (
            "iptables -A INPUT -p tcp --dport 80 -m conntrack --ctstate NEW -m hashlimit --hashlimit-above 20/min --hashlimit-burst 30 --hashlimit-mode srcip --hashlimit-name http -j DROP",
            "limit 20 requests in 1m by client as token-bucket burst 30",
        ),
        (
            "-A INPUT -m hashlimit --hashlimit-upto 5/sec --hashlimit-mode srcip --hashlimit-srcmask 24 --hashlimit-name a -j ACCEPT",
            "limit 5 requests in 1s by client/24 as token-bucket burst 5",
        ),
        (
            "iptables -A INPUT -p tcp --syn -m limit --limit 10/second --limit-burst 20 -j ACCEPT",
            "limit 10 requests in 1s as token-bucket burst 20",
        ),
        (
            "iptables -A INPUT -m state --state NEW -m recent --set\niptables -A INPUT -m state --state NEW -m recent --update --seconds 60 --hitcount 10 -j DROP",
            "limit 9 requests in 1m by client as sliding-log, with two hits for each rejected request",
        ),
        (
            "iptables -A INPUT -m recent --set\niptables -A INPUT -m recent --rcheck --seconds 60 --hitcount 10 -j DROP",
            "limit 9 requests in 1m by client as sliding-log",
        ),
        (
            "iptables -A INPUT -m recent --update --seconds 60 --hitcount 4 -j DROP\niptables -A INPUT -m recent --set -j ACCEPT",
            "limit 4 requests in 1m by client as sliding-log",
        ),
        (
            "iptables -A INPUT -m recent --rcheck --seconds 60 --hitcount 4 -j DROP\niptables -A INPUT -m recent --set -j ACCEPT",
            "limit 4 requests in 1m by client as sliding",
        ),
        (
            "iptables -A INPUT -p tcp --syn --dport 80 -m connlimit --connlimit-above 20 -j REJECT",
            "limit 20 requests at once by client",
        ),
        (
            "iptables -A INPUT -p tcp --syn -m connlimit --connlimit-upto 9 --connlimit-mask 24 -j ACCEPT",
            "limit 9 requests at once by client/24",
        ),
    ] {
        assert!(looks_like_iptables(text), "{text}");
        let presets = parse_iptables(text).expect(text);
        assert_eq!(presets.len(), 1, "{text}");
        assert_eq!(presets[0].limit.to_string(), expected, "{text}");
        let message = &presets[0].notes[0].message;
        let is_new = ["NEW", "--syn", "recent", "connlimit"].iter().any(|it| text.contains(it));
        let counted = if is_new { "new connections" } else { "all packets" };
        assert!(message.starts_with(&format!("it counts {counted}")), "{text}: {message}");
    }
}

#[test]
fn lines_of_nft_are_limits() {
    for (text, expected) in [
        (
            "tcp dport 80 ct state new limit rate over 10/second burst 20 packets drop",
            "limit 10 requests in 1s as token-bucket burst 20",
        ),
        (
            "tcp dport 443 ct state new meter flood { ip saddr limit rate over 30/minute } drop",
            "limit 30 requests in 1m by client as token-bucket burst 5",
        ),
        (
            "ct state new add @flood { ip saddr limit rate over 5/second burst 7 packets } drop",
            "limit 5 requests in 1s by client as token-bucket burst 7",
        ),
    ] {
        assert!(looks_like_nft(text), "{text}");
        let presets = parse_nft(text).expect(text);
        assert_eq!(presets[0].limit.to_string(), expected, "{text}");
        assert!(presets[0].notes[0].message.contains("new connections"), "{text}");
    }
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("-m hashlimit --hashlimit-mode srcip", "-m", "the rate is missing"),
        ("-m limit --limit 5/fortnight", "5/f", "is not a rate of packets"),
        ("-m limit --limit x/sec", "x/sec", "is not a rate of packets"),
        ("-m recent --update --seconds 60 --hitcount 256", "256", "from 1 to 255"),
        (
            "-m hashlimit --hashlimit-above 1/s --hashlimit-mode srcip --hashlimit-srcmask 200",
            "200",
            "0 to 128 bits",
        ),
        ("-m recent --set", "", "there is no limit"),
        ("-m connlimit -j REJECT", "-m", "the number of connections is missing"),
        ("-m connlimit --connlimit-above 0", "0", "is not a number from 1"),
    ] {
        let error = parse_iptables(text).err().expect(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(Some(error.range.start), text.find(place), "{text}");
    }
    for (text, place, message) in [
        ("limit rate", "rate", "the rate is missing"),
        ("limit rate over 10 kbytes/second", "kbytes", "a rate of bytes"),
        ("limit rate 5/day burst x packets", "x packets", "is not a number of packets"),
    ] {
        let error = parse_nft(text).err().expect(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(Some(error.range.start), text.find(place), "{text}");
    }
}

#[test]
fn lines_that_only_log_have_no_limit() {
    for text in [
        "-A ufw-logging-deny -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix \"[UFW BLOCK] \"",
        "-A INPUT -m limit --limit 3/min -j NFLOG",
    ] {
        let drop = "-A INPUT -m limit --limit 9/min -j DROP";
        let error = parse_iptables(text).err().expect(text);
        assert!(error.message.starts_with("this line only logs packets"), "{error}");
        let presets = parse_iptables(&format!("{text}\n{drop}")).expect(text);
        assert_eq!((presets.len(), presets[0].notes.len()), (1, 3));
        assert_eq!(presets[0].notes[2].range.start, 0);
    }
    assert!(parse_nft("limit rate 3/minute log prefix \"ssh\"").is_err());
    assert_eq!(
        parse_nft("limit rate over 3/minute log prefix \"a\" drop").map(|it| it.len()),
        Ok(1)
    );
}

#[test]
fn a_burst_is_bounded() {
    for burst in ["9223372036854775808", "18446744073709551615", "1000000001"] {
        let text = format!("limit rate over 10/second burst {burst} packets drop");
        let error = parse_nft(&text).err().expect("it is too large");
        assert!(error.message.contains("is not a number of packets"), "{error}");
    }
}

#[test]
fn only_a_list_of_the_same_name_counts_before() {
    let text = |set: &str, update: &str| {
        format!(
            "-A INPUT -m recent {set} --set\n\
             -A INPUT -m recent {update} --update --seconds 60 --hitcount 10 -j DROP"
        )
    };
    for (set, update, count) in
        [("", "", 9), ("--name W", "--name W", 9), ("--name S", "--name W", 10)]
    {
        let presets = parse_iptables(&text(set, update)).expect("a limit");
        assert_eq!(presets[0].limit.count, count, "{set} {update}");
        let counts_twice = presets[0].limit.algorithm == Algorithm::RecentHits;
        assert_eq!(counts_twice, count == 9);
    }
}

/// The limit of a text, and the texts at its notes with the first words of each.
fn noted(text: &str) -> (String, Vec<(&str, String)>) {
    let presets = parse_iptables(text).expect(text);
    let words = |message: &str| message.split(' ').take(4).collect::<Vec<_>>().join(" ");
    let notes = presets[0].notes.iter().map(|it| (&text[it.range.clone()], words(&it.message)));
    (presets[0].limit.to_string(), notes.collect())
}

#[test]
fn a_command_may_be_broken_into_lines() {
    let expected = "limit 4 requests in 1m by client as token-bucket burst 6";
    for text in [
        "iptables -A INPUT -m hashlimit --hashlimit-upto 4/min\n--hashlimit-burst 6 --hashlimit-mode \
         srcip\n--hashlimit-name web\n -m state --state NEW -j ACCEPT\n\niptables -A INPUT -j REJECT",
        "iptables -A INPUT -m state --state NEW \\\n -m hashlimit --hashlimit-upto 4/min \\\n  \
         --hashlimit-burst 6 --hashlimit-mode srcip -j ACCEPT",
    ] {
        assert!(looks_like_iptables(text), "{text}");
        let (limit, notes) = noted(text);
        assert_eq!(limit, expected, "{text}");
        assert_eq!(notes, [("NEW", "it counts new connections,".to_owned())], "{text}");
    }
    // Lines of `iptables-save` are commands of their own.
    let two =
        "-A INPUT -m limit --limit 3/min -j ACCEPT\n-A INPUT -m limit --limit 5/min -j ACCEPT";
    assert_eq!(parse_iptables(two).map(|presets| presets.len()), Ok(2));
}

#[test]
fn what_a_line_counts_is_noted() {
    let together = "this limit counts all".to_owned();
    for (line, place, words) in [
        ("-p tcp -m state --state ESTABLISHED", "ESTABLISHED", "it counts the packets"),
        (
            "-p tcp -m state --state RELATED,ESTABLISHED",
            "RELATED,ESTABLISHED",
            "it counts the packets",
        ),
        (
            "-p tcp -m conntrack --ctstate NEW,ESTABLISHED",
            "NEW,ESTABLISHED",
            "it counts new connections,",
        ),
        ("-p tcp --syn", "--syn", "it counts new connections,"),
        ("-p tcp", "-A", "it counts all packets,"),
    ] {
        let text = format!("-A INPUT {line} -m limit --limit 20/s -j ACCEPT");
        let (_, notes) = noted(&text);
        assert_eq!(notes, [(place, words.to_owned()), ("20/s", together.clone())], "{text}");
    }
    let modeless = "-A INPUT --syn -m hashlimit --hashlimit-above 20/s -j DROP";
    let (limit, notes) = noted(modeless);
    assert_eq!(limit, "limit 20 requests in 1s as token-bucket burst 5");
    assert_eq!(notes[1], ("20/s", "without `srcip` in --hashlimit-mode".to_owned()));
}
