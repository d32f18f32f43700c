//! The structural index of a block, found with the vector instructions that the processor turns out to have.
//!
//! The only `unsafe` here is the call of a function that was compiled for a processor with
//! AVX2. What such a call must not do is happen on another processor; it stands behind the
//! test for that. The functions themselves are safe code. Their twin without vectors is in
//! the module above, and a test holds the two against each other. The benchmark
//! `lines::index` shows the gain.

use super::StructuralIndex;

/// As [`StructuralIndex::scan`]; false, and nothing done, where the processor lacks the instructions.
pub(super) fn scan(index: &mut StructuralIndex, bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has all that the function was compiled for.
        #[expect(unsafe_code, reason = "a call of code for a processor that was tested for")]
        unsafe {
            x86_64::scan(index, bytes);
        }
        return true;
    }
    let _ = (index, bytes);
    false
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8,
    };

    use crate::line::structural_index::{CHUNK, StructuralIndex};

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn scan(index: &mut StructuralIndex, bytes: &[u8]) {
        index.scan_with(bytes, |chunk, bytes| masks(chunk, bytes));
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn masks(chunk: &[u8; CHUNK], bytes: [u8; 2]) -> [u64; 2] {
        let (halves, _) = chunk.as_chunks::<32>();
        let [low, high] = [load(&halves[0]), load(&halves[1])];
        bytes.map(|byte| {
            let byte = _mm256_set1_epi8(byte as i8);
            let bits = |half| _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, byte)) as u32;
            u64::from(bits(low)) | u64::from(bits(high)) << 32
        })
    }

    /// One load, although it does not look like it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (eights, _) = bytes.as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| i64::from_le_bytes(eights[index]));
        _mm256_set_epi64x(d, c, b, a)
    }
}
