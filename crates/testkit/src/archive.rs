//! Archives as test input.

/// The size of tar's records; this many zeros end an archive.
const RECORD_BYTES: usize = 10_240;
const BLOCK_BYTES: usize = 512;

/// A tar archive of files, each with a name of at most 100 bytes and its content. The headers
/// follow POSIX.1-2017 (pax, "ustar Interchange Format").
pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        let mut header = [0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    archive.resize(archive.len() + RECORD_BYTES, 0);
    archive
}
