//! Installs the package on a clean Debian: a folder that debootstrap fills and chroot enters.
//!
//! `cargo xtask dist check` needs root, debootstrap and systemd-analyze. It uses the program that
//! `cargo xtask dist` has made, or another one, and makes packages of two versions with it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_tools::shell::{Outcome, execute, is_installed, output_of};

use super::build::{Commit, TARGETS};
use super::files::Parts;
use super::{deb, folder};

/// The release of Debian.
const RELEASE: &str = "bookworm";

/// The largest size of a package.
const BYTES_MAX: u64 = 12_000_000;

/// The folders in which files of the system change without a package.
const NOISE: [&str; 5] = ["var/lib/dpkg", "var/cache", "var/log", "proc", "etc/.pwd.lock"];

/// The lists of users and groups, which have copies that other programs make.
const USERS: [&str; 4] = ["etc/passwd", "etc/group", "etc/shadow", "etc/gshadow"];

/// Installs, upgrades, removes and purges the package.
///
/// # Errors
/// If a step fails, or leaves something behind.
pub(super) fn run(arguments: &[&str]) -> Outcome {
    let dist = folder()?;
    let version = env!("CARGO_PKG_VERSION");
    let program = match arguments {
        [] => dist.join(format!("staged/weir-{version}-{}/weir", TARGETS[0].name)),
        ["--binary", path] => PathBuf::from(path),
        _ => return Err("write `dist check [--binary FILE]`".into()),
    };
    if !program.exists() {
        let path = program.display();
        return Err(format!("{path} does not exist; run `cargo xtask dist` first").into());
    }
    let programs = ["debootstrap", "systemd-analyze", "chroot", "dpkg-deb"];
    if let Some(program) = programs.iter().find(|program| !is_installed(program)) {
        println!("skipped: the package, because {program} is not installed");
        return Ok(());
    }
    if output_of(Command::new("id").arg("--user"))?.trim() != "0" {
        println!("skipped: the package, because only root can enter another root");
        return Ok(());
    }
    let packages = [version.to_owned(), format!("{version}+later")];
    let packages = [package(&program, &packages[0])?, package(&program, &packages[1])?];
    let debian = Debian::fresh(&dist.join("debian"))?;
    let says = output_of(Command::new(&program).arg("version"))?;
    debian.check(&packages, &says)
}

/// Makes a package of a version.
fn package(program: &Path, version: &str) -> Outcome<PathBuf> {
    let commit = Commit::current()?;
    let parts = Parts { program, own: program, commit: &commit, target: &TARGETS[0] };
    let dist = folder()?.join("check");
    fs::create_dir_all(&dist)?;
    let path = deb::make(&parts, version, &dist)?;
    let bytes = fs::metadata(&path)?.len();
    println!("{}: {bytes} bytes", path.display());
    match bytes <= BYTES_MAX {
        true => Ok(path),
        false => Err(format!("{} has more than {BYTES_MAX} bytes", path.display()).into()),
    }
}

/// The root of another system.
struct Debian {
    root: PathBuf,
}

impl Debian {
    /// A copy of a system that is fetched once.
    fn fresh(folder: &Path) -> Outcome<Self> {
        let (clean, root) = (folder.join("clean"), folder.join("root"));
        if !clean.join("usr/bin/dpkg").exists() {
            fs::create_dir_all(folder)?;
            execute(Command::new("debootstrap").args(["--variant=minbase", RELEASE]).arg(&clean))?;
        }
        execute(Command::new("rm").arg("-rf").arg(&root))?;
        execute(Command::new("cp").arg("-a").arg(&clean).arg(&root))?;
        Ok(Self { root })
    }

