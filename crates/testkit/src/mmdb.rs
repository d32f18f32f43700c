//! Writes MaxMind DB files.
//!
//! Follows "MaxMind DB File Format Specification", version 2.0. Everything is written once for each
//! network, without pointers.

use std::net::IpAddr;

/// The bytes between the search tree and the data.
const SEPARATOR: [u8; 16] = [0; 16];

/// Data of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MmdbData {
    /// A text.
    Text(String),
    /// An unsigned number of 32 bits.
    Number(u32),
    /// Data by name.
    Map(Vec<(String, MmdbData)>),
}

impl MmdbData {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Data at the end of a path of names.
    pub fn at(path: &[&str], data: Self) -> Self {
        path.iter().rev().fold(data, |data, name| Self::Map(vec![((*name).to_owned(), data)]))
    }

    /// A map of the members of several maps.
    pub fn merged(maps: impl IntoIterator<Item = Self>) -> Self {
        let members = |data| match data {
            Self::Map(members) => members,
            _ => panic!("this is no map"),
        };
        Self::Map(maps.into_iter().flat_map(members).collect())
    }
}

/// A file to be written.
#[derive(Debug, Clone)]
pub struct MmdbFile {
    /// The publisher's name for the data.
    pub database_type: String,
    /// The publisher's sentence in English.
    pub description: Option<String>,
    /// In seconds since 1970.
    pub build_epoch: u64,
    /// Whether addresses of IPv6 have a place.
    pub has_v6: bool,
    /// 24, 28 or 32.
    pub record_bits: u16,
    /// Networks with the lengths of their prefixes. A longer prefix goes before a shorter one.
    pub networks: Vec<(IpAddr, u8, MmdbData)>,
}

impl Default for MmdbFile {
    fn default() -> Self {
        Self {
            database_type: "Test".to_owned(),
            description: None,
            build_epoch: 1_790_000_000,
            has_v6: true,
            record_bits: 24,
            networks: Vec::new(),
        }
    }
}

