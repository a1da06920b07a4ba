//! Records that a walk over an index has copied out of one page.

/// Keys and payloads, or the parts that a walk wants of them.
#[derive(Clone, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    records: Vec<Place>,
}

/// The start of a record, and the bytes of its key.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    from: u32,
    pub key_size: u32,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Makes room for records with keys of these sizes, in place of the content. Returns the bytes
    /// of all of them, one after another, to be filled, and the places of the records.
    pub(crate) fn lay_out(
        &mut self,
        key_sizes: impl Iterator<Item = usize>,
        payload_size: usize,
    ) -> (&mut [u8], &[Place]) {
        let mut end = 0;
        self.records.clear();
        for key_size in key_sizes {
            self.records.push(Place { from: end as u32, key_size: key_size as u32 });
            end += key_size + payload_size;
        }
        debug_assert!(u32::try_from(end).is_ok(), "32 bits have a place in a batch");
        self.bytes.resize(end, 0);
        (&mut self.bytes, &self.records)
    }

    /// Appends a record of zeros. Returns its key and its payload, to be filled.
    pub(crate) fn push(&mut self, key_size: usize, payload_size: usize) -> (&mut [u8], &mut [u8]) {
        let from = self.bytes.len();
        let end = from + key_size + payload_size;
        debug_assert!(u32::try_from(end).is_ok(), "32 bits have a place in a batch");
        self.records.push(Place { from: from as u32, key_size: key_size as u32 });
        self.bytes.resize(end, 0);
        self.bytes[from..].split_at_mut(key_size)
    }

    /// Removes the last record.
    pub(crate) fn pop(&mut self) {
        if let Some(last) = self.records.pop() {
            self.bytes.truncate(last.from as usize);
        }
    }

    /// Takes records that all have the same size, which `copy` appends, in place of the content.
    pub(crate) fn fill(
        &mut self,
        key_size: usize,
        payload_size: usize,
        copy: impl FnOnce(&mut Vec<u8>),
    ) {
        self.clear();
        copy(&mut self.bytes);
        let size = key_size + payload_size;
        debug_assert!(self.bytes.len().is_multiple_of(size), "all records have {size} bytes");
        debug_assert!(u32::try_from(self.bytes.len()).is_ok(), "32 bits have a place in a batch");
        let begins = (0..self.bytes.len()).step_by(key_size + payload_size);
        let place = |from| Place { from: from as u32, key_size: key_size as u32 };
        self.records.extend(begins.map(place));
    }

    /// Returns key and payload of a record.
    #[inline]
    pub(crate) fn record(&self, at: usize) -> (&[u8], &[u8]) {
        self.whole_record(at).split_at(self.records[at].key_size as usize)
    }

    /// Returns key and payload of a record, one after the other.
    #[inline]
    pub(crate) fn whole_record(&self, at: usize) -> &[u8] {
        let end = self.records.get(at + 1).map_or(self.bytes.len(), |next| next.from as usize);
        &self.bytes[self.records[at].from as usize..end]
    }
}
