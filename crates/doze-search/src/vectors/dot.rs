//! Vectors in eight bits, and the product that everything rests on.

/// Components of an eight-bit vector go from −127 to 127; −128 is left out, so that the sign can be turned.
const MAX: f32 = 127.0;

/// A vector in eight bits: `component ≈ byte × scale`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantised {
    pub(super) bytes: Vec<i8>,
    pub(super) scale: f32,
}

impl Quantised {
    /// Scales the vector so that its largest component is 127. The components must be finite; zeros stay zeros.
    pub(super) fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        let scale = if largest > 0.0 { largest / MAX } else { 1.0 };
        let bytes = vector.iter().map(|x| (x / scale).round().clamp(-MAX, MAX) as i8).collect();
        Self { bytes, scale }
    }
}

/// The product of two vectors of the same length.
pub(super) fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// How eight-bit products are computed on this machine; chosen once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel {
    avx2: bool,
}

impl Kernel {
    /// The fastest kernel this processor has.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        let avx2 = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = false;
        Self { avx2 }
    }

    /// The sum of the products of two vectors of bytes from −127 to 127; what is longer than the other is left out.
    #[inline]
    pub(super) fn dot(self, a: &[i8], b: &[i8]) -> i32 {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: `avx2` is only true when the processor said that it has AVX2, the one condition of `dot_avx2`.
            return unsafe { dot_avx2(a, b) };
        }
        debug_assert!(!self.avx2);
        dot_scalar(a, b)
    }
}

fn dot_scalar(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
}

/// 32 products at a time: |a| × (b with the sign of a), pairs added in 16 bits (at most 2 × 127 × 127 = 32,258, so no
/// pair saturates), fours in 32.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[i8], b: &[i8]) -> i32 {
    use std::arch::x86_64::{
        __m256i, _mm256_abs_epi8, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8, _mm256_storeu_si256,
    };
    const LANES: usize = 32;
    let length = a.len().min(b.len());
    let whole = length - length % LANES;
    let ones = _mm256_set1_epi16(1);
    let mut sums = _mm256_setzero_si256();
    for at in (0..whole).step_by(LANES) {
        // SAFETY: `at + LANES <= whole`, which is at most the length of either slice, so 32 bytes can be read from both
        // places; the unaligned load asks for no alignment.
        let (x, y) = unsafe {
            (
                _mm256_loadu_si256(a.as_ptr().add(at).cast::<__m256i>()),
                _mm256_loadu_si256(b.as_ptr().add(at).cast::<__m256i>()),
            )
        };
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, ones));
    }
    let mut lanes = [0i32; 8];
    // SAFETY: `lanes` is 32 bytes long, exactly what the unaligned store writes.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast::<__m256i>(), sums) };
    lanes.iter().sum::<i32>() + dot_scalar(&a[whole..length], &b[whole..length])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_extremes_do_not_saturate() {
        for value in [-127i8, 127] {
            let a = vec![value; 384];
            assert_eq!(Kernel::detect().dot(&a, &a), 384 * 127 * 127);
            assert_eq!(Kernel::detect().dot(&a, &vec![-value; 384]), -384 * 127 * 127);
        }
    }

    #[test]
    fn zero_vectors_stay_zero() {
        assert_eq!(Quantised::new(&[0.0, 0.0]), Quantised { bytes: vec![0, 0], scale: 1.0 });
    }

    proptest! {
        #[test]
        fn every_kernel_gives_the_same(pairs in prop::collection::vec((-127i8..=127, -127i8..=127), 0..500)) {
            let (a, b): (Vec<i8>, Vec<i8>) = pairs.into_iter().unzip();
            prop_assert_eq!(Kernel::detect().dot(&a, &b), dot_scalar(&a, &b));
        }

        #[test]
        fn quantising_is_off_by_half_a_step_at_most(vector in prop::collection::vec(-1.0f32..1.0, 1..100)) {
            let quantised = Quantised::new(&vector);
            for (x, &byte) in vector.iter().zip(&quantised.bytes) {
                prop_assert!((x - f32::from(byte) * quantised.scale).abs() <= quantised.scale * 0.5001);
            }
        }
    }
}
