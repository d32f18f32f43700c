//! The rate of samples.

/// A number of samples per second: of processor time, or of wall-clock time in a profile of
/// waiting.
///
/// ```
/// use weir_profile::SampleRate;
///
/// assert_eq!(SampleRate::default().hz(), 99);
/// assert_eq!(SampleRate::new(999).map(SampleRate::hz), Some(999));
/// assert_eq!(SampleRate::new(0), None);
/// assert_eq!(SampleRate::new(1_000), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRate(u32);

impl SampleRate {
    /// The highest rate. The kernel's clock is rarely faster.
    pub const HZ_MAX: u32 = 999;

    /// Makes a rate; `None` unless it is from 1 to [`HZ_MAX`](Self::HZ_MAX).
    pub fn new(hz: u32) -> Option<Self> {
        (1..=Self::HZ_MAX).contains(&hz).then_some(Self(hz))
    }

    /// Returns the samples per second.
    pub fn hz(self) -> u32 {
        self.0
    }
}

impl Default for SampleRate {
    /// 99 Hz, which costs little and stays out of step with work that runs 100 times a second.
    fn default() -> Self {
        Self(99)
    }
}
