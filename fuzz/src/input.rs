//! Bytes of the fuzzer, taken from the front.

/// What is left of the input. Where nothing is left it gives zeros, so that every input means something.
pub struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input { bytes }
    }

    /// Whether there are no more bytes, and all that follows would be zeros.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    pub fn bool(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number from `low` to `high`, both of which are possible; they differ by less than 256.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + usize::from(self.byte()) % (high - low + 1)
    }

    /// One of these.
    pub fn choice<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() - 1)]
    }

    /// Eight bytes as a number.
    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A length or a position: most often small, sometimes as large as numbers become, or near to that.
    pub fn magnitude(&mut self) -> usize {
        match self.byte() {
            small @ 0..=239 => usize::from(small) % 32,
            shift @ 240..=254 => (self.word() >> (4 * (shift - 240))) as usize,
            255 => 0usize.wrapping_sub(usize::from(self.byte()) % 4),
        }
    }

    /// The next `len` bytes, or as many as there are.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Some order of the numbers below `len`.
    pub fn order(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        for i in (1..len).rev() {
            order.swap(i, self.between(0, i));
        }
        order
    }
}
