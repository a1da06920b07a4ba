//! Loads and stores of x86-64: one instruction each.

use super::Cells;

/// # Safety
/// There are eight bytes at `from` in the page.
#[inline(always)]
pub(in super::super) unsafe fn load(cells: &Cells, from: usize) -> u64 {
    let word;
    // SAFETY: the bytes are in the page. The compiler assumes nothing about the loaded value, and
    // keeps the order to fences: so the bytes may change at the same time.
    unsafe {
        std::arch::asm!(
            "mov {word}, qword ptr [{cells} + {from}]",
            word = out(reg) word,
            cells = in(reg) cells.as_ptr(),
            from = in(reg) from,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

/// Defines a function that stores a number at a place.
macro_rules! store {
    ($name:ident, $number:ty, $class:ident, $instruction:literal) => {
        /// # Safety
        /// There are that many bytes at `to` in the page.
        #[inline(always)]
        pub(in super::super) unsafe fn $name(cells: &Cells, to: usize, number: $number) {
            // SAFETY: the bytes are in the page, whose cells may be written to through a shared
            // reference. The compiler assumes that any memory may have changed after it.
            unsafe {
                std::arch::asm!(
                    $instruction,
                    number = in($class) number,
                    cells = in(reg) cells.as_ptr(),
                    to = in(reg) to,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

store!(store, u64, reg, "mov qword ptr [{cells} + {to}], {number}");
store!(store_four, u32, reg, "mov dword ptr [{cells} + {to}], {number:e}");
store!(store_two, u16, reg, "mov word ptr [{cells} + {to}], {number:x}");
store!(store_one, u8, reg_byte, "mov byte ptr [{cells} + {to}], {number}");

/// # Safety
/// 32 bytes can be read at `from`, and written at `to`.
#[inline(always)]
pub(in super::super) unsafe fn copy(from: *const u8, to: *const u8) {
    // SAFETY: as the caller says.
    unsafe {
        std::arch::asm!(
            "movups {low}, xmmword ptr [{from}]",
            "movups {high}, xmmword ptr [{from} + 16]",
            "movups xmmword ptr [{to}], {low}",
            "movups xmmword ptr [{to} + 16], {high}",
            low = out(xmm_reg) _,
            high = out(xmm_reg) _,
            from = in(reg) from,
            to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
}
