//! How often a program is interrupted.

/// Samples for each second of processor time.
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
    /// The highest rate; the kernel's own clock is seldom faster.
    pub const HZ_MAX: u32 = 999;

    /// A rate from 1 to [`HZ_MAX`](Self::HZ_MAX).
    pub fn new(hz: u32) -> Option<Self> {
        (1..=Self::HZ_MAX).contains(&hz).then_some(Self(hz))
    }

    /// Samples for each second.
    pub fn hz(self) -> u32 {
        self.0
    }
}

impl Default for SampleRate {
    /// 99, which costs little, and does not keep step with what happens a hundred times a second.
    fn default() -> Self {
        Self(99)
    }
}
