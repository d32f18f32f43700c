//! Whether profiles agree with those of perf, which samples the same process at the same time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::load::{self, Loaded};
use crate::settings::{Settings, folder, text};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// The largest difference between the shares of a function, in points of a hundred.
const POINTS_MAX: f64 = 3.0;

/// How long both take samples, and how many a second: ours, and perf's, whose timer is finer.
const SECONDS: u32 = 10;
const HZ: u32 = 499;
const PERF_HZ: u32 = 4_999;

/// Functions that have several names, of which the C library shows one and perf another.
const ALIASES: [(&str, &str); 2] = [("memcpy", "memmove"), ("libc_", "")];

/// The shares of functions, by their names, in points of a hundred.
type Shares = HashMap<String, f64>;

/// Compares the profiles of programs under load.
pub(super) fn table(settings: &Settings) -> Outcome<Table> {
    let mut table = Table::new("inside", "shares of functions, beside perf", Vec::new());
    if settings.is_smoke || !weir_tools::shell::is_installed("perf") {
        table.notes.push("missing: perf (Debian's package linux-perf)".to_owned());
        return Ok(table);
    }
    for loaded in [load::parsers(settings)?, load::gateway(settings)?] {
        let (name, points) = largest_difference(&loaded)?;
        let what = format!("{}, the largest difference in points ({name})", loaded.name);
        table.add_goal(&what, Some(points), Threshold::AtMost(POINTS_MAX));
    }
    Ok(table)
}

/// The function whose shares differ most, and by how much.
fn largest_difference(loaded: &Loaded) -> Outcome<(String, f64)> {
    let ended = AtomicBool::new(false);
    let (ours, theirs) = thread::scope(|scope| {
        let load = scope.spawn(|| loaded.run(&ended));
        let perf = scope.spawn(|| perf(loaded.process).map_err(|error| error.to_string()));
        let ours = profile(&loaded.admin).map_err(|error| error.to_string());
        let theirs = perf.join().unwrap_or_else(|_| Err("perf was not run".to_owned()));
        ended.store(true, Ordering::Relaxed);
        let loaded = load.join().unwrap_or_else(|_| Err("there was no load".to_owned()));
        loaded.and_then(|()| Ok((ours?, theirs?)))
    })?;
    let share = |shares: &Shares, name: &String| shares.get(name).copied().unwrap_or_default();
    let differences = ours
        .keys()
        .chain(theirs.keys())
        .map(|name| (name.clone(), (share(&ours, name) - share(&theirs, name)).abs()));
    let largest = differences.max_by(|one, other| one.1.total_cmp(&other.1));
    largest.ok_or_else(|| "neither profile has a function".into())
}

/// The innermost functions of a profile of `--admin`.
fn profile(admin: &str) -> Outcome<Shares> {
    let url = format!("http://{admin}/profile/folded?seconds={SECONDS}&hz={HZ}");
    let folded = output_of(&mut command("curl", &["-sS", "--fail", &url]))?;
    let samples = folded.lines().filter_map(|line| {
        let (stack, samples) = line.rsplit_once(' ')?;
        Some((stack.rsplit(';').next()?, samples.parse().ok()?))
    });
    shares(samples)
}

/// The innermost functions outside of the kernel, as perf finds them.
fn perf(process: u32) -> Outcome<Shares> {
    let file = text(&folder()?.join("perf.data"));
    let (process, hz, seconds) = (process.to_string(), PERF_HZ.to_string(), SECONDS.to_string());
    let arguments =
        ["record", "-q", "-e", "cpu-clock", "-F", &hz, "-g", "-p", &process, "-o", &file];
    output_of(command("perf", &arguments).args(["--", "sleep", &seconds]))?;
    let arguments = ["script", "-i", &file, "-F", "ip,sym,dso"];
    let printed = output_of(&mut command("perf", &arguments))?;
    let samples = printed.split("\n\n").filter(|sample| !sample.trim().is_empty());
    shares(samples.map(|sample| (innermost(sample), 1.0)))
}

/// The first function of a sample that is not one of the kernel: `ADDRESS NAME (FILE)` in each
/// line.
fn innermost(sample: &str) -> &str {
    let mut frames = sample.lines().filter_map(|line| line.trim().split_once(' '));
    let of_user = frames.find(|(address, rest)| {
        let is_high = address.len() == 16 && address.starts_with("ffff");
        !is_high && !rest.contains("[kernel")
    });
    of_user.and_then(|(_, rest)| Some(rest.rsplit_once(" (")?.0)).unwrap_or("unknown")
}

fn shares<'a>(samples: impl Iterator<Item = (&'a str, f64)>) -> Outcome<Shares> {
    let mut shares = Shares::new();
    let mut all = 0.0;
    for (name, samples) in samples {
        *shares.entry(plain(name)).or_default() += samples;
        all += samples;
    }
    if all < 500.0 {
        return Err(format!("there are {all} samples only").into());
    }
    shares.values_mut().for_each(|share| *share *= 100.0 / all);
    Ok(shares)
}

/// A name without the parts that the two write differently: hashes, and the prefixes of the C
/// library.
fn plain(name: &str) -> String {
    let name = name
        .rsplit_once("::h")
        .map_or(name, |(path, hash)| if hash.len() == 16 { path } else { name });
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, hash)) = rest.split_once('[') {
        plain += before;
        let after = hash.split_once(']').filter(|(hash, _)| hash.len() == 16);
        rest = match after {
            Some((_, after)) => after,
            None => {
                plain.push('[');
                hash
            }
        };
    }
    plain += rest;
    let mut plain =
        plain.trim_start_matches('_').trim_start_matches("GI_").trim_start_matches('_').to_owned();
    for (alias, name) in ALIASES {
        plain = plain.replacen(alias, name, 1);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_are_the_same() {
        for (one, other) in [
            ("__GI___libc_malloc", "malloc"),
            ("__memcpy_avx512_unaligned_erms", "__memmove_avx512_unaligned_erms"),
            ("a::b::h0123456789abcdef", "a::b"),
            ("<std[e28293b1aa0f68bd]::sys::Thread>::new", "<std::sys::Thread>::new"),
            ("<[u8] as a::B>::c", "<[u8] as a::B>::c"),
        ] {
            assert_eq!(plain(one), plain(other));
        }
    }

    #[test]
    fn the_kernel_is_passed_over() {
        let sample = "\tffffffff81000000 do_syscall_64 ([kernel.kallsyms])\n\
                      \t    7f00deadbeef __writev (/usr/lib/libc.so.6)\n\t    5500 main (/bin/weir)";
        assert_eq!(innermost(sample), "__writev");
        assert_eq!(innermost("\tffffffff81000000 idle ([kernel.kallsyms])"), "unknown");
    }

    #[test]
    fn few_samples_say_nothing() {
        assert!(shares([("a", 499.0)].into_iter()).is_err());
        let found = shares([("a", 300.0), ("b", 900.0)].into_iter()).unwrap();
        assert_eq!(found["b"], 75.0);
    }
}
