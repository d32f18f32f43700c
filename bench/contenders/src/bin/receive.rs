//! `receive SERVER BYTES [ROUNDS]`: one client, one server, and how long it took, as JSON.

use std::error::Error;
use std::sync::mpsc;
use std::thread;

use contenders::{CONTENDERS, send};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, bytes, rounds @ ..] = arguments.as_slice() else {
        return Err("usage: receive SERVER BYTES [ROUNDS]".into());
    };
    let bytes = bytes.parse()?;
    let rounds = rounds.first().map(|rounds| rounds.parse()).transpose()?;
    let contender = CONTENDERS.into_iter().find(|contender| contender.name == name);
    let contender = contender.ok_or_else(|| format!("there is no server {name}"))?;
    let (ready, address) = mpsc::channel();
    let server = thread::spawn(move || (contender.receive)(ready));
    let sent = send(address.recv()?, contender.handshake, bytes, rounds)?;
    let received = server.join().map_err(|_| "the server panicked")??;
    let looks = contender.name != "read";
    if looks && (received.bytes, received.checksum) != (sent.bytes, sent.checksum) {
        return Err(format!("sent {sent:?}, received {received:?}").into());
    }
    let (seconds, worked_s) = (received.elapsed.as_secs_f64(), received.worked.as_secs_f64());
    println!("{{\"bytes\":{},\"seconds\":{seconds},\"worked_s\":{worked_s}}}", sent.bytes);
    Ok(())
}
