//! The certificate of a server, and its key.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{Error, ServerConfig};

use crate::error::ServeError;
use crate::server::own_file::{self, Readers};

/// The name of PostgreSQL's protocol in a handshake (ALPN).
pub(crate) const PROTOCOL: &[u8] = b"postgresql";

/// A certificate with its key: with it a server encrypts connections by TLS 1.2 or 1.3.
pub struct Certificate {
    config: Arc<ServerConfig>,
    /// The binding of passwords to this certificate, if its signature has a hash that both sides
    /// know.
    binding: Option<ScramServerAuth>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("binds", &self.binding.is_some())
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Reads a certificate and its key from PEM files. Certificates up to the root's may follow the
    /// certificate. The key is of RSA, of ECDSA by P-256 or P-384, or of Ed25519.
    ///
    /// # Errors
    /// [`ServeError::TlsFile`] if one of the files has nothing that can be used;
    /// [`ServeError::OpenToOthers`] if others can read the key: only its owner may, of a key of
    /// root's a group as well; those of reading.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, ServeError> {
        let chain = chain(certificate, &own_file::read(certificate, Readers::All)?)?;
        let binding = binding(&chain[0]);
        let private = private_key(key, &own_file::read(key, Readers::OwnerOrGroupOfRoot)?)?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let unusable = |error| unusable(certificate, key, &error);
        let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
        let builder = builder.with_no_client_auth();
        let mut config = builder.with_single_cert(chain, private).map_err(unusable)?;
        config.alpn_protocols = vec![PROTOCOL.into()];
        // A connection lives for long: nothing is kept for the next one, as in PostgreSQL.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), binding })
    }

    /// Returns the configuration of connections.
    pub(crate) fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Returns the binding of passwords to this certificate.
    pub(crate) fn binding(&self) -> Option<&ScramServerAuth> {
        self.binding.as_ref()
    }
}

fn wrong(path: &Path, why: &str) -> ServeError {
    ServeError::TlsFile { path: path.into(), why: why.into() }
}

/// Returns the certificates of a file: at least one.
fn chain(path: &Path, text: &str) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(wrong(path, "there is no certificate within; name a PEM file with one")),
        Err(_) => Err(wrong(path, "this PEM file is damaged; copy it anew")),
    }
}

/// Returns the first private key of a file.
fn private_key(path: &Path, text: &str) -> Result<PrivateKeyDer<'static>, ServeError> {
    if text.contains("-----BEGIN ENCRYPTED ") || text.contains("Proc-Type: 4,ENCRYPTED") {
        let why = "this key is encrypted; write it without a passphrase, with openssl pkey";
        return Err(wrong(path, why));
    }
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            wrong(path, "there is no private key within; name a PEM file with one")
        }
        _ => wrong(path, "this PEM file is damaged; copy it anew"),
    })
}

/// Returns the error of files that were read, but make no server.
fn unusable(certificate: &Path, key: &Path, error: &Error) -> ServeError {
    match error {
        Error::InconsistentKeys(_) => {
            let of = certificate.display();
            wrong(key, &format!("this key does not belong to {of}; name the two that do"))
        }
        Error::InvalidCertificate(_) => {
            wrong(certificate, "this certificate cannot be used; name one of X.509, version 3")
        }
        _ => wrong(key, "this key cannot be used; RSA, ECDSA (P-256, P-384) or Ed25519 can"),
    }
}

/// Returns the binding of passwords to a certificate.
fn binding(certificate: &[u8]) -> Option<ScramServerAuth> {
    let text = STANDARD.encode(certificate);
    let text = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let mut scram = ScramServerAuth::new();
    scram.configure_certificate(text.as_bytes()).ok()?;
    Some(scram)
}
