//! The structural index of a block, found with vector instructions if the processor has them.
//!
//! The only `unsafe` is the call of a function that is compiled for AVX2. It must not run on
//! another processor, so the call follows a run-time test. The functions themselves are safe
//! code. The module above has the same scan without vector instructions, which other
//! architectures use, and a test compares the two.
//!
//! A chunk of 64 bytes is two registers of 32. One comparison of a register with a byte sets each
//! matching lane to ones, and `movemask` collects the highest bit of each lane: two instructions
//! for each half and byte. BMI1 makes the loops over set bits short (`tzcnt`, `blsr`), POPCNT
//! counts them.

use super::StructuralIndex;

/// Does what [`StructuralIndex::scan`] does, and returns true. Returns false and does nothing if
/// the processor lacks the instructions.
pub(super) fn scan(index: &mut StructuralIndex, bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has all features that the function is compiled for.
        #[expect(unsafe_code, reason = "calls code for a detected processor feature")]
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

    /// Bit `n` of a mask is set if byte `n` of the chunk is the byte, as in `plain_masks`.
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

    /// Compiles to one load instruction.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (eights, _) = bytes.as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| i64::from_le_bytes(eights[index]));
        _mm256_set_epi64x(d, c, b, a)
    }
}
