//! Parquet's hybrid of run-length encoding and bit packing, for levels and dictionary indices.
//!
//! Source: the Parquet format, [Encodings, RLE / bit-packing
//! hybrid](https://parquet.apache.org/docs/file-format/data-pages/encodings/). A run is a header
//! and a value. Other values are packed in groups of eight, the first value in the lowest bits:
//!
//! ```text
//! run      varint(length << 1)         the value, in as many bytes as its bits take
//! groups   varint(groups << 1 | 1)     eight values for each group
//! ```

/// The number of values in a packed group.
const GROUP: usize = 8;

/// Adds values of at most `bits` bits each to a page. The number of values is not written, and the
/// last group may be padded.
pub(super) fn push_hybrid(values: &[u32], bits: u32, page: &mut Vec<u8>) {
    // `packed` is the start of the values that are not written yet. They will be packed.
    let (mut packed, mut at) = (0, 0);
    while let Some(value) = values.get(at) {
        let run = values[at..].iter().take_while(|other| *other == value).count();
        // Groups are whole, so values of the run complete the last group.
        let missing = (at - packed).next_multiple_of(GROUP) - (at - packed);
        if run >= missing + GROUP {
            push_groups(&values[packed..at + missing], bits, page);
            push_run(run - missing, *value, bits, page);
            packed = at + run;
        }
        at += run;
    }
    push_groups(&values[packed..], bits, page);
}

fn push_run(length: usize, value: u32, bits: u32, page: &mut Vec<u8>) {
    push_varint(length << 1, page);
    page.extend(value.to_le_bytes().iter().take(bits.div_ceil(8) as usize));
}

fn push_groups(values: &[u32], bits: u32, page: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    push_varint((values.len().div_ceil(GROUP) << 1) | 1, page);
    for group in values.chunks(GROUP) {
        // Holds eight values of at most 32 bits.
        let (mut buffer, mut filled) = (0u64, 0);
        for index in 0..GROUP {
            let value = group.get(index).copied().unwrap_or_default();
            buffer |= u64::from(value) << filled;
            filled += bits;
            while filled >= 8 {
                page.push(buffer as u8);
                buffer >>= 8;
                filled -= 8;
            }
        }
    }
}

fn push_varint(mut number: usize, page: &mut Vec<u8>) {
    while number >= 0x80 {
        page.push(number as u8 | 0x80);
        number >>= 7;
    }
    page.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::push_hybrid;

    #[test]
    fn the_example_of_the_format_is_reproduced() {
        let mut page = Vec::new();
        push_hybrid(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut page);
        assert_eq!(page, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn runs_complete_the_group_before_them() {
        let mut page = Vec::new();
        push_hybrid(&[[1, 0].as_slice(), &[1; 20]].concat(), 1, &mut page);
        // Six ones complete the group; fourteen are a run.
        assert_eq!(page, [0b11, 0b1111_1101, 14 << 1, 1]);
        page.clear();
        push_hybrid(&[300; 200], 9, &mut page);
        assert_eq!(page, [0x90, 0x03, 0x2C, 0x01]);
        page.clear();
        push_hybrid(&[0; 9], 0, &mut page);
        assert_eq!(page, [9 << 1]);
    }
}
