//! Apache from unpacked packages of Debian.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Program, wait_for};
use crate::support::text;

/// Starts Apache in one process with these lines, on a free port. Another program may take the port
/// before Apache does.
pub(super) fn start(root: &Path, folder: &Path, lines: &str) -> Option<(Program, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let (here, root) = (text(folder), text(root));
    let modules = ["mpm_prefork", "authz_core"]
        .map(|name| format!("LoadModule {name}_module modules/mod_{name}.so\n"))
        .concat();
    let configuration = format!(
        "ServerRoot {root}/usr/lib/apache2\nPidFile {here}/pid\nListen 127.0.0.1:{port}\n\
         ServerName localhost\nDefaultRuntimeDir {here}\n{modules}\
         StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nServerLimit 1\n\
         MaxRequestWorkers 1\nMaxConnectionsPerChild 0\nErrorLog {here}/error.log\n{lines}"
    );
    let file = folder.join("apache.conf");
    std::fs::write(&file, configuration).expect("a file");
    let mut command = Command::new(format!("{root}/usr/sbin/apache2"));
    command.args(["-X", "-f"]).arg(&file).env("LD_LIBRARY_PATH", libraries(Path::new(root)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut apache = Program(command.spawn().expect("Apache runs"));
    let listens = wait_for("Apache", || match TcpStream::connect(("127.0.0.1", port)) {
        Ok(_) => Some(true),
        Err(_) => apache.0.try_wait().expect("a child").map(|_| false),
    });
    listens.then_some((apache, port))
}

/// The folder with the libraries of the packages.
fn libraries(root: &Path) -> PathBuf {
    let folders = std::fs::read_dir(root.join("usr/lib")).expect("a folder");
    let mut folders = folders.flatten().map(|entry| entry.path());
    let with_libraries = folders.find(|path| path.join("libapr-1.so.0").exists());
    with_libraries.unwrap_or_else(|| root.join("usr/lib"))
}

/// Sends the head of a request from an address of this machine, and waits for the answer.
pub(super) fn request(address: Ipv4Addr, port: u16, head: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let connecting = async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((address, 0)))?;
        socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?.into_std()
    };
    let stream = runtime.expect("a runtime").block_on(connecting);
    let mut stream = stream.expect("Apache listens");
    stream.set_nonblocking(false).expect("a socket");
    stream.write_all(head).expect("Apache reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
}