    fn check(&self, [package, later]: &[PathBuf; 2], says: &str) -> Outcome {
        let before = self.files()?;
        let [name, later] = [self.take(package)?, self.take(later)?];
        self.dpkg(&["--install", &name])?;
        self.expect(&["weir", "version"], says)?;
        self.expect(&["stat", "-c", "%U:%G %a", "/etc/weir/gateway.toml"], "root:weir 640\n")?;
        self.verify_units()?;
        self.serve()?;
        execute(&mut self.inside(&["weir", "gateway", "--check", "/etc/weir/gateway.toml"]))?;

        // What the administrator has written stays.
        let own = "WEIR_OPTIONS=\"--memory 64MiB\"\n";
        fs::write(self.root.join("etc/default/weir"), own)?;
        self.dpkg(&["--install", &later])?;
        let version = concat!(env!("CARGO_PKG_VERSION"), "+later");
        self.expect(&["dpkg-query", "--show", "--showformat=${Version}", "weir"], version)?;
        self.expect(&["cat", "/etc/default/weir"], own)?;

        self.dpkg(&["--remove", "weir"])?;
        self.expect(&["cat", "/etc/default/weir"], own)?;
        if self.root.join("usr/bin/weir").exists() {
            return Err("the program is still there after its removal".into());
        }
        self.dpkg(&["--purge", "weir"])?;
        let after = self.files()?;
        let left: Vec<_> = after.symmetric_difference(&before).collect();
        match left[..] {
            [] => {
                println!("the package was installed, upgraded, removed and purged");
                Ok(())
            }
            _ => Err(format!("these files differ after the package was purged: {left:?}").into()),
        }
    }

    /// What systemd says about the units, which is nothing, and how exposed they are.
    fn verify_units(&self) -> Outcome {
        for unit in ["weir.service", "weir-gateway.service"] {
            let path = self.root.join("usr/lib/systemd/system").join(unit);
            // The program is where the unit says in the other root alone.
            let text = fs::read_to_string(&path)?;
            let program = self.root.join("usr/bin/weir");
            let text = text.replace("/usr/bin/weir", &program.to_string_lossy());
            let copy = folder()?.join(unit);
            fs::write(&copy, text)?;
            let output =
                Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output()?;
            // The user is one of the other root, too.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if !said.trim().is_empty() {
                return Err(format!("systemd about {unit}: {said}").into());
            }
        }
        Ok(())
    }

    /// Starts the program with the options of the service, as its user, and waits for the address.
    fn serve(&self) -> Outcome {
        let line = ". /etc/default/weir; exec weir --no-open $WEIR_OPTIONS";
        let mut command = Command::new("chroot");
        command.arg("--userspec=weir:weir").arg(&self.root).args(["sh", "-c", line]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no pipe")?;
        let mut address = String::new();
        let read = BufReader::new(stdout).read_line(&mut address);
        child.kill()?;
        child.wait()?;
        read?;
        match address.starts_with("http://127.0.0.1:") {
            true => Ok(()),
            false => Err(format!("the service prints {address:?} instead of its address").into()),
        }
    }

    /// Copies a package into the system and returns its path there.
    fn take(&self, package: &Path) -> Outcome<String> {
        let name = package.file_name().unwrap_or_default();
        fs::copy(package, self.root.join("tmp").join(name))?;
        Ok(format!("/tmp/{}", name.to_string_lossy()))
    }

    fn dpkg(&self, arguments: &[&str]) -> Outcome {
        let all = [&["dpkg", "--force-confold"], arguments].concat();
        execute(self.inside(&all).env("DEBIAN_FRONTEND", "noninteractive"))
    }

    fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(&self.root).args(words).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        command
    }

    fn expect(&self, words: &[&str], expected: &str) -> Outcome {
        let printed = output_of(&mut self.inside(words))?;
        match printed == expected {
            true => Ok(()),
            false => Err(format!("{words:?} prints {printed:?} instead of {expected:?}").into()),
        }
    }

    /// The files of the system, and the users.
    fn files(&self) -> Outcome<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let listed = output_of(Command::new("find").args([".", "-xdev"]).current_dir(&self.root))?;
        for path in listed.lines().map(|path| path.trim_start_matches("./")) {
            let is_copy = USERS.iter().any(|list| *path == format!("{list}-"));
            let is_noise = NOISE.iter().any(|start| path.starts_with(start)) || is_copy;
            if !is_noise && !path.starts_with("tmp/weir_") {
                found.insert(path.to_owned());
            }
        }
        for list in USERS {
            let text = fs::read_to_string(self.root.join(list))?;
            found.extend(text.lines().map(|line| format!("{list}: {line}")));
        }
        Ok(found)
    }
}
