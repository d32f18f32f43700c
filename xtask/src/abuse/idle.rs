//! As many connections as the server allows, which say nothing after their first request.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::bystander::Bystander;
use super::server::Server;
use super::{Setting, Verdict};
use crate::shell::Outcome;

/// More than the server's limit of 1,024, so that idle connections have to make room.
const CONNECTIONS: usize = 1_100;

/// The most memory that the server may have had, in MiB.
const PEAK_MIB_MAX: u64 = 128;

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    let server = Server::start(&setting.weir)?;
    let request = format!("HEAD / HTTP/1.1\r\nHost: {}\r\n\r\n", server.host);
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(&server.host)?;
        stream.write_all(request.as_bytes())?;
        if stream.read(&mut [0; 1_024])? == 0 {
            return Err(format!("connection {} got no answer", idle.len()).into());
        }
        idle.push(stream);
    }
    let bystander = Bystander::start(&server.host);
    // Half of the time after which the server closes idle connections.
    std::thread::sleep(std::time::Duration::from_secs(5));
    let waits = bystander.end()?;
    let peak = server.peak_mib()?;
    let text = format!("{CONNECTIONS} idle connections: {waits}, peak {peak} MiB");
    if peak > PEAK_MIB_MAX { Err(text.into()) } else { Ok(Verdict::Passed(vec![text])) }
}
