//! The client behind trusted proxies, as the gateway finds it in `X-Forwarded-For`, is that of
//! nginx's `real_ip_recursive on`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;

use super::Nginx;
use crate::gateway::address;
use crate::support::{Folder, Served, text, weir};

/// The number of lists.
const LISTS: usize = 400;

/// The elements of the lists. Elements that the two programs read differently are left out; see
/// `gateway/src/header_fields/sender.rs`.
const ELEMENTS: [&str; 16] = [
    "203.0.113.9",
    "198.51.100.7:4711",
    "2001:db8::7",
    "[2001:db8::7]:443",
    "10.0.0.1",
    "10.255.0.2:80",
    "2001:db8:1::1",
    "[2001:db8:1::2]:1",
    "10.0.0.3",
    "10.0.0.4",
    "unknown",
    "_hidden",
    "203.0.113",
    "203.0.113.9:99999",
    "\"203.0.113.9\"",
    "",
];

/// A backend that answers with the first address of `X-Forwarded-For`.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
            let head = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
            let field =
                head.filter_map(|line| line.strip_prefix("x-forwarded-for: ").map(str::to_owned));
            let fields: Vec<String> = field.collect();
            let client = fields.first().and_then(|field| field.split(',').next()).unwrap_or("none");
            let length = client.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            // A disconnected client is not a failure of the backend.
            let _ = stream.write_all((head + client).as_bytes());
        }
    });
    address
}

/// Lists in one or two fields, the same in each run.
fn lists() -> Vec<Vec<String>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut list = || {
        let length = next(5);
        let elements: Vec<&str> = (0..length).map(|_| ELEMENTS[next(ELEMENTS.len())]).collect();
        elements.join(if next(2) == 0 { ", " } else { "," })
    };
    let fields = (0..2 * LISTS).map(|number| (0..=number % 2).map(|_| list()).collect());
    let is_alike = |fields: &Vec<String>| {
        let last = fields.last().map_or("", String::as_str);
        let is_empty = last.chars().all(|character| character == ',' || character == ' ');
        !is_empty && !fields.iter().any(|field| field.starts_with(','))
    };
    fields.filter(is_alike).take(LISTS).collect()
}

/// The body of the answer to a request with these fields.
fn ask(mut stream: impl Read + Write, fields: &[String]) -> String {
    let fields: String = fields.iter().map(|it| format!("X-Forwarded-For: {it}\r\n")).collect();
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer.split("\r\n\r\n").nth(1).unwrap_or(&answer).to_owned()
}

#[test]
#[ignore = "needs nginx; `cargo xtask test` runs it"]
fn the_client_behind_proxies_is_that_of_nginx() {
    let folder = Folder::new();
    let path = folder.path("nginx");
    std::fs::create_dir_all(&path).expect("a folder");
    let trusted = ["10.0.0.0/8", "2001:db8:1::/48"];
    let from: String = trusted.iter().map(|it| format!("set_real_ip_from {it};")).collect();
    let server = format!(
        "set_real_ip_from unix:; {from} real_ip_header X-Forwarded-For; real_ip_recursive on;\n\
         location / {{ return 200 $remote_addr; }}"
    );
    let nginx = Nginx::new(&path, "access_log off;", &server);
    let config = crate::gateway::config(backend());
    let trust = format!("trusted_networks = [\"127.0.0.1\", \"{}\"]\n", trusted.join("\", \""));
    let config = folder.file("gateway.toml", format!("{trust}{config}").as_bytes());
    let mut command = weir(["gateway", "--no-open", "--listen", "127.0.0.1:0", text(&config)]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut served = Served(command.spawn().expect("it starts"));
    let gateway = address(&mut served);
    let (mut behind_proxies, mut wrong) = (0, Vec::new());
    for fields in lists() {
        let own = ask(TcpStream::connect(gateway).expect("it accepts"), &fields);
        let other = ask(nginx.connect(), &fields);
        // If no element is a client, each names its peer: 127.0.0.1 or a Unix socket.
        let is_same = own == other || (own == "127.0.0.1" && other == "unix:");
        behind_proxies += usize::from(own != "127.0.0.1");
        if !is_same {
            wrong.push(format!("{fields:?}: {own}, but nginx: {other}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(behind_proxies > LISTS / 4, "{behind_proxies} lists named a client");
}
