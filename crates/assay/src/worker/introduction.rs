//! The introduction of this build to another build.

use assay_core::environment::Build;
use assay_suites::AnySuite;

use super::{Introduction, PROTOCOL, SuiteId};

/// Returns the build that is running.
pub(crate) fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        rustc: env!("ASSAY_RUSTC").into(),
        target: env!("ASSAY_TARGET").into(),
        opt_level: env!("ASSAY_OPT_LEVEL").into(),
        engines: assay_drivers::all().iter().map(|d| d.profile().id.to_string()).collect(),
    }
}

/// Returns the introduction of this build, for another one that asks.
pub(crate) fn introduction() -> Introduction {
    let suite =
        |suite: &dyn AnySuite| SuiteId { id: suite.id().into(), revision: suite.revision() };
    let suites = assay_suites::ALL.into_iter().map(suite).collect();
    Introduction { protocol: PROTOCOL, build: build(), suites }
}
