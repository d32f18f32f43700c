//! Opens many connections, sends a request on each, and holds them: the client of
//! `cargo xtask abuse idle`.
//!
//!     hold http1|http2 HOST CONNECTIONS            over TLS
//!     hold plain HOST CONNECTIONS
//!
//! It prints `ready` after each request is answered, and ends with its standard input.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use weir_net::socket::reserve_connections;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The certificate of the example `echo`.
const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cert.pem");

const HTTP_1: &[u8] = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The preface, no settings, and a request for `/` of `localhost` with fields of the static table
/// (RFC 9113 section 3.4, RFC 7541 appendix A).
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\
    \0\0\x0e\x01\x05\0\0\0\x01\x82\x87\x84\x01\x09localhost";

/// The type of the frame that begins an HTTP/2 response.
const HEADERS: u8 = 1;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, host, connections] = &arguments[..] else {
        return Err("hold plain|http1|http2 HOST CONNECTIONS".into());
    };
    let connections = connections.parse()?;
    let room = reserve_connections(connections).connections_max;
    if room < connections {
        return Err(format!("the limit of open files leaves room for {room} connections").into());
    }
    match &kind[..] {
        "plain" => hold_plain(host, connections).await,
        "http1" => hold_tls(host, connections, false).await,
        _ => hold_tls(host, connections, true).await,
    }
}

async fn hold_plain(host: &str, connections: usize) -> Outcome {
    let mut held = Vec::new();
    for _ in 0..connections {
        let mut stream = TcpStream::connect(host).await?;
        ask_http1(&mut stream).await?;
        held.push(stream);
    }
    wait()
}

async fn hold_tls(host: &str, connections: usize, is_http2: bool) -> Outcome {
    let connector = connector(if is_http2 { b"h2" } else { b"http/1.1" })?;
    let mut held = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(host).await?;
        // The request follows the end of the handshake, which the server may be slow to
        // acknowledge.
        stream.set_nodelay(true)?;
        let mut stream = connector.connect(ServerName::try_from("localhost")?, stream).await?;
        if is_http2 {
            ask_http2(&mut stream).await?;
        } else {
            ask_http1(&mut stream).await?;
        }
        held.push(stream);
    }
    wait()
}

/// Prints `ready`, and holds the connections until standard input ends.
fn wait() -> Outcome {
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn connector(protocol: &[u8]) -> Outcome<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(Path::new(CERTIFICATE))?)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn ask_http1(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Outcome {
    stream.write_all(HTTP_1).await?;
    stream.flush().await?;
    if stream.read(&mut [0; 1_024]).await? == 0 {
        return Err("a connection got no answer".into());
    }
    Ok(())
}

async fn ask_http2(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Outcome {
    stream.write_all(HTTP_2).await?;
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).await?;
        if head[3] == HEADERS {
            return Ok(());
        }
    }
}
