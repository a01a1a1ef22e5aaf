//! Finds which of many texts stand in another one, without regard to case; the cost stays flat as texts grow.
//!
//! At each place the first letters are looked up in a table of bits that fits the innermost cache, which settles nearly
//! all places. Where it does not, the next letters are compared with those of the texts that begin so, and then one
//! search in sorted order finds the longest text; those that are beginnings of it are linked to it. Against an automaton
//! this is faster, takes a tenth of the memory and is built in a fraction of the time, which counts since every tenant
//! with rules has a table.

/// Letters that texts are sorted into buckets by; shorter texts have a bucket of all of theirs.
const PREFIX: usize = 4;

/// Letters behind them that are compared at once.
const AHEAD: usize = 4;

/// Words of the table of bits: 16 KiB.
const N_WORDS: usize = 1 << 11;

/// Four bits for each beginning: a text that begins a word, a text that stands anywhere, and the same of texts that are no
/// longer than the beginning.
const BEGINS: u64 = 1;
const ANYWHERE: u64 = 2;
const WHOLE: u32 = 2;
const ALL: u64 = 0b1111;
const INSIDE: u64 = ANYWHERE | ANYWHERE << WHOLE;

const NONE: u32 = u32::MAX;

/// Texts to find, sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct Finder {
    /// By the first three letters, [`N_WORDS`] of them.
    first: Vec<u64>,
    texts: Vec<Text>,
    /// Of each text the letters behind the first four, as one number: in the order of the texts.
    orders: Vec<u64>,
    buckets: Vec<Bucket>,
    /// Open addressing over the buckets: their numbers plus one.
    table: Vec<u32>,
    /// Whether there are texts of as many letters; only one and two count.
    short: [bool; PREFIX],
}

#[derive(Debug, Clone)]
struct Text {
    lower: Box<[u8]>,
    id: u32,
    /// The longest other text that this one begins with, of the same bucket.
    shorter: u32,
}

/// The texts that begin with the same letters.
#[derive(Debug, Clone)]
struct Bucket {
    key: u64,
    from: u32,
    to: u32,
    /// Where those end that have no more letters: they come first.
    exact_to: u32,
    /// For each of the letters behind: which ones the longer texts have, by their last six bits; all if one ends before.
    ahead: [u64; AHEAD],
}

