//! The conditions for clients at an address.

use crate::error::ServeError;
use crate::server::address::Address;
use crate::server::certificate::Certificate;
use crate::server::passwords::Passwords;

/// The conditions under which clients get in.
#[derive(Debug, Default)]
pub struct Access {
    /// The passwords, of which each client must know one.
    pub passwords: Option<Passwords>,
    /// The certificate, with which each connection must be encrypted.
    pub certificate: Option<Certificate>,
}

impl Access {
    /// Refuses TCP without passwords, and a Unix socket with a certificate.
    ///
    /// # Errors
    /// [`ServeError::NoPassword`], [`ServeError::NotEncrypted`].
    pub fn check(&self, address: &Address) -> Result<(), ServeError> {
        let address_text = || address.to_string();
        match address {
            Address::Tcp(_) if self.passwords.is_none() => {
                Err(ServeError::NoPassword { address: address_text() })
            }
            Address::Unix(_) if self.certificate.is_some() => {
                Err(ServeError::NotEncrypted { address: address_text() })
            }
            Address::Tcp(_) | Address::Unix(_) => Ok(()),
        }
    }
}
