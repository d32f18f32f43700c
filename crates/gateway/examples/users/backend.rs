//! A server of a backend: it says who asked, in a session that it can forget.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::header::AUTHORIZATION;
use hyper::{Request, Response, StatusCode};
use weir_net::socket::{BindOptions, Listener};
use weir_net::{Body, Client, IncomingBody, RequestBody, Server, text_response};

use crate::Outcome;
use crate::site::{CREDENTIAL, EPOCH_FILE, KEYS_FILE, LOGIN};

/// The field in which the gateway names the user.
const X_USER: &str = "x-user";

/// The maximum length of a body, in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;

pub(crate) async fn serve(address: &str, name: &str, folder: &str) -> Outcome {
    let listener = Listener::bind(&address.parse()?, &BindOptions::default()).await?;
    println!("{}", listener.address());
    let backend = Arc::new(Backend { name: name.to_owned(), folder: folder.into() });
    let answer = move |request, _: Client| {
        let backend = backend.clone();
        async move { backend.answer(request).await }
    };
    Server::new(vec![listener]).serve(answer, std::future::pending()).await;
    Ok(())
}

struct Backend {
    name: String,
    folder: PathBuf,
}

impl Backend {
    async fn answer(&self, request: Request<IncomingBody>) -> Response<Body> {
        let (parts, mut received) = RequestBody::of(request);
        let mut body = Vec::new();
        while let Some(Ok(part)) = received.next().await {
            body.extend_from_slice(&part);
            if body.len() > BODY_BYTES_MAX {
                return text_response(StatusCode::PAYLOAD_TOO_LARGE, "too long\n");
            }
        }
        let field = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = field(AUTHORIZATION.as_str()).and_then(|text| text.strip_prefix("Bearer "));
        let path = parts.uri.path();
        if path == "/keys" {
            return text_response(StatusCode::OK, self.read(KEYS_FILE));
        }
        let epoch = format!("{}-{}", self.name, self.read(&format!("{EPOCH_FILE}-{}", self.name)));
        if path == LOGIN {
            return match bearer == Some(CREDENTIAL) {
                true => session(&epoch, &body),
                false => text_response(StatusCode::FORBIDDEN, "no credential\n"),
            };
        }
        let user = field(X_USER).unwrap_or("nobody");
        let session = bearer.unwrap_or_default();
        if session != format!("{epoch}.{user}") {
            // The session of somebody else must not look like one that was forgotten.
            let is_own = session.ends_with(&format!(".{user}"));
            let status = if is_own { StatusCode::UNAUTHORIZED } else { StatusCode::CONFLICT };
            return text_response(status, format!("{epoch}: {session} of {user}\n"));
        }
        let body = String::from_utf8_lossy(&body);
        text_response(StatusCode::OK, format!("{} {user} {path} {body}", self.name))
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).unwrap_or_default()
    }
}

/// A session of the subject that a log-in names.
fn session(epoch: &str, body: &[u8]) -> Response<Body> {
    let asked: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(subject) = asked["subject"].as_str() else {
        return text_response(StatusCode::BAD_REQUEST, "no subject\n");
    };
    let token = serde_json::json!({ "access_token": format!("{epoch}.{subject}") });
    text_response(StatusCode::OK, token.to_string())
}
