//! The package for Debian.
//!
//! The scripts of `packaging/debian` make and remove the user of the services, and start nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_tools::shell::{Outcome, command, execute, output_of, root};

use super::files::{Parts, copy, empty_folder, write};

/// The files that belong to the administrator after the installation: from `packaging/etc`, with
/// their modes. The gateway's may hold secrets.
const CONFIGURATION: [(&str, &str, u32); 4] = [
    ("default", "etc/default/weir", 0o644),
    ("weir.toml", "etc/weir/weir.toml", 0o644),
    ("gateway.toml", "etc/weir/gateway.toml", 0o640),
    ("logrotate", "etc/logrotate.d/weir", 0o644),
];

/// Where the completions of a shell belong.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/weir"),
    ("zsh", "usr/share/zsh/vendor-completions/_weir"),
    ("fish", "usr/share/fish/vendor_completions.d/weir.fish"),
];

/// The documents beside the licences.
const DOCUMENTS: [&str; 4] =
    ["docs/configuration.md", "docs/gateway.md", "docs/service.md", "LICENSE-MIT"];

/// Makes the package of a version in a folder, and returns its path.
pub(super) fn make(parts: &Parts<'_>, version: &str, folder: &Path) -> Outcome<PathBuf> {
    let architecture = parts.target.debian_name;
    let staged = empty_folder(&folder.join("staged").join(format!("deb-{architecture}")))?;
    stage_files(parts, &staged)?;
    stage_control(parts, version, &staged)?;
    let package = folder.join(format!("weir_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "-z9", "--build"]).arg(&staged).arg(&package);
    build.env("SOURCE_DATE_EPOCH", parts.commit.time_s.to_string()).stdout(Stdio::null());
    execute(&mut build)?;
    Ok(package)
}

fn stage_files(parts: &Parts<'_>, staged: &Path) -> Outcome {
    copy(parts.program, &staged.join("usr/bin/weir"), 0o755)?;
    for (from, to, mode) in CONFIGURATION {
        copy(format!("packaging/etc/{from}"), &staged.join(to), mode)?;
    }
    for unit in ["weir.service", "weir-gateway.service"] {
        let from = format!("packaging/systemd/{unit}");
        copy(from, &staged.join("usr/lib/systemd/system").join(unit), 0o644)?;
    }
    for (shell, path) in COMPLETIONS {
        write(&staged.join(path), parts.completions(shell)?, 0o644)?;
    }
    for (page, text) in parts.manual()? {
        let path = staged.join(format!("usr/share/man/man1/{page}.1.gz"));
        write(&path, gzip(text.as_bytes())?, 0o644)?;
    }
    let documents = staged.join("usr/share/doc/weir");
    for document in DOCUMENTS {
        let name = Path::new(document).file_name().unwrap_or_default();
        copy(document, &documents.join(name), 0o644)?;
    }
    copy("packaging/debian/copyright", &documents.join("copyright"), 0o644)?;
    write(&documents.join("THIRD-PARTY.md.gz"), gzip(parts.notices()?.as_bytes())?, 0o644)?;
    let changelog = fs::read(root().join("CHANGELOG.md"))?;
    write(&documents.join("changelog.gz"), gzip(&changelog)?, 0o644)
}

fn stage_control(parts: &Parts<'_>, version: &str, staged: &Path) -> Outcome {
    let template = fs::read_to_string(root().join("packaging/debian/control"))?;
    let control = template
        .replace("@VERSION@", version)
        .replace("@ARCHITECTURE@", parts.target.debian_name)
        .replace("@INSTALLED_SIZE@", &kibibytes(staged)?.to_string())
        .replace("@DEPENDS@", &dependencies(parts.program)?);
    let debian = staged.join("DEBIAN");
    write(&debian.join("control"), control, 0o644)?;
    let names: String = CONFIGURATION.iter().map(|(_, to, _)| format!("/{to}\n")).collect();
    write(&debian.join("conffiles"), names, 0o644)?;
    for script in ["postinst", "prerm", "postrm"] {
        copy(format!("packaging/debian/{script}"), &debian.join(script), 0o755)?;
    }
    Ok(())
}

/// The libraries that the program is linked with, and the program that makes users.
fn dependencies(program: &Path) -> Outcome<String> {
    let symbols = output_of(command("objdump", &["--dynamic-syms"]).arg(program))?;
    let version = libc_version(&symbols).ok_or("the program is not linked with the C library")?;
    Ok(format!("libc6 (>= {version}), libgcc-s1, passwd"))
}

/// The newest version of the C library that a symbol is of, as `objdump` lists them.
fn libc_version(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split([')', ' ', '\n']).next()?;
        version.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()
    });
    let newest = versions.max()?;
    Some(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

/// The size of all files below a folder.
fn kibibytes(folder: &Path) -> Outcome<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => kibibytes(&entry.path())?,
            false => entry.metadata()?.len().div_ceil(1 << 10),
        };
    }
    Ok(sum)
}

/// Compresses a text, without the time.
fn gzip(text: &[u8]) -> Outcome<Vec<u8>> {
    use std::io::Write;
    let mut child = Command::new("gzip")
        .args(["-9", "--no-name", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let text = text.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&text));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "gzip reads nothing")??;
    if output.status.success() { Ok(output.stdout) } else { Err("gzip failed".into()) }
}

#[cfg(test)]
mod tests {
    use super::libc_version;

    #[test]
    fn the_newest_symbol_decides() {
        let symbols =
            "0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.34) b\n0 (GLIBC_2.2.5) c\n";
        assert_eq!(libc_version(symbols).as_deref(), Some("2.34"));
        assert_eq!(libc_version("0 DF *UND* 0 (GCC_3.0) a\n"), None);
    }
}
