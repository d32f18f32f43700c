//! The inputs of `fuzz/corpus` and beginnings of each: a defect that was found once stays fixed.

use std::fs;
use std::path::Path;

use weir_fuzz::TARGETS;

/// The number of beginnings of an input that are run: more take longer and find nothing new.
const BEGINNINGS: usize = 40;

#[test]
fn every_input_of_the_corpus_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let folder = fs::read_dir(corpus.join(name)).expect("each target has a folder");
        let mut inputs = 0;
        for entry in folder {
            let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
            target(&bytes);
            for part in 0..BEGINNINGS {
                target(&bytes[..bytes.len() * part / BEGINNINGS]);
            }
            inputs += 1;
        }
        assert!(inputs > 0, "{name} has no input");
    }
}
