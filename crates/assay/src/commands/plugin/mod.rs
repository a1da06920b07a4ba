//! `assay plugin`

pub(crate) mod build;
pub(crate) mod new;
