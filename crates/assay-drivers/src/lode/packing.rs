//! The conversion between Assay's packed records and Lode's.

use assay_driver::schema::{
    Column, ColumnType, LENGTH_SIZE, Schema, Value, var_bytes, write_bytes,
};

/// A column after the key, of records whose texts vary in length.
#[derive(Clone, Copy)]
struct Cell {
    kind: ColumnType,
    /// The column's offset in Assay's payload.
    in_assay: usize,
    /// The offset in Lode's payload of the column, or of the number of its end.
    in_lode: usize,
}

/// Bytes of the number of a column's end in Lode's payload.
const END_SIZE: usize = 4;

impl Cell {
    fn is_variable(self) -> bool {
        matches!(self.kind, ColumnType::Text(_) | ColumnType::VarBytes(_))
    }
}

/// A stretch of bytes that both payloads have in one piece.
#[derive(Clone, Copy)]
struct Stretch {
    in_assay: usize,
    in_lode: usize,
    size: usize,
}

/// Appends a stretch; one that continues the last one in both becomes a part of it.
fn push(stretches: &mut Vec<Stretch>, next: Stretch) {
    match stretches.last_mut() {
        Some(last)
            if last.in_assay + last.size == next.in_assay
                && last.in_lode + last.size == next.in_lode =>
        {
            last.size += next.size;
        }
        _ => stretches.push(next),
    }
}

/// The conversion of a scan's rows, which have cells one after another, to Assay's records, which
/// have each column at a fixed place.
pub(crate) struct ScannedRows<'s> {
    columns: Vec<&'s Column>,
    /// The cells as stretches, if no column varies in length.
    stretches: Option<Vec<Stretch>>,
    has_varied_texts: bool,
    /// The record of the last copied row, in its full size.
    record: Vec<u8>,
    record_size: usize,
}

impl<'s> ScannedRows<'s> {
    /// Makes the conversion of rows with these of Assay's columns.
    pub(crate) fn new(schema: &'s Schema, columns: &[usize]) -> Self {
        let columns: Vec<_> = columns.iter().map(|&at| &schema.columns()[at]).collect();
        let has_varied_texts = schema.has_varied_texts();
        let varies = |column: &&Column| match column.kind {
            ColumnType::VarBytes(_) => true,
            ColumnType::Text(_) => has_varied_texts && !column.in_key,
            _ => false,
        };
        let stretches = (!columns.iter().any(varies)).then(|| {
            let mut stretches = Vec::new();
            let mut in_lode = 0;
            for Column { offset, kind, .. } in columns.iter().copied() {
                let size = kind.size_bytes();
                push(&mut stretches, Stretch { in_assay: *offset, in_lode, size });
                in_lode += size;
            }
            stretches
        });
        let record_size = schema.record_size();
        Self { columns, stretches, has_varied_texts, record: Vec::new(), record_size }
    }

    /// Returns Assay's record of a row: the row itself, if both are equal.
    pub(crate) fn record<'r>(&'r mut self, row: &'r [u8]) -> &'r [u8] {
        if let Some([Stretch { in_assay: 0, size, .. }]) = self.stretches.as_deref()
            && *size == self.record_size
        {
            return row;
        }
        self.record.resize(self.record_size, 0);
        match &self.stretches {
            Some(stretches) => {
                for Stretch { in_assay, in_lode, size } in stretches {
                    let to = &mut self.record[*in_assay..in_assay + size];
                    copy(&row[*in_lode..in_lode + size], to);
                }
            }
            None => self.copy_cells(row),
        }
        &self.record
    }

    fn copy_cells(&mut self, row: &[u8]) {
        let mut from = 0;
        for column in &self.columns {
            let cell = &row[from..];
            from += match column.kind {
                ColumnType::Text(_) if self.has_varied_texts && !column.in_key => {
                    let text = var_bytes(cell);
                    write_bytes(column.kind, text, column.slice_mut(&mut self.record));
                    LENGTH_SIZE + text.len()
                }
                kind => {
                    let size = kind.used_bytes(cell);
                    let to = &mut self.record[column.offset..column.offset + size];
                    to.copy_from_slice(&cell[..size]);
                    size
                }
            };
        }
    }
}

