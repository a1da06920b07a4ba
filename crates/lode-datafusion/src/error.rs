//! Errors of Lode as DataFusion passes them on.

use datafusion::error::DataFusionError;

/// Wraps an error of Lode, or of `lode_arrow`. DataFusion's `find_root` finds it.
pub(crate) fn external(error: impl Into<lode_arrow::Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}
