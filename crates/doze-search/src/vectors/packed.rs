//! Vectors in eight bits as bytes, for what is kept of raw history: a quarter of the room, and the same order of hits.

use super::dot::Quantised;

/// Bytes of a vector beside its components: the scale, little endian.
const HEAD: usize = 4;

/// Vectors one after another, each its scale (f32, little endian) and a byte for every component.
pub fn pack(vectors: &[Vec<f32>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(vectors.iter().map(|vector| HEAD + vector.len()).sum());
    for vector in vectors {
        let quantised = Quantised::new(vector);
        bytes.extend_from_slice(&quantised.scale.to_le_bytes());
        bytes.extend(quantised.bytes.iter().map(|byte| byte.cast_unsigned()));
    }
    bytes
}

/// Reads what [`pack`] wrote of vectors of length `dim`; `None` when the bytes do not come out even.
pub fn unpack(bytes: &[u8], dim: usize) -> Option<Vec<Vec<f32>>> {
    if dim == 0 || !bytes.len().is_multiple_of(HEAD + dim) {
        return None;
    }
    let vector = |bytes: &[u8]| {
        let (scale, components) = bytes.split_first_chunk::<HEAD>()?;
        let scale = f32::from_le_bytes(*scale);
        Some(components.iter().map(|byte| f32::from(byte.cast_signed()) * scale).collect())
    };
    bytes.chunks_exact(HEAD + dim).map(vector).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_back_within_half_a_step(
            vectors in proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, 8), 0..4)
        ) {
            let back = unpack(&pack(&vectors), 8).expect("even");
            prop_assert_eq!(back.len(), vectors.len());
            for (a, b) in vectors.iter().zip(&back) {
                let step = a.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
                prop_assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() <= step * 0.51));
            }
            // Packed again nothing is lost any more.
            prop_assert_eq!(pack(&back), pack(&unpack(&pack(&back), 8).expect("even")));
        }

        #[test]
        fn other_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64), dim in 0_usize..20) {
            let even = dim > 0 && bytes.len().is_multiple_of(4 + dim);
            prop_assert_eq!(unpack(&bytes, dim).is_some(), even);
        }
    }
}
