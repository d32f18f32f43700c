//! A gateway in front of two backends while much goes wrong: each answer has to be that of the user
//! who asked.
//!
//!     users WEIR USERS REQUESTS
//!     users backend ADDRESS NAME FOLDER
//!
//! The first form starts `WEIR gateway` with two backends of two servers each, and sends the requests
//! of so many users. Meanwhile the configuration is read again, servers are killed and started
//! again, backends forget their sessions, and the issuer changes its keys. It fails if an answer is
//! not that of the user who asked, or a request is lost that was not in flight to a killed server.
//! After its sessions are lost, one request with a body of each user may be answered with 401.

mod backend;
mod clients;
mod issuer;
mod judge;
mod site;
mod turmoil;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use self::clients::{CONNECTIONS, Client, Shared};
use self::issuer::Issuer;
use self::judge::Judge;
use self::site::Site;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["backend", address, name, folder] => backend::serve(address, name, folder).await,
        [weir, users, requests] => run(weir, users.parse()?, requests.parse()?).await,
        _ => Err("users WEIR USERS REQUESTS".into()),
    }
}

async fn run(weir: &str, users: usize, requests: usize) -> Outcome {
    let issuer = Issuer::new(users)?;
    let mut site = Site::start(weir, &issuer)?;
    site.wait_until_ready(&issuer).await?;
    let shared = Arc::new(Shared::new(issuer, site.gateway_address(), users, requests));
    let started = Instant::now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|number| tokio::spawn(Client::new(number, shared.clone()).run()))
        .collect();
    let events = turmoil::run(&mut site, &shared).await?;
    let mut judge = Judge::default();
    for client in clients {
        judge.add(client.await?);
    }
    let seconds = started.elapsed().as_secs_f64();
    let verdict = judge.verdict(&events);
    let sent = shared.next.load(Ordering::Relaxed).min(requests);
    println!("{sent} requests of {users} users in {seconds:.0} s: {}", judge.summary());
    println!("{}", events.summary());
    site.check_withdrawn(&shared.issuer).await?;
    println!("a token of the withdrawn key is refused");
    verdict
}
