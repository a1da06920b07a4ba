//! `assay plugin`

pub mod build;
pub mod new;
