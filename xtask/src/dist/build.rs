//! Compiles the program, so that two builds of a commit are equal wherever they run.

use std::path::{Path, PathBuf};

use weir_tools::shell::{Outcome, command, execute, is_installed, output_of, root, target_folder};

/// What a program is compiled for.
#[derive(Debug)]
pub(super) struct Target {
    /// As rustc calls it.
    pub(super) name: &'static str,
    /// The processor in the names of Debian.
    pub(super) debian_name: &'static str,
    /// Whether it gets a package for Debian.
    pub(super) is_of_debian: bool,
    /// The compiler of C, which also links.
    c_compiler: &'static str,
    /// The program that removes symbols.
    strip: &'static str,
}

pub(super) const TARGETS: [Target; 3] = [
    Target {
        name: "x86_64-unknown-linux-gnu",
        debian_name: "amd64",
        is_of_debian: true,
        c_compiler: "gcc",
        strip: "strip",
    },
    // Linked statically: it runs on any Linux.
    Target {
        name: "x86_64-unknown-linux-musl",
        debian_name: "amd64",
        is_of_debian: false,
        c_compiler: "musl-gcc",
        strip: "strip",
    },
    Target {
        name: "aarch64-unknown-linux-gnu",
        debian_name: "arm64",
        is_of_debian: true,
        c_compiler: "aarch64-linux-gnu-gcc",
        strip: "aarch64-linux-gnu-strip",
    },
];

/// The commit that is built.
#[derive(Debug)]
pub(super) struct Commit {
    /// What `weir version` shows; it ends with `-modified` if files differ from the commit.
    pub(super) name: String,
    /// The time of the commit, in seconds since 1970, which all files get.
    pub(super) time_s: u64,
    pub(super) version: String,
}

impl Commit {
    /// The commit that is checked out.
    ///
    /// # Errors
    /// If git cannot be started.
    pub(super) fn current() -> Outcome<Self> {
        let git = |arguments: &[&str]| output_of(&mut command("git", arguments));
        let mut name: String = git(&["rev-parse", "HEAD"])?.chars().take(12).collect();
        if !git(&["status", "--porcelain"])?.is_empty() {
            println!("there are changes that are not committed; the programs say so");
            name += "-modified";
        }
        let time_s = git(&["log", "-1", "--format=%ct"])?.trim().parse()?;
        Ok(Self { name, time_s, version: env!("CARGO_PKG_VERSION").to_owned() })
    }
}

/// Returns the target of a name.
///
/// # Errors
/// If there is none.
pub(super) fn target(name: &str) -> Outcome<&'static Target> {
    let names = || TARGETS.map(|target| target.name).join(", ");
    let found = TARGETS.iter().find(|target| target.name == name);
    Ok(found.ok_or_else(|| format!("`{name}` is not a target; choose from {}", names()))?)
}

/// Compiles the program for this machine, which prints the manual and the completions.
pub(super) fn own_program(commit: &Commit) -> Outcome<PathBuf> {
    let host = output_of(&mut command("rustc", &["-vV"]))?;
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let program = program(target(host)?, commit)?;
    Ok(program.ok_or("the program of this machine cannot be compiled")?)
}

/// Compiles the program for a target and returns its path, without symbols. Prints why and returns
/// `None` if this machine cannot compile for it.
///
/// # Errors
/// If the compiler fails, or the program is not of the commit.
pub(super) fn program(target: &Target, commit: &Commit) -> Outcome<Option<PathBuf>> {
    if let Err(reason) = can_compile(target) {
        println!("skipped: {}, because {reason}", target.name);
        return Ok(None);
    }
    let folder = root().join(target_folder()).join("dist-build");
    let variable = target.name.replace('-', "_");
    let [source, registry] = prefixes()?;
    let flags = format!("-ffile-prefix-map={source}=/weir -ffile-prefix-map={registry}=/cargo");
    let mut cargo = command("cargo", &["build", "--release", "--locked", "--package", "weir"]);
    cargo
        .args(["--bin", "weir", "--target", target.name, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags(&source, &registry))
        .env(format!("CFLAGS_{variable}"), flags)
        .env(format!("CC_{variable}"), target.c_compiler)
        .env("SOURCE_DATE_EPOCH", commit.time_s.to_string())
        .env("CARGO_INCREMENTAL", "0")
        .env("WEIR_COMMIT", &commit.name);
    if target.name.starts_with("aarch64") {
        cargo.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), target.c_compiler);
    }
    execute(&mut cargo)?;
    let program = folder.join(target.name).join("release/weir");
    let stripped = program.with_file_name("weir-stripped");
    execute(command(target.strip, &["--strip-all", "-o"]).arg(&stripped).arg(&program))?;
    if !target.name.starts_with("aarch64") {
        check_version(&stripped, commit)?;
    }
    Ok(Some(stripped))
}

/// The flags of rustc: no path of this machine may be in the program.
fn rust_flags(source: &str, registry: &str) -> String {
    let map = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
    [map(source, "/weir"), map(registry, "/cargo")].join("\x1f")
}

/// The folders of the sources and of the registry.
fn prefixes() -> Outcome<[String; 2]> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.ok_or("HOME is not set")?;
    Ok([root(), home].map(|path| path.to_string_lossy().into_owned()))
}

fn can_compile(target: &Target) -> Result<(), String> {
    let library = output_of(&mut command("rustc", &["--print", "sysroot"]));
    let library = library.map_err(|error| error.to_string())?;
    let library = Path::new(library.trim()).join("lib/rustlib").join(target.name);
    if !library.join("lib").exists() {
        return Err(format!("its standard library is missing: rustup target add {}", target.name));
    }
    match [target.c_compiler, target.strip].iter().find(|program| !is_installed(program)) {
        Some(program) => Err(format!("{program} is not installed")),
        None => Ok(()),
    }
}

fn check_version(program: &Path, commit: &Commit) -> Outcome {
    let expected = format!("weir {} ({})\n", commit.version, commit.name);
    let printed = output_of(std::process::Command::new(program).arg("version"))?;
    match printed == expected {
        true => Ok(()),
        false => Err(format!("the program says {printed:?} instead of {expected:?}").into()),
    }
}
