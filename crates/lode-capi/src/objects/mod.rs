//! The objects that handles stand for.

mod blobs;
mod changes;
mod tables;
mod volumes;

pub use blobs::*;
pub use changes::*;
pub use tables::*;
pub use volumes::*;

use crate::failure::Failure;
use crate::status::lode_status;

/// The numbers of the kinds of objects, in their handles.
mod kind {
    pub(super) const DATABASE: u8 = 1;
    pub(super) const TABLE: u8 = 2;
    pub(super) const TRANSACTION: u8 = 3;
    pub(super) const SNAPSHOT: u8 = 4;
    pub(super) const CURSOR: u8 = 5;
    pub(super) const VOLUME: u8 = 6;
    pub(super) const ENTRY: u8 = 7;
    pub(super) const STORAGE: u8 = 8;
    pub(super) const LINKS: u8 = 9;
    pub(super) const PROPERTIES: u8 = 10;
    pub(super) const BLOBS: u8 = 11;
    pub(super) const BLOB_WRITER: u8 = 12;
    pub(super) const BLOB_READER: u8 = 13;
    pub(super) const BLOB_LIST: u8 = 14;
    pub(super) const CHANGES: u8 = 15;
}

/// Gives handles objects that any number of calls may use at the same time.
macro_rules! share {
    ($handle:ident: $object:ty, $kind:ident, $what:literal) => {
        impl $handle {
            #[inline]
            fn registry() -> &'static crate::handles::SharedRegistry<$object> {
                static OBJECTS: crate::handles::SharedRegistry<$object> =
                    crate::handles::SharedRegistry::new(crate::objects::kind::$kind);
                &OBJECTS
            }

            pub(crate) fn new(object: $object) -> crate::failure::Result<Self> {
                let id = Self::registry().insert(object).map_err(crate::objects::too_many)?;
                Ok(Self { id })
            }

            #[inline]
            pub(crate) fn share(
                self,
            ) -> crate::failure::Result<crate::handles::Shared<'static, $object>> {
                let shared = Self::registry().share(self.id);
                shared.map_err(|why| crate::failure::Failure::unusable($what, why))
            }

            pub(crate) fn free(self) -> crate::failure::Result<()> {
                let freed = Self::registry().free(self.id);
                freed.map_err(|why| crate::failure::Failure::unusable($what, why))
            }
        }
    };
}

/// Gives handles objects that one call at a time may use.
macro_rules! lock {
    ($handle:ident: $object:ty, $kind:ident, $what:literal) => {
        impl $handle {
            #[inline]
            fn registry() -> &'static crate::handles::ExclusiveRegistry<$object> {
                static OBJECTS: crate::handles::ExclusiveRegistry<$object> =
                    crate::handles::ExclusiveRegistry::new(crate::objects::kind::$kind);
                &OBJECTS
            }

            pub(crate) fn new(object: $object) -> crate::failure::Result<Self> {
                let id = Self::registry().insert(object).map_err(crate::objects::too_many)?;
                Ok(Self { id })
            }

            #[inline]
            pub(crate) fn lock(
                self,
            ) -> crate::failure::Result<crate::handles::Locked<'static, $object>> {
                let locked = Self::registry().lock(self.id);
                locked.map_err(|why| crate::failure::Failure::unusable($what, why))
            }

            pub(crate) fn take(self) -> crate::failure::Result<$object> {
                let taken = Self::registry().take(self.id);
                taken.map_err(|why| crate::failure::Failure::unusable($what, why))
            }
        }
    };
}

use {lock, share};

#[cfg(test)]
mod tests;

fn too_many<T>(_: T) -> Failure {
    Failure::new(lode_status::LODE_OTHER, "there are too many handles; free some")
}
