//! The matrix as a picture: a column for each size, a bar for each server.

use std::fmt::Write;

use super::matrix::Cell;
use super::servers::Socket;
use super::{KILOBYTES, KINDS};
use crate::statistics;

/// The servers with the colours of their bars, which can be told apart on white and on black.
const COLOURS: [(&str, &str); 5] = [
    ("weir", "#2f7ed8"),
    ("hyper", "#8a8f98"),
    ("nginx", "#3a9d5d"),
    ("h2o", "#c9882a"),
    ("puma", "#c2554f"),
];

const LABELS_WIDTH: usize = 120;
const COLUMN_WIDTH: usize = 260;
/// The room right of a bar for its number.
const NUMBER_WIDTH: usize = 60;
const BAR_HEIGHT: usize = 9;
const GROUP_GAP: usize = 9;
const TOP: usize = 64;

/// Draws the rates of all cells as SVG. Bars for the same size of body share a scale.
pub(super) fn picture(cells: &[Cell]) -> String {
    let groups: Vec<(&str, Socket)> =
        KINDS.iter().flat_map(|kind| Socket::ALL.map(|socket| (*kind, socket))).collect();
    let tops = group_tops(cells, &groups);
    let height = tops.last().copied().unwrap_or(TOP);
    let width = LABELS_WIDTH + KILOBYTES.len() * COLUMN_WIDTH;
    let mut svg = head(width, height);
    push_legend(&mut svg);
    for ((kind, socket), top) in groups.iter().zip(&tops) {
        let y = top + BAR_HEIGHT;
        let _ = writeln!(svg, "<text x=\"8\" y=\"{y}\">{kind}, {}</text>", socket.name());
    }
    for (column, kilobytes) in KILOBYTES.iter().enumerate() {
        let x = LABELS_WIDTH + column * COLUMN_WIDTH;
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" class=\"size\">{kilobytes} kB</text>",
            TOP - 12
        );
        let of_size = || cells.iter().filter(|cell| cell.kilobytes == *kilobytes);
        let most = of_size().map(rate).fold(1.0, f64::max);
        for ((kind, socket), top) in groups.iter().zip(&tops) {
            let group = of_size().filter(|cell| cell.kind == *kind && cell.socket == *socket);
            for (index, cell) in group.enumerate() {
                push_bar(&mut svg, cell, (x, top + index * BAR_HEIGHT), most);
            }
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The requests a second of a cell.
fn rate(cell: &Cell) -> f64 {
    statistics::median(&cell.rates).unwrap_or(0.0)
}

/// The top of each group, and the bottom of the last one. A group has a bar for each of its
/// servers.
fn group_tops(cells: &[Cell], groups: &[(&str, Socket)]) -> Vec<usize> {
    let mut tops = vec![TOP];
    for (kind, socket) in groups {
        let bars = COLOURS.iter().filter(|(server, _)| {
            let is_same = |cell: &&Cell| cell.kind == *kind && cell.socket == *socket;
            cells.iter().filter(is_same).any(|cell| cell.server == *server)
        });
        tops.push(tops[tops.len() - 1] + bars.count() * BAR_HEIGHT + GROUP_GAP);
    }
    tops
}

fn head(width: usize, height: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n<style>text {{ fill: #333 }} .size {{ font-size: \
         13px; font-weight: bold }} @media (prefers-color-scheme: dark) {{ text {{ fill: #ddd }} \
         }}</style>\n<text x=\"8\" y=\"18\" class=\"size\">requests a second</text>\n"
    )
}

fn push_legend(svg: &mut String) {
    for (index, (server, colour)) in COLOURS.iter().enumerate() {
        let x = LABELS_WIDTH + 60 + index * 80;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"9\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" \
             y=\"18\">{server}</text>",
            x + 15
        );
    }
}

fn push_bar(svg: &mut String, cell: &Cell, (x, y): (usize, usize), most: f64) {
    let colour =
        COLOURS.iter().find(|(server, _)| *server == cell.server).map_or("#888", |it| it.1);
    let rate = rate(cell);
    let width = (rate / most * (COLUMN_WIDTH - NUMBER_WIDTH) as f64).max(1.0);
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/><text x=\"{:.1}\" \
         y=\"{}\" font-size=\"8\">{rate:.0}</text>",
        BAR_HEIGHT - 1,
        x as f64 + width + 3.0,
        y + BAR_HEIGHT - 2,
    );
}

#[cfg(test)]
mod tests {
    use super::super::servers::Socket;
    use super::{Cell, picture};
    use crate::load::Load;

    #[test]
    fn bars_are_as_long_as_their_rates() {
        let cell = |server, requests| {
            let mut cell = Cell::new("array", 10, Socket::Tcp, server);
            cell.add(&Load { requests, seconds: 1.0, latencies_us: vec![1.0; 5] }, 1.0);
            cell
        };
        let svg = picture(&[cell("weir", 1_000.0), cell("hyper", 500.0)]);
        assert!(svg.contains("width=\"200.0\" height=\"8\" fill=\"#2f7ed8\""), "{svg}");
        assert!(svg.contains("width=\"100.0\" height=\"8\" fill=\"#8a8f98\""), "{svg}");
    }
}
