//! Prints the speed of the generator in GB/s on one core.
//!
//! `cargo run --release -p weir-demo --example speed [SHAPE]`

use std::time::Instant;

use weir_demo::{Shape, Traffic, TrafficOptions};

const BYTES: u64 = 1 << 30;
const FILL_BYTES: usize = 1 << 20;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "combined".to_owned());
    let Some(shape) = Shape::parse(&name) else {
        eprintln!("`{name}` is not a valid shape; choose one of {:?}", Shape::ALL.map(Shape::name));
        std::process::exit(2);
    };
    let before = Instant::now();
    let mut traffic =
        Traffic::new(TrafficOptions { bytes: Some(BYTES), shape, ..TrafficOptions::default() });
    println!("built in {:.1} ms", before.elapsed().as_secs_f64() * 1e3);
    for round in 1..=3 {
        let mut buffer = Vec::with_capacity(FILL_BYTES * 2);
        let before = Instant::now();
        let mut fills = 0;
        while traffic.fill(&mut buffer, FILL_BYTES) > 0 {
            fills += 1;
            buffer.clear();
        }
        let seconds = before.elapsed().as_secs_f64();
        let bytes = traffic.bytes_written();
        println!(
            "round {round}: {bytes} bytes in {fills} fills, {seconds:.3} s, {:.2} GB/s",
            bytes as f64 / seconds / 1e9
        );
        traffic =
            Traffic::new(TrafficOptions { bytes: Some(BYTES), shape, ..TrafficOptions::default() });
    }
}