/// The conversion of records to Lode's, which have no gaps before their columns: the gaps between
/// Assay's columns after the key are columns too, so that a payload is one piece in both. Keys are
/// as short as they can be. In both, a value of variable length comes last, after its length.
pub(crate) struct Packing {
    /// The stretches of the key, and if it is one piece.
    key: Vec<Stretch>,
    has_whole_key: bool,
    key_size: usize,
    lode_key_size: usize,
    /// Bytes after the key, equal in both, except for a value of variable length.
    fixed_size: usize,
    /// The size of the payload, if none of it varies in length.
    one_piece: Option<usize>,
    /// The offset, in Assay's records, of the length of a value of variable length.
    variable_at: Option<usize>,
    /// The columns after the key, if texts vary in length: each is copied by itself then.
    cells: Option<Vec<Cell>>,
    /// Lode's column for each of Assay's.
    columns: Vec<lode::ColumnId>,
}

fn type_of(kind: ColumnType) -> lode::Type {
    match kind {
        ColumnType::U8 => lode::Type::U8,
        ColumnType::U16 => lode::Type::U16,
        ColumnType::U32 => lode::Type::U32,
        ColumnType::U64 => lode::Type::U64,
        ColumnType::I32 => lode::Type::I32,
        ColumnType::I64 => lode::Type::I64,
        ColumnType::F64 => lode::Type::F64,
        ColumnType::Text(size) => lode::Type::Text(size),
        ColumnType::Bytes(size) => lode::Type::Bytes(size),
        ColumnType::VarBytes(most) => lode::Type::VarBytes(most),
    }
}

/// Returns the type of a column after the key if texts vary in length.
fn varied_type_of(kind: ColumnType) -> lode::Type {
    match kind {
        ColumnType::Text(most) => lode::Type::VarText(most),
        other => type_of(other),
    }
}

/// Returns the bytes of a value of variable length.
pub(crate) fn own_bytes(kind: ColumnType, slot: &[u8]) -> &[u8] {
    match Value::read(kind, slot) {
        Value::Text(bytes) | Value::Bytes(bytes) => bytes,
        _ => slot,
    }
}

