//! The envelope round every stored value: record version (one byte), CRC-32 of the payload (little endian), payload.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::stored::Keep;

/// The version this build writes. A value with a higher one was written by a newer doze and is not read.
pub(crate) const RECORD_VERSION: u8 = 1;
const HEADER: usize = 5;

/// Why a stored value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    /// Shorter than an envelope.
    #[error("the value is cut short")]
    Short,
    /// The payload is not what was written.
    #[error("the checksum does not match")]
    Checksum,
    /// Written by a newer version.
    #[error("the value has version {0}, newer than this program knows")]
    Version(u8),
    /// The payload is intact, but not a record of this kind.
    #[error("the value is not a record: {0}")]
    Shape(String),
    /// The record says it belongs under another key.
    #[error("the value lies under a key that is not its own")]
    Misplaced,
    /// redb could not read the page the value lies on.
    #[error("the page cannot be read: {0}")]
    Page(String),
}

/// Puts a payload into its envelope.
pub(crate) fn seal(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + payload.len());
    out.push(RECORD_VERSION);
    out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    out.extend_from_slice(payload);
    out
}

/// Serialises a value straight into its envelope.
pub(crate) fn seal_json<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = vec![0; HEADER];
    serde_json::to_writer(&mut out, value)?;
    out[0] = RECORD_VERSION;
    let sum = crc32fast::hash(&out[HEADER..]);
    out[1..HEADER].copy_from_slice(&sum.to_le_bytes());
    Ok(out)
}

/// Seals a record in its stored form.
pub(crate) fn seal_record<T: Keep>(record: T) -> Result<Vec<u8>, serde_json::Error> {
    seal_json(&record.keep())
}

/// Takes the payload out, if it is whole.
pub(crate) fn unseal(value: &[u8]) -> Result<&[u8], Damage> {
    let Some((&[version, a, b, c, d], payload)) = value.split_first_chunk::<HEADER>() else {
        return Err(Damage::Short);
    };
    if crc32fast::hash(payload) != u32::from_le_bytes([a, b, c, d]) {
        return Err(Damage::Checksum);
    }
    if version > RECORD_VERSION {
        return Err(Damage::Version(version));
    }
    Ok(payload)
}

/// Reads a JSON payload.
pub(crate) fn unseal_json<T: DeserializeOwned>(value: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(unseal(value)?).map_err(|error| Damage::Shape(error.to_string()))
}

/// Reads a record back from its stored form.
pub(crate) fn unseal_record<T: Keep>(value: &[u8]) -> Result<T, Damage> {
    unseal_json::<T::Kept>(value).map(T::back)
}

/// Vectors as they are kept: dimension (u32), then every component, all little endian.
pub(crate) fn seal_vectors(vectors: &[Vec<f32>]) -> Vec<u8> {
    let dim = vectors.first().map_or(0, Vec::len);
    let mut payload = Vec::with_capacity(4 + vectors.len() * dim * 4);
    payload.extend_from_slice(&(dim as u32).to_le_bytes());
    for component in vectors.iter().flatten() {
        payload.extend_from_slice(&component.to_le_bytes());
    }
    seal(&payload)
}

/// Reads what [`seal_vectors`] wrote, all components in one row, with the dimension.
pub(crate) fn unseal_vectors(value: &[u8]) -> Result<(usize, Vec<f32>), Damage> {
    let (dim, body) = unseal(value)?.split_first_chunk::<4>().ok_or(Damage::Short)?;
    let dim = u32::from_le_bytes(*dim) as usize;
    let (parts, rest) = body.as_chunks::<4>();
    if dim == 0 || !rest.is_empty() || parts.len() % dim != 0 {
        return Err(Damage::Shape("the vectors do not fit their dimension".into()));
    }
    Ok((dim, parts.iter().map(|part| f32::from_le_bytes(*part)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_noticed() {
        let sealed = seal(b"what was said");
        assert_eq!(unseal(&sealed), Ok(b"what was said".as_slice()));
        for at in 1..sealed.len() {
            for bit in 0..8 {
                let mut bad = sealed.clone();
                bad[at] ^= 1 << bit;
                assert_eq!(unseal(&bad), Err(Damage::Checksum), "byte {at} bit {bit}");
            }
        }
        for cut in 0..HEADER {
            assert_eq!(unseal(&sealed[..cut]), Err(Damage::Short));
        }
    }

    #[test]
    fn a_newer_record_is_told_from_a_damaged_one() {
        let mut sealed = seal(b"{}");
        sealed[0] = RECORD_VERSION + 1;
        assert_eq!(unseal(&sealed), Err(Damage::Version(RECORD_VERSION + 1)));
    }

    #[test]
    fn vectors_that_do_not_fit_are_refused() {
        let vectors = vec![vec![1.0f32, -2.5], vec![0.0, f32::MIN_POSITIVE]];
        let sealed = seal_vectors(&vectors);
        assert_eq!(unseal_vectors(&sealed), Ok((2, vec![1.0, -2.5, 0.0, f32::MIN_POSITIVE])));
        assert!(matches!(unseal_vectors(&seal(&[2, 0, 0, 0, 1, 2, 3, 4])), Err(Damage::Shape(_))));
        assert!(matches!(unseal_vectors(&seal(&[0, 0, 0, 0])), Err(Damage::Shape(_))));
        assert_eq!(unseal_vectors(&seal(&[1, 0])), Err(Damage::Short));
    }
}
