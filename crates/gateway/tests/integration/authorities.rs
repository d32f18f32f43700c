//! `ca_file` of a backend: a replaced file is used for the next connection.

use std::sync::{Arc, Mutex};

use crate::backends::{Backend, answer_with, read_request};
use crate::gate::{Gate, status};
use crate::timings::Certificate;

use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn replaced_authorities_are_used_for_the_next_connection() {
    let (old, new) = (Certificate::new(), Certificate::new());
    let current = Arc::new(Mutex::new(old.acceptor.clone()));
    let serves = current.clone();
    let backend = Backend::start(move |stream, _| {
        let acceptor = serves.lock().expect("no panic").clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(answer_with("here").as_bytes()).await;
                let _ = stream.flush().await;
            }
        }
    })
    .await;
    let config = format!(
        "[backends.one]\ninstances = [\"https://{}\"]\nca_file = {:?}\n[[routes]]\npath = \"/\"\n\
         backend = \"one\"\n",
        backend.address, old.file
    );
    let gate = Gate::start(&config).await;
    assert_eq!(status(&gate.get("/").await), "200");
    // The same authorities keep the connection.
    let content = std::fs::read(&old.file).expect("the file");
    std::fs::write(&old.file, [b"a comment\n", &content[..]].concat()).expect("written");
    gate.reload(&config);
    assert_eq!(status(&gate.get("/").await), "200");
    assert_eq!(backend.connections(), 1);
    // The backend has another certificate, of an authority that the gateway does not know yet.
    *current.lock().expect("no panic") = new.acceptor.clone();
    std::fs::copy(&new.file, &old.file).expect("copied");
    gate.reload(&config);
    assert_eq!(status(&gate.get("/").await), "200");
    assert_eq!(backend.connections(), 2);
}