/// Copies bytes, few of them without a call: in two parts that overlap where they have to.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    #[inline(always)]
    fn ends<const SIZE: usize>(from: &[u8], to: &mut [u8]) {
        let ends = (from.first_chunk::<SIZE>(), from.last_chunk::<SIZE>());
        if let (Some(first), Some(last)) = ends {
            to[..SIZE].copy_from_slice(first);
            to[from.len() - SIZE..].copy_from_slice(last);
        }
    }
    match from.len() {
        4..8 => ends::<4>(from, to),
        8..16 => ends::<8>(from, to),
        16..=32 => ends::<16>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Returns the handles of Lode's columns at these places.
fn handles(schema: &lode::Schema, places: &[usize]) -> Vec<lode::ColumnId> {
    places.iter().map(|at| schema.columns()[*at].id()).collect()
}

impl Packing {
    /// Makes the conversion for records of this schema, and Lode's schema.
    pub(crate) fn new(assay: &Schema) -> lode::Result<(lode::Schema, Self)> {
        let (keys, rest) = assay.columns().split_at(assay.key_columns().len());
        let mut build = lode::Schema::build(assay.name());
        let mut key = Vec::<Stretch>::new();
        let mut columns = Vec::new();
        let mut lode_key_size = 0;
        for column in keys {
            let size = column.kind.size_bytes();
            push(&mut key, Stretch { in_assay: column.offset, in_lode: lode_key_size, size });
            lode_key_size += size;
            columns.push(columns.len());
            build = build.key(column.name, type_of(column.kind));
        }
        let key_size = assay.key_size();
        let mut end = assay.key_size();
        let mut next = columns.len();
        if assay.has_varied_texts() {
            let mut cells = Vec::new();
            let mut in_lode = 0;
            for column in rest {
                let cell = Cell { kind: column.kind, in_assay: column.offset - key_size, in_lode };
                in_lode += if cell.is_variable() { END_SIZE } else { column.kind.size_bytes() };
                cells.push(cell);
                columns.push(columns.len());
                build = build.column(column.name, varied_type_of(column.kind));
            }
            let schema = build.finish()?;
            let packing = Self {
                has_whole_key: key.len() == 1,
                key,
                key_size,
                lode_key_size,
                fixed_size: in_lode,
                one_piece: None,
                variable_at: None,
                cells: Some(cells),
                columns: handles(&schema, &columns),
            };
            return Ok((schema, packing));
        }
        for column in rest {
            if column.offset > end {
                let gap = (column.offset - end) as u32;
                let name = format!("gap_before_{}", column.name);
                build = build.column(&name, lode::Type::Bytes(gap));
                next += 1;
            }
            columns.push(next);
            next += 1;
            build = build.column(column.name, type_of(column.kind));
            // Lode too stores the length of a value of variable length among those of fixed size.
            end = column.offset
                + match column.kind {
                    ColumnType::VarBytes(_) => LENGTH_SIZE,
                    _ => column.kind.size_bytes(),
                };
        }
        let variable_at = assay.variable_column().map(|column| column.offset);
        let schema = build.finish()?;
        let packing = Self {
            has_whole_key: key.len() == 1,
            key,
            key_size,
            lode_key_size,
            fixed_size: end - key_size,
            one_piece: variable_at.is_none().then_some(end - key_size),
            variable_at,
            cells: None,
            columns: handles(&schema, &columns),
        };
        Ok((schema, packing))
    }

    /// Returns Lode's column for one of Assay's.
    pub(crate) fn column(&self, column: usize) -> lode::ColumnId {
        self.columns[column]
    }

    /// Returns the bytes of Assay's payload that are Lode's, if all of it has a fixed size.
    #[inline(always)]
    pub(crate) fn one_piece(&self) -> Option<usize> {
        self.one_piece
    }

    /// Returns Lode's key, copied to `packed` unless it is in one piece.
    #[inline(always)]
    pub(crate) fn key<'k>(&self, key: &'k [u8], packed: &'k mut [u8]) -> &'k [u8] {
        if self.has_whole_key {
            return &key[..self.lode_key_size];
        }
        self.copy_key(key, packed);
        packed
    }

    #[inline(always)]
    fn copy_key(&self, key: &[u8], packed: &mut [u8]) {
        for Stretch { in_assay, in_lode, size } in &self.key {
            copy(&key[*in_assay..in_assay + size], &mut packed[*in_lode..in_lode + size]);
        }
    }

    /// Packs Lode's record.
    #[inline(always)]
    pub(crate) fn record(&self, record: &[u8], packed: &mut Vec<u8>) {
        let size = self.lode_key_size + self.fixed_size;
        if packed.len() != size {
            packed.resize(size, 0);
        }
        let (area, rest) = record.split_at(self.key_size);
        self.copy_key(area, packed);
        if let Some(cells) = &self.cells {
            return self.pack_cells(cells, rest, packed);
        }
        copy(&rest[..self.fixed_size], &mut packed[self.lode_key_size..]);
        if let Some(at) = self.variable_at {
            packed.extend_from_slice(var_bytes(&record[at..]));
        }
    }

    /// Packs Lode's payload behind its key, of records whose texts vary in length.
    #[inline(never)]
    fn pack_cells(&self, cells: &[Cell], payload: &[u8], packed: &mut Vec<u8>) {
        let fixed_end = packed.len();
        for cell in cells {
            let slot = &payload[cell.in_assay..cell.in_assay + cell.kind.size_bytes()];
            let to = self.lode_key_size + cell.in_lode;
            if cell.is_variable() {
                packed.extend_from_slice(own_bytes(cell.kind, slot));
                let end = (packed.len() - fixed_end) as u32;
                packed[to..to + END_SIZE].copy_from_slice(&end.to_le_bytes());
            } else {
                packed[to..to + slot.len()].copy_from_slice(slot)
            }
        }
    }

    #[inline(never)]
    fn unpack_cells(&self, cells: &[Cell], packed: &[u8], payload: &mut [u8]) {
        let mut from = self.fixed_size;
        for cell in cells {
            let size = cell.kind.size_bytes();
            let slot = &mut payload[cell.in_assay..cell.in_assay + size];
            if cell.is_variable() {
                let end = packed[cell.in_lode..].first_chunk::<END_SIZE>();
                let end = self.fixed_size
                    + u32::from_le_bytes(*end.expect("an end for each column")) as usize;
                write_bytes(cell.kind, &packed[from..end], slot);
                from = end;
            } else {
                slot.copy_from_slice(&packed[cell.in_lode..cell.in_lode + size])
            }
        }
    }

    /// Unpacks Assay's payload.
    #[inline(always)]
    pub(crate) fn payload(&self, packed: &[u8], payload: &mut [u8]) {
        if let Some(cells) = &self.cells {
            return self.unpack_cells(cells, packed, payload);
        }
        let size = self.fixed_size;
        copy(&packed[..size], &mut payload[..size]);
        if let Some(at) = self.variable_at {
            let value = &packed[size..];
            let to = at + LENGTH_SIZE - self.key_size;
            payload[to..to + value.len()].copy_from_slice(value);
        }
    }
}
