//! A small random number generator with a seed.

/// xoshiro256++ of David Blackman and Sebastiano Vigna (2019), seeded with SplitMix64 of
/// Sebastiano Vigna (2015), both published in the public domain at <https://prng.di.unimi.it>.
///
/// It uses integer operations only, so a seed produces the same numbers on every platform.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut state)) }
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from 0 to `end - 1`, by Lemire's multiplication on 32 bits. The bias is
    /// below `end / 2^32`, which is negligible here.
    #[inline]
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        scale((self.bits() >> 32) as u32, end)
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.below(last - first + 1)
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u32) as usize]
    }
}

/// Maps 32 random bits to 0..end.
#[inline]
pub(crate) fn scale(bits: u32, end: u32) -> u32 {
    ((u64::from(bits) * u64::from(end)) >> 32) as u32
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_returns_the_published_numbers() {
        let mut state = 1_234_567;
        let numbers: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn xoshiro_returns_the_published_numbers() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let numbers: Vec<u64> = (0..4).map(|_| rng.bits()).collect();
        assert_eq!(numbers, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut rng = Rng::new(1);
        assert!((0..10_000).all(|_| (3..=5).contains(&rng.between(3, 5))));
        assert_eq!(rng.below(1), 0);
    }
}