impl Finder {
    /// Of texts without capitals; `begins` tells that a text is wanted at the beginning of a word only.
    pub(super) fn new<'a>(texts: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let mut finder = Self { first: vec![0; N_WORDS], ..Self::default() };
        for ((text, begins), id) in texts.zip(0_u32..).filter(|((text, _), _)| !text.is_empty()) {
            let lower: Box<[u8]> = text.as_bytes().into();
            if let &[a, b, c, ..] = lower.as_ref() {
                let (word, shift) = slot(u32::from_be_bytes([a, b, c, 0]));
                if let Some(bits) = finder.first.get_mut(word) {
                    let whole = if lower.len() == 3 { WHOLE } else { 0 };
                    *bits |= (if begins { BEGINS } else { ANYWHERE }) << whole << shift;
                }
            }
            if let Some(it) = finder.short.get_mut(lower.len()) {
                *it = true;
            }
            finder.texts.push(Text { lower, id, shorter: NONE });
        }
        finder.texts.sort_by(|a, b| a.lower.cmp(&b.lower));
        finder.orders =
            finder.texts.iter().map(|it| order(it.lower.get(PREFIX..).unwrap_or_default())).collect();
        finder.link();
        finder
    }

    /// Makes the buckets and links each text to the longest one that it begins with.
    fn link(&mut self) {
        let mut stack: Vec<u32> = Vec::new();
        for at in 0..u32::try_from(self.texts.len()).unwrap_or(NONE) {
            let Some(text) = self.texts.get(at as usize) else { break };
            let key = key(&text.lower);
            if self.buckets.last().is_none_or(|it| it.key != key) {
                self.buckets.push(Bucket { key, from: at, to: at, exact_to: at, ahead: [0; AHEAD] });
                stack.clear();
            }
            if let Some(bucket) = self.buckets.last_mut() {
                bucket.to = at + 1;
                match text.lower.get(PREFIX..).filter(|it| !it.is_empty()) {
                    Some(ahead) => widen(&mut bucket.ahead, ahead),
                    None => bucket.exact_to = at + 1,
                }
            }
            let lower = &text.lower;
            while let Some(top) = stack.last().and_then(|it| self.texts.get(*it as usize))
                && !lower.starts_with(&top.lower)
            {
                stack.pop();
            }
            let shorter = stack.last().copied().unwrap_or(NONE);
            if let Some(text) = self.texts.get_mut(at as usize) {
                text.shorter = shorter;
            }
            stack.push(at);
        }
        let room = (self.buckets.len() * 2).next_power_of_two();
        self.table = vec![0; room];
        for (bucket, number) in self.buckets.iter().zip(1_u32..) {
            let mut place = place(bucket.key, room);
            while self.table.get(place).is_some_and(|it| *it != 0) {
                place = (place + 1) % room;
            }
            if let Some(it) = self.table.get_mut(place) {
                *it = number;
            }
        }
    }

    /// Calls `each` with the number of a text and where it begins and ends, for every place where one stands.
    pub(super) fn find(&self, text: &str, scratch: &mut Vec<u8>, mut each: impl FnMut(u32, usize, usize)) {
        scratch.clear();
        scratch.extend_from_slice(text.as_bytes());
        scratch.make_ascii_lowercase();
        let length = scratch.len();
        scratch.extend_from_slice(&[0; PREFIX]);
        let lower = scratch.get(..length).unwrap_or_default();
        let Ok(first) = <&[u64; N_WORDS]>::try_from(self.first.as_slice()) else { return };
        let [_, has_one, has_two, _] = self.short;
        let mut was_word = false;
        for (at, window) in scratch.windows(PREFIX).take(length).enumerate() {
            let Ok(&letters) = <&[u8; PREFIX]>::try_from(window) else { break };
            let whole = u32::from_be_bytes(letters);
            let [a, ..] = letters;
            let is_word = IS_WORD.get(usize::from(a)).is_some_and(|it| *it);
            let wanted = if was_word & is_word { INSIDE } else { ALL };
            was_word = is_word;
            let (word, shift) = slot(whole & !0xff);
            let begins = first.get(word).map_or(0, |it| it >> shift & wanted);
            if begins != 0 {
                if begins & (BEGINS | ANYWHERE) != 0 {
                    self.at(of_length(whole, PREFIX), lower, at, &mut each);
                }
                if begins >> WHOLE != 0 {
                    self.at(of_length(whole, 3), lower, at, &mut each);
                }
            }
            if has_two {
                self.at(of_length(whole, 2), lower, at, &mut each);
            }
            if has_one {
                self.at(of_length(whole, 1), lower, at, &mut each);
            }
        }
    }

    /// The texts with this beginning at this place.
    fn at(&self, key: u64, lower: &[u8], at: usize, each: &mut impl FnMut(u32, usize, usize)) {
        let Some(bucket) = self.bucket(key) else { return };
        for text in self.texts.get(bucket.from as usize..bucket.exact_to as usize).unwrap_or_default() {
            each(text.id, at, at + text.lower.len());
        }
        let rest = lower.get(at..).unwrap_or_default();
        let ahead = rest.get(PREFIX..).unwrap_or_default();
        for (k, mask) in bucket.ahead.iter().enumerate() {
            let letter = ahead.get(k).copied().unwrap_or_default();
            if mask >> (letter & 63) & 1 == 0 {
                return;
            }
        }
        // Every text that the rest begins with is no greater than the rest, and a beginning of the greatest such one.
        let longer = bucket.exact_to as usize..bucket.to as usize;
        let orders = self.orders.get(longer.clone()).unwrap_or_default();
        let wanted = order(ahead);
        let above = orders.partition_point(|it| *it <= wanted);
        let equal =
            orders.get(..above).unwrap_or_default().iter().rev().take_while(|it| **it == wanted).count();
        let texts = self.texts.get(longer).unwrap_or_default();
        let alike = texts.get(above - equal..above).unwrap_or_default();
        let no_greater = above - equal + alike.partition_point(|it| it.lower.as_ref() <= rest);
        let Some(last) = no_greater.checked_sub(1) else { return };
        let mut number = last + bucket.exact_to as usize;
        let common = match self.texts.get(number) {
            Some(text) => text.lower.iter().zip(rest).take_while(|(a, b)| a == b).count(),
            None => return,
        };
        while number >= bucket.exact_to as usize
            && let Some(text) = self.texts.get(number)
        {
            if text.lower.len() <= common {
                each(text.id, at, at + text.lower.len());
            }
            number = text.shorter as usize;
        }
    }

    fn bucket(&self, key: u64) -> Option<&Bucket> {
        let room = self.table.len();
        let mut place = place(key, room);
        loop {
            let number = self.table.get(place).copied().unwrap_or_default();
            let bucket = self.buckets.get(number.checked_sub(1)? as usize)?;
            if bucket.key == key {
                return Some(bucket);
            }
            place = (place + 1) % room.max(1);
        }
    }
}

/// The letters and digits, small ones only.
const IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
        {
            table[byte as usize] = byte.is_ascii_lowercase() || byte.is_ascii_digit();
        }
        byte += 1;
    }
    table
};

/// The first eight letters as one number that compares as they do; missing ones come before all others.
fn order(letters: &[u8]) -> u64 {
    match letters.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => {
            let mut padded = [0; 8];
            padded.iter_mut().zip(letters).for_each(|(letter, it)| *letter = *it);
            u64::from_be_bytes(padded)
        }
    }
}

/// The first letters and how many they are.
fn key(lower: &[u8]) -> u64 {
    let mut letters = [0; PREFIX];
    letters.iter_mut().zip(lower).for_each(|(letter, it)| *letter = *it);
    of_length(u32::from_be_bytes(letters), lower.len().min(PREFIX))
}

/// The key of the first so many of four letters.
const fn of_length(letters: u32, length: usize) -> u64 {
    let kept = letters & (u32::MAX << (8 * (PREFIX - length)));
    (kept as u64) << 8 | length as u64
}

/// The word of the table of bits, and where in it.
const fn slot(letters: u32) -> (usize, u32) {
    let hash = letters.wrapping_mul(0x9E37_79B1) >> 16;
    ((hash >> 4) as usize % N_WORDS, (hash & 15) << 2)
}

const fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

fn place(key: u64, room: usize) -> usize {
    hash(key) as usize % room.max(1)
}

fn widen(masks: &mut [u64; AHEAD], ahead: &[u8]) {
    for (k, mask) in masks.iter_mut().enumerate() {
        *mask |= ahead.get(k).map_or(u64::MAX, |it| 1 << (it & 63));
    }
}
