//! Long texts are embedded in pieces: recall falls when one vector has to stand for too much.

use unicode_segmentation::UnicodeSegmentation;

/// A chunk has at most so many characters.
pub const MAX_CHUNK_CHARS: usize = 900;
/// A text gives at most so many chunks; what comes after is found by its words.
const MAX_CHUNKS: usize = 64;

/// The pieces of a document, each at most 900 characters: cut between paragraphs where that fits, else between
/// sentences, else between words, else between characters. The title stands in front of the first. A document
/// without words gives none; one text gives at most 64.
pub fn chunks(title: &str, body: &str) -> Vec<String> {
    let mut chunks = Vec::new();
    // The title may fill half a chunk at most, so that text follows it.
    let mut open: String = title.trim().chars().take(MAX_CHUNK_CHARS / 2).collect();
    let mut length = open.chars().count();
    for (separator, piece) in pieces(body) {
        let piece_length = piece.chars().count();
        if !open.is_empty() && length + 1 + piece_length > MAX_CHUNK_CHARS {
            chunks.push(std::mem::take(&mut open));
            length = 0;
            if chunks.len() == MAX_CHUNKS {
                return chunks;
            }
        }
        if !open.is_empty() {
            open.push(separator);
            length += 1;
        }
        open.push_str(piece);
        length += piece_length;
    }
    if !open.is_empty() {
        chunks.push(open);
    }
    chunks
}

/// The paragraphs of a text; of a long paragraph the sentences, of a long sentence the words, of a long word pieces.
/// Each comes with the character that stood before it, roughly.
fn pieces(body: &str) -> impl Iterator<Item = (char, &str)> {
    body.split("\n\n").flat_map(|paragraph| {
        let parts = split(paragraph.trim(), |text| Box::new(text.split_sentence_bounds()));
        let parts =
            parts.flat_map(|sentence| split(sentence.trim(), |text| Box::new(text.split_whitespace())));
        let parts = parts.flat_map(|word| split(word, |text| Box::new(bites(text))));
        parts
            .filter(|part| !part.is_empty())
            .enumerate()
            .map(|(n, part)| (if n == 0 { '\n' } else { ' ' }, part))
    })
}

/// A boxed walk over the parts of a text.
type Parts<'a> = Box<dyn Iterator<Item = &'a str> + 'a>;

/// The text itself when it fits into a chunk, else its parts.
fn split<'a>(text: &'a str, parts: impl Fn(&'a str) -> Parts<'a>) -> Parts<'a> {
    if fits(text) { Box::new(std::iter::once(text)) } else { parts(text) }
}

fn fits(text: &str) -> bool {
    text.len() <= MAX_CHUNK_CHARS || text.chars().nth(MAX_CHUNK_CHARS).is_none()
}

/// Stretches of at most 900 characters.
fn bites(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = text.char_indices().nth(MAX_CHUNK_CHARS).map_or(text.len(), |(at, _)| at);
        let (bite, rest) = text.split_at(end);
        text = rest;
        (!bite.is_empty()).then_some(bite)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_documents_are_one_chunk_with_their_title() {
        assert_eq!(chunks("Title", "Body."), ["Title\nBody."]);
        assert_eq!(chunks("", "Body."), ["Body."]);
        assert_eq!(chunks("Title", " \n\n "), ["Title"]);
        assert_eq!(chunks(" ", "\n"), Vec::<String>::new());
    }

    #[test]
    fn cuts_fall_between_paragraphs_then_sentences_then_words_then_characters() {
        let paragraph = "word ".repeat(100);
        let cut = chunks("T", &format!("{paragraph}\n\n{paragraph}"));
        assert_eq!(cut.len(), 2);
        assert!(cut[0].starts_with("T\nword") && cut[1].starts_with("word"));

        let sentence = format!("Begin {}end. ", "x ".repeat(150));
        let cut = chunks("", &sentence.repeat(5));
        assert!(cut.iter().all(|chunk| chunk.starts_with("Begin") && chunk.ends_with("end.")), "{cut:?}");

        let cut = chunks("", &"abcdefghi ".repeat(200));
        assert!(cut.iter().all(|chunk| chunk.split(' ').all(|word| word == "abcdefghi")), "{cut:?}");

        let cut = chunks("", &"漢".repeat(2_000));
        assert_eq!(cut.iter().map(|chunk| chunk.chars().count()).collect::<Vec<_>>(), [900, 900, 200]);
    }

    #[test]
    fn the_number_of_chunks_is_bounded() {
        assert_eq!(chunks("", &"y".repeat(1_000_000)).len(), MAX_CHUNKS);
    }

    proptest! {
        #[test]
        fn every_chunk_fits_and_no_word_is_lost(
            title in "\\PC{0,30}",
            body in prop::collection::vec("[a-z]{1,12}|[.!?]|\n\n| |漢字", 0..600),
        ) {
            let body: String = body.join(" ");
            let cut = chunks(&title, &body);
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert!(cut.iter().all(|chunk| chunk.chars().count() <= MAX_CHUNK_CHARS && !chunk.is_empty()));
            prop_assert_eq!(plain(&cut.concat()), plain(&format!("{title} {body}")));
        }
    }
}
