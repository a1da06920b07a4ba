//! Records that a walk over an index has copied out of one page.

/// Keys and what is under them, as far as a walk wants them.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each record begins, and how many bytes its key has.
    records: Vec<(u32, u32)>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Makes room for records with keys of these sizes, in place of what is here.
    pub(crate) fn lay_out(&mut self, key_sizes: impl Iterator<Item = usize>, payload_size: usize) {
        let mut end = 0;
        self.records.clear();
        for key_size in key_sizes {
            self.records.push((end as u32, key_size as u32));
            end += key_size + payload_size;
        }
        self.bytes.resize(end, 0);
    }

    /// Takes records that all have the same size, which `copy` appends, in place of what is here.
    pub(crate) fn fill(
        &mut self,
        (key_size, payload_size): (usize, usize),
        copy: impl FnOnce(&mut Vec<u8>),
    ) {
        self.clear();
        copy(&mut self.bytes);
        let begins = (0..self.bytes.len()).step_by(key_size + payload_size);
        self.records.extend(begins.map(|from| (from as u32, key_size as u32)));
    }

    /// Where a record's payload lies in [the bytes](Self::bytes).
    pub(crate) fn payload_range(&self, at: usize) -> std::ops::Range<usize> {
        let (from, key_size) = self.records[at];
        let end = self.records.get(at + 1).map_or(self.bytes.len(), |next| next.0 as usize);
        (from + key_size) as usize..end
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Key and payload of a record.
    pub(crate) fn record(&self, at: usize) -> (&[u8], &[u8]) {
        let (from, payload) = (self.records[at].0 as usize, self.payload_range(at));
        (&self.bytes[from..payload.start], &self.bytes[payload])
    }

    /// The same, to be filled.
    pub(crate) fn record_mut(&mut self, at: usize) -> (&mut [u8], &mut [u8]) {
        let (from, payload) = (self.records[at].0 as usize, self.payload_range(at));
        self.bytes[from..payload.end].split_at_mut(payload.start - from)
    }
}
