//! Weir's WebSocket reader, through the whole of `weir-net`.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hyper::{Request, Response};
use tokio::sync::oneshot;
use weir_net::websocket::{
    self, Error, Event, Reader, SocketOptions, Upgrade, UpgradedStream, accept,
};
use weir_net::{Body, IncomingBody, Server};

use crate::payload::{Checksum, Received};

/// Receives until the client closes. The payload is borrowed from the reader's buffer.
pub fn weir(ready: Sender<SocketAddr>) -> io::Result<Received> {
    serve(ready, Way::Lent)
}

/// Receives until the client closes. The payload is read into a block, as for a parser.
pub fn weir_into(ready: Sender<SocketAddr>) -> io::Result<Received> {
    serve(ready, Way::Into)
}

/// How the payload is received.
#[derive(Clone, Copy)]
enum Way {
    Lent,
    Into,
}

/// Size of a block in bytes.
const BLOCK_BYTES: usize = 1 << 20;

type Done = oneshot::Sender<Result<Received, Error>>;

fn serve(ready: Sender<SocketAddr>, way: Way) -> io::Result<Received> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(([127, 0, 0, 1], 0).into()).await?;
        ready.send(server.local_addr()?).map_err(io::Error::other)?;
        let (done, received) = oneshot::channel();
        let done = Arc::new(Mutex::new(Some(done)));
        let handler = move |request, _client| answer(request, way, Arc::clone(&done));
        tokio::spawn(server.serve(handler, std::future::pending()));
        received.await.map_err(io::Error::other)?.map_err(io::Error::other)
    })
}

async fn answer(
    mut request: Request<IncomingBody>,
    way: Way,
    done: Arc<Mutex<Option<Done>>>,
) -> Response<Body> {
    let (response, upgrade) = match accept(&mut request) {
        Ok(accepted) => accepted,
        Err(error) => return Response::new(Body::from(error.to_string())),
    };
    let done = done.lock().ok().and_then(|mut done| done.take());
    if let Some(done) = done {
        tokio::spawn(async move { done.send(receive(upgrade, way).await) });
    }
    response
}

async fn receive(upgrade: Upgrade, way: Way) -> Result<Received, Error> {
    let socket = upgrade.websocket(SocketOptions::default()).await?;
    let (mut reader, _writer) = socket.split();
    let start = Instant::now();
    let checksum = match way {
        Way::Lent => lent(&mut reader).await?,
        Way::Into => into_block(&mut reader).await?,
    };
    Ok(checksum.received(start.elapsed()))
}

async fn lent(reader: &mut Reader<UpgradedStream>) -> Result<Checksum, Error> {
    let mut checksum = Checksum::default();
    while let Some(event) = reader.next().await? {
        if let Event::Binary { bytes, end_of_message } = event {
            checksum.add(bytes, end_of_message);
        }
    }
    Ok(checksum)
}

async fn into_block(reader: &mut Reader<UpgradedStream>) -> Result<Checksum, Error> {
    let mut checksum = Checksum::default();
    let mut block = vec![0; BLOCK_BYTES];
    let mut filled = 0;
    while let Some(received) = reader.next_into(&mut block[filled..]).await? {
        if let websocket::BufferEvent::Binary { length, end_of_message } = received {
            checksum.add(&block[filled..][..length], end_of_message);
            filled = (filled + length) % BLOCK_BYTES;
        }
    }
    Ok(checksum)
}
