//! Servers that answer with the bodies of Puma's benchmark: `/KIND/KILOBYTES`, in parts of 1 kB and
//! with 25 header fields.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};
use weir_net::socket::{Address, BindOptions, Listener};
use weir_net::{Body, IncomingBody, Server};

/// The bytes of a part.
const PART_BYTES: usize = 1000;

/// The longest body.
const BODY_KILOBYTES_MAX: usize = 1000;

/// How long the TLS handshake of a client may take.
const HANDSHAKE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The bodies, made once.
#[derive(Clone)]
pub struct Bodies {
    whole: Bytes,
    /// Holds the files `1`, `10`, `100` and `1000`.
    folder: PathBuf,
    headers: HeaderMap,
}

impl Bodies {
    /// Bodies from a folder whose files `1`, `10`, `100` and `1000` have that many kilobytes.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        let whole = std::fs::read(folder.join(BODY_KILOBYTES_MAX.to_string()))?.into();
        let mut headers = HeaderMap::new();
        for number in 1..=25 {
            let name = HeaderName::try_from(format!("x-my-header-{number}"));
            headers.insert(
                name.map_err(io::Error::other)?,
                HeaderValue::from_static("the value of a header field"),
            );
        }
        Ok(Self { whole, folder, headers })
    }

    /// The kind and the kilobytes that a path asks for.
    fn of_path<'p>(&self, path: &'p str) -> Option<(&'p str, usize)> {
        let (kind, kilobytes) = path.strip_prefix('/')?.split_once('/')?;
        let kilobytes = kilobytes.parse().ok()?;
        (kilobytes <= BODY_KILOBYTES_MAX).then_some((kind, kilobytes))
    }

    fn parts(&self, kilobytes: usize) -> impl Iterator<Item = Bytes> + Send + use<> {
        let whole = self.whole.clone();
        let starts = (0..kilobytes).map(|part| part * PART_BYTES);
        starts.map(move |start| whole.slice(start..start + PART_BYTES))
    }

    fn open(&self, kilobytes: usize) -> io::Result<File> {
        File::open(self.folder.join(kilobytes.to_string()))
    }

    fn response<B>(&self, body: B) -> Response<B> {
        let mut response = Response::new(body);
        response.headers_mut().clone_from(&self.headers);
        response
    }
}

/// Serves with `weir-net`.
pub async fn weir(address: &Address, options: &BindOptions, bodies: Bodies) -> io::Result<()> {
    let listener = Listener::bind(address, options).await.map_err(io::Error::other)?;
    // A clone, so that its `Bytes` are in the shared form, as in the clones for hyper's
    // connections.
    let bodies = bodies.clone();
    let handler = move |request: Request<IncomingBody>, _| {
        let body = weir_body(&bodies, request.uri().path());
        let response = bodies.response(body.unwrap_or_else(|error| error.to_string().into()));
        async { response }
    };
    Server::new([listener]).serve(handler, std::future::pending()).await;
    Ok(())
}

fn weir_body(bodies: &Bodies, path: &str) -> io::Result<Body> {
    let (kind, kilobytes) = bodies.of_path(path).ok_or(io::ErrorKind::NotFound)?;
    let mut parts = bodies.parts(kilobytes);
    Ok(match kind {
        "array" => Body::from_parts(parts),
        "chunked" => Body::poll_fn(move |_| Poll::Ready(parts.next().map(Ok))),
        "string" => Body::from(bodies.whole.slice(..kilobytes * PART_BYTES)),
        _ => Body::file(Arc::new(bodies.open(kilobytes)?), 0..(kilobytes * PART_BYTES) as u64),
    })
}

/// Serves with hyper alone, on the same sockets.
pub async fn hyper(address: &Address, options: &BindOptions, bodies: Bodies) -> io::Result<()> {
    let mut listener = Listener::bind(address, options).await.map_err(io::Error::other)?;
    loop {
        let connection = listener.accept().await?;
        let bodies = bodies.clone();
        tokio::spawn(async move {
            let Ok(stream) = connection.open(HANDSHAKE_TIMEOUT).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let body = plain_body(&bodies, request.uri().path());
                let response = body.map(|body| bodies.response(body));
                async { response }
            });
            let _ended =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn plain_body(bodies: &Bodies, path: &str) -> io::Result<PlainBody> {
    let (kind, kilobytes) = bodies.of_path(path).ok_or(io::ErrorKind::NotFound)?;
    let bytes = (kilobytes * PART_BYTES) as u64;
    let parts = Box::new(bodies.parts(kilobytes));
    Ok(match kind {
        "array" => PlainBody::Parts(parts, Some(bytes)),
        "chunked" => PlainBody::Parts(parts, None),
        "string" => PlainBody::Whole(Some(bodies.whole.slice(..kilobytes * PART_BYTES))),
        _ => PlainBody::File(tokio::fs::File::from_std(bodies.open(kilobytes)?), bytes),
    })
}

/// The bodies in the form that a straightforward hyper server would use.
enum PlainBody {
    Whole(Option<Bytes>),
    /// The parts, and their length if it is known.
    Parts(Box<dyn Iterator<Item = Bytes> + Send>, Option<u64>),
    /// A file, and how much of it is left.
    File(tokio::fs::File, u64),
}

/// The number of bytes that are read from a file at a time.
const READ_BYTES: usize = 64 << 10;

impl hyper::body::Body for PlainBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let part = match self.get_mut() {
            Self::Whole(bytes) => bytes.take(),
            Self::Parts(parts, length) => {
                let part = parts.next();
                let bytes = part.as_ref().map_or(0, Bytes::len) as u64;
                *length = length.map(|length| length - bytes);
                part
            }
            Self::File(_, 0) => None,
            Self::File(file, left) => {
                let mut bytes = vec![0; READ_BYTES.min(*left as usize)];
                let mut buffer = ReadBuf::new(&mut bytes);
                ready!(Pin::new(file).poll_read(context, &mut buffer))?;
                let read = buffer.filled().len();
                bytes.truncate(read);
                *left -= read as u64;
                Some(Bytes::from(bytes))
            }
        };
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Parts(_, Some(bytes)) | Self::File(_, bytes) => SizeHint::with_exact(*bytes),
            Self::Parts(_, None) => SizeHint::default(),
        }
    }
}