impl MmdbFile {
    /// The file with these networks, written as `192.0.2.0/24`.
    pub fn with<'a>(mut self, networks: impl IntoIterator<Item = (&'a str, MmdbData)>) -> Self {
        for (network, data) in networks {
            let (address, bits) = network.split_once('/').expect("a network has a prefix");
            let (address, bits) = (address.parse(), bits.parse());
            self.networks.push((address.expect("an address"), bits.expect("a length"), data));
        }
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut tree = Tree { nodes: vec![[Child::None; 2]] };
        let mut data = Vec::new();
        let mut networks: Vec<_> = self.networks.iter().collect();
        networks.sort_by_key(|(address, bits, _)| self.bits(*address, *bits).len());
        for (address, bits, value) in networks {
            tree.insert(&self.bits(*address, *bits), Child::Data(data.len()));
            push_data(&mut data, value);
        }
        let mut file = tree.bytes(self.record_bits);
        file.extend(SEPARATOR);
        file.extend(data);
        file.extend(b"\xab\xcd\xefMaxMind.com");
        self.push_metadata(&mut file, tree.nodes.len());
        file
    }

    /// The bits of a network in the tree.
    fn bits(&self, address: IpAddr, bits: u8) -> Vec<usize> {
        let (value, unused, first) = match (address, self.has_v6) {
            (IpAddr::V4(address), true) => (u128::from(address.to_bits()), 0, 96),
            (IpAddr::V4(address), false) => (u128::from(address.to_bits()), 96, 0),
            (IpAddr::V6(address), true) => (address.to_bits(), 0, 0),
            (IpAddr::V6(_), false) => panic!("the file has no addresses of IPv6"),
        };
        let all = (unused..128).map(|place| (value >> (127 - place) & 1) as usize);
        all.take(first + usize::from(bits)).collect()
    }

    fn push_metadata(&self, file: &mut Vec<u8>, nodes: usize) {
        let number = |number: u64| {
            let bytes = number.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            bytes[zeros..].to_vec()
        };
        push_control(file, Type::Map, 9);
        for (name, kind, value) in [
            ("node_count", Type::U32, number(nodes as u64)),
            ("record_size", Type::U16, number(u64::from(self.record_bits))),
            ("ip_version", Type::U16, number(if self.has_v6 { 6 } else { 4 })),
            ("database_type", Type::Text, self.database_type.clone().into_bytes()),
            ("languages", Type::Array, Vec::new()),
            ("binary_format_major_version", Type::U16, number(2)),
            ("binary_format_minor_version", Type::U16, Vec::new()),
            ("build_epoch", Type::U64, number(self.build_epoch)),
        ] {
            push_text(file, name);
            push_control(file, kind, value.len());
            file.extend(value);
        }
        push_text(file, "description");
        push_control(file, Type::Map, usize::from(self.description.is_some()));
        if let Some(description) = &self.description {
            push_text(file, "en");
            push_text(file, description);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Child {
    None,
    Node(usize),
    /// The offset of the data.
    Data(usize),
}

struct Tree {
    nodes: Vec<[Child; 2]>,
}

impl Tree {
    fn insert(&mut self, bits: &[usize], data: Child) {
        let (last, path) = bits.split_last().expect("a prefix has a bit");
        let mut node = 0;
        for bit in path {
            node = match self.nodes[node][*bit] {
                Child::Node(next) => next,
                // What was known of the whole is known of both halves.
                other => {
                    self.nodes.push([other; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[node][*bit] = Child::Node(next);
                    next
                }
            };
        }
        self.nodes[node][*last] = data;
    }

    fn bytes(&self, record_bits: u16) -> Vec<u8> {
        let record = |child: Child| match child {
            Child::None => self.nodes.len(),
            Child::Node(node) => node,
            Child::Data(offset) => self.nodes.len() + SEPARATOR.len() + offset,
        };
        let mut bytes = Vec::new();
        for [left, right] in &self.nodes {
            let (left, right) = (record(*left) as u32, record(*right) as u32);
            match record_bits {
                24 => bytes.extend([&left.to_be_bytes()[1..], &right.to_be_bytes()[1..]].concat()),
                28 => {
                    bytes.extend(&left.to_be_bytes()[1..]);
                    bytes.push(((left >> 24) << 4 | right >> 24) as u8);
                    bytes.extend(&right.to_be_bytes()[1..]);
                }
                32 => bytes.extend([left.to_be_bytes(), right.to_be_bytes()].concat()),
                bits => panic!("no file has records of {bits} bits"),
            }
        }
        bytes
    }
}

/// The types of data, by their numbers.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text = 2,
    U16 = 5,
    U32 = 6,
    Map = 7,
    U64 = 9,
    Array = 11,
}

fn push_data(file: &mut Vec<u8>, data: &MmdbData) {
    match data {
        MmdbData::Text(text) => push_text(file, text),
        MmdbData::Number(number) => {
            push_control(file, Type::U32, 4);
            file.extend(number.to_be_bytes());
        }
        MmdbData::Map(members) => {
            push_control(file, Type::Map, members.len());
            for (name, data) in members {
                push_text(file, name);
                push_data(file, data);
            }
        }
    }
}

fn push_text(file: &mut Vec<u8>, text: &str) {
    push_control(file, Type::Text, text.len());
    file.extend(text.as_bytes());
}

/// The byte of type and size, and what follows of both.
fn push_control(file: &mut Vec<u8>, kind: Type, size: usize) {
    let (in_byte, more) = match size {
        0..29 => (size as u8, Vec::new()),
        29..285 => (29, vec![(size - 29) as u8]),
        285..65_821 => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
        _ => panic!("{size} is more than a test needs"),
    };
    match kind as u8 {
        extended @ 8.. => file.extend([in_byte, extended - 7]),
        number => file.push(number << 5 | in_byte),
    }
    file.extend(more);
}
