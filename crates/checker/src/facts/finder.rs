//! Finds which of many texts stand in another one, without regard to case; the cost stays flat as texts grow.
//!
//! At each place the first letters are looked up in a table of bits that fits the innermost cache, which settles nearly
//! all places. Where it does not, the next letters are compared with those of the texts that begin so, and then one
//! search in sorted order finds the longest text; those that are beginnings of it are linked to it. Against an automaton
//! this is faster, takes a tenth of the memory and is built in a fraction of the time, which counts since every tenant
//! with rules has a table.

/// Letters that the first look takes in; shorter texts are looked up by all of theirs.
const PREFIX: usize = 4;

/// Letters behind them that are compared at once.
const AHEAD: usize = 4;

/// Two bits each: a text that begins a word, a text that stands anywhere.
const N_SLOTS: usize = 1 << 16;

const BEGINS: u64 = 1;
const ANYWHERE: u64 = 2;

const NONE: u32 = u32::MAX;

/// Texts to find, sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct Finder {
    slots: Vec<u64>,
    texts: Vec<Text>,
    buckets: Vec<Bucket>,
    /// Open addressing over the buckets: their numbers plus one.
    table: Vec<u32>,
    /// Which lengths below [`PREFIX`] there are.
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
    /// For each of the letters behind: which ones there are, by their last six bits; all if a text ends before.
    ahead: [u64; AHEAD],
}

impl Finder {
    /// Of texts without capitals; `begins` tells that a text is wanted at the beginning of a word only.
    pub(super) fn new<'a>(texts: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let mut finder = Self { slots: vec![0; N_SLOTS / 32], ..Self::default() };
        for ((text, begins), id) in texts.zip(0_u32..).filter(|((text, _), _)| !text.is_empty()) {
            let lower: Box<[u8]> = text.as_bytes().into();
            let key = key(&lower);
            let (word, shift) = slot(key);
            if let Some(bits) = finder.slots.get_mut(word) {
                *bits |= (if begins { BEGINS } else { ANYWHERE }) << shift;
            }
            if let Some(it) = finder.short.get_mut(lower.len()) {
                *it = true;
            }
            finder.texts.push(Text { lower, id, shorter: NONE });
        }
        finder.texts.sort_by(|a, b| a.lower.cmp(&b.lower));
        finder.link();
        finder
    }

    /// Makes the buckets and links each text to the longest one that it begins with.
    fn link(&mut self) {
        let mut stack: Vec<u32> = Vec::new();
        for at in 0..u32::try_from(self.texts.len()).unwrap_or(NONE) {
            let Some(text) = self.texts.get(at as usize) else { break };
            let key = key(&text.lower);
            let ahead = text.lower.get(PREFIX..).unwrap_or_default();
            match self.buckets.last_mut().filter(|it| it.key == key) {
                Some(bucket) => {
                    bucket.to = at + 1;
                    widen(&mut bucket.ahead, ahead);
                }
                None => {
                    let mut masks = [0; AHEAD];
                    widen(&mut masks, ahead);
                    self.buckets.push(Bucket { key, from: at, to: at + 1, ahead: masks });
                    stack.clear();
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
        let mut was_word = false;
        for (at, window) in scratch.windows(PREFIX).take(length).enumerate() {
            let &[a, b, c, d] = window else { break };
            let is_word = a.is_ascii_lowercase() || a.is_ascii_digit();
            let wanted = if was_word && is_word { ANYWHERE } else { BEGINS | ANYWHERE };
            was_word = is_word;
            let whole = u64::from(u32::from_be_bytes([a, b, c, d]));
            if self.may_begin(whole | 4 << 32, wanted) {
                self.at(whole | 4 << 32, lower, at, &mut each);
            }
            let [_, has_one, has_two, has_three] = self.short;
            if has_three && self.may_begin(whole >> 8 | 3 << 32, wanted) {
                self.at(whole >> 8 | 3 << 32, lower, at, &mut each);
            }
            if has_two && self.may_begin(whole >> 16 | 2 << 32, wanted) {
                self.at(whole >> 16 | 2 << 32, lower, at, &mut each);
            }
            if has_one && self.may_begin(whole >> 24 | 1 << 32, wanted) {
                self.at(whole >> 24 | 1 << 32, lower, at, &mut each);
            }
        }
    }

    fn may_begin(&self, key: u64, wanted: u64) -> bool {
        let (word, shift) = slot(key);
        self.slots.get(word).is_some_and(|it| it >> shift & wanted != 0)
    }

    /// The texts with this beginning at this place.
    fn at(&self, key: u64, lower: &[u8], at: usize, each: &mut impl FnMut(u32, usize, usize)) {
        let Some(bucket) = self.bucket(key) else { return };
        let rest = lower.get(at..).unwrap_or_default();
        let ahead = rest.get(PREFIX..).unwrap_or_default();
        for (k, mask) in bucket.ahead.iter().enumerate() {
            let letter = ahead.get(k).copied().unwrap_or_default();
            if mask >> (letter & 63) & 1 == 0 {
                return;
            }
        }
        let texts = self.texts.get(bucket.from as usize..bucket.to as usize).unwrap_or_default();
        // Every text that the rest begins with is no greater than the rest, and a beginning of the greatest such one.
        let last = texts.partition_point(|it| it.lower.as_ref() <= rest);
        let Some(mut number) = last.checked_sub(1).map(|it| it + bucket.from as usize) else { return };
        let common = match self.texts.get(number) {
            Some(text) => text.lower.iter().zip(rest).take_while(|(a, b)| a == b).count(),
            None => return,
        };
        while let Some(text) = self.texts.get(number) {
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

/// The first letters and how many they are.
fn key(lower: &[u8]) -> u64 {
    let n = lower.len().min(PREFIX);
    let letters = lower.iter().take(n).fold(0, |key, it| key << 8 | u64::from(*it));
    letters | (n as u64) << 32
}

fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// The word of the table of bits, and where in it.
fn slot(key: u64) -> (usize, u64) {
    let hash = hash(key) % N_SLOTS as u64;
    ((hash / 32) as usize, hash % 32 * 2)
}

fn place(key: u64, room: usize) -> usize {
    hash(key) as usize % room.max(1)
}

fn widen(masks: &mut [u64; AHEAD], ahead: &[u8]) {
    for (k, mask) in masks.iter_mut().enumerate() {
        *mask |= ahead.get(k).map_or(u64::MAX, |it| 1 << (it & 63));
    }
}
