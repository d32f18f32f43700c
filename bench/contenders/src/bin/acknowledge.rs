//! A WebSocket server that answers each message with its length and does nothing else.

use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::thread;

use tungstenite::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("ws://{}/", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        // The browser reports a broken connection.
        thread::spawn(move || acknowledge(stream).ok());
    }
    Ok(())
}

fn acknowledge(stream: TcpStream) -> Result<(), Box<dyn Error>> {
    stream.set_nodelay(true)?;
    let mut socket = tungstenite::accept(stream).map_err(|error| error.to_string())?;
    loop {
        match socket.read()? {
            Message::Binary(bytes) => socket.send(Message::text(bytes.len().to_string()))?,
            Message::Close(_) => return Ok(()),
            _ => {}
        }
    }
}
