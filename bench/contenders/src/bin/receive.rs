//! `receive SERVER BYTES [ROUNDS]` runs one client and one server, and prints the times as JSON.
//! `distance_ns` is the larger of [`distance_of_cores`] before and after.

use std::error::Error;
use std::sync::mpsc;
use std::thread;

use contenders::{CONTENDERS, distance_of_cores, send};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, bytes, rounds @ ..] = arguments.as_slice() else {
        return Err("usage: receive SERVER BYTES [ROUNDS]".into());
    };
    let bytes = bytes.parse()?;
    let rounds = rounds.first().map(|rounds| rounds.parse()).transpose()?;
    let contender = CONTENDERS.into_iter().find(|contender| contender.name == name);
    let contender = contender.ok_or_else(|| {
        format!("`{name}` is not a server; bench/contenders/README.md lists them")
    })?;
    let distance_before = distance_of_cores();
    let (ready, address) = mpsc::channel();
    let server = thread::spawn(move || (contender.receive)(ready));
    let sent = send(address.recv()?, contender.handshake, bytes, rounds)?;
    let received = server.join().map_err(|_| "the server panicked")??;
    let distance = distance_before.max(distance_of_cores());
    let looks = !["read", "discard"].contains(&contender.name);
    if looks && (received.bytes, received.checksum) != (sent.bytes, sent.checksum) {
        return Err(format!("sent {sent:?}, received {received:?}").into());
    }
    let (seconds, worked_s) = (received.elapsed.as_secs_f64(), received.worked.as_secs_f64());
    println!(
        "{{\"bytes\":{},\"seconds\":{seconds},\"worked_s\":{worked_s},\"distance_ns\":{}}}",
        sent.bytes,
        distance.as_nanos()
    );
    Ok(())
}
