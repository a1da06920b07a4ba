//! Views over run files. A view reads run files and nothing else, so it can be shown again at any
//! time. It knows no engine and no suite.

#![warn(unreachable_pub)]

pub mod advice;
pub mod ageing;
pub mod blocks;
pub mod compare;
pub mod format;
pub mod html;
pub mod latencies;
pub mod markdown;
pub mod marks;
mod markup;
mod palette;
pub mod plot;
pub mod rows;
pub mod site;
pub mod speed_up;
pub mod table;
