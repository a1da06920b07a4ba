//! Certificates and keys, made for a test, and what is refused of them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lode_server::{Access, Address, Certificate, Limits, ServeError, Server};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The name that the certificate is for.
pub const HOST: &str = "localhost";

/// An authority that has signed a certificate, in files.
pub struct Authority {
    folder: tempfile::TempDir,
    root: rcgen::Certificate,
}

impl Authority {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let root = params.self_signed(&key).expect("a root");
        let issuer = Issuer::new(params, key);
        let middle_key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let middle = params.signed_by(&middle_key, &issuer).expect("an authority below");
        let issuer = Issuer::new(params, middle_key);
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([HOST.to_string()]).expect("a name");
        let leaf = params.signed_by(&key, &issuer).expect("a certificate");
        let made = Self { folder, root };
        made.write("chain.pem", &(leaf.pem() + &middle.pem()));
        made.write("key.pem", &key.serialize_pem());
        made
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file that only its owner can read.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
        set_mode(&self.path(name), 0o600);
    }

    /// Reads the certificate of a server.
    pub fn certificate(&self) -> Certificate {
        self.read("chain.pem", "key.pem").expect("a certificate with its key")
    }

    fn read(&self, certificate: &str, key: &str) -> Result<Certificate, ServeError> {
        Certificate::read(&self.path(certificate), &self.path(key))
    }

    fn read_text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    /// Returns the settings of a client that trusts this authority.
    pub fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.der().clone()).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        builder.with_root_certificates(roots).with_no_client_auth()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn files_without_a_usable_certificate_and_key_are_refused() {
    let authority = Authority::new();
    authority.write("other.pem", &Authority::new().read_text("key.pem"));
    authority.write("empty.pem", "");
    authority.write("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
    let strange = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    authority.write("strange.pem", strange);
    let damaged = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    authority.write("damaged_key.pem", damaged);
    authority.write("encrypted.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n");
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n";
    authority.write("old.pem", old);
    for (certificate, key, blamed, why) in [
        ("empty.pem", "key.pem", "empty.pem", "there is no certificate within"),
        ("key.pem", "key.pem", "key.pem", "there is no certificate within"),
        ("damaged.pem", "key.pem", "damaged.pem", "is damaged"),
        ("strange.pem", "key.pem", "strange.pem", "this certificate cannot be used"),
        ("chain.pem", "chain.pem", "chain.pem", "there is no private key within"),
        ("chain.pem", "damaged_key.pem", "damaged_key.pem", "this key cannot be used"),
        ("chain.pem", "encrypted.pem", "encrypted.pem", "is encrypted"),
        ("chain.pem", "old.pem", "old.pem", "is encrypted"),
        ("chain.pem", "other.pem", "other.pem", "does not belong to"),
    ] {
        let refused = authority.read(certificate, key);
        let Err(ServeError::TlsFile { path, why: found }) = refused else {
            panic!("{certificate} and {key}: {refused:?}");
        };
        assert_eq!(path, authority.path(blamed), "{found}");
        assert!(found.contains(why), "{certificate} and {key}: {found}");
    }
    for (certificate, key) in [("nowhere", "key.pem"), ("chain.pem", "nowhere"), (".", "key.pem")] {
        let refused = authority.read(certificate, key);
        assert!(matches!(refused, Err(ServeError::Io { .. })), "{refused:?}");
    }
}

#[test]
fn a_key_is_only_for_its_owner_and_a_group_of_root() {
    let authority = Authority::new();
    let key = authority.path("key.pem");
    set_mode(&authority.path("chain.pem"), 0o644);
    let of_root = fs::metadata(&key).expect("it is there").uid() == 0;
    for (mode, is_read) in
        [(0o600, true), (0o400, true), (0o640, of_root), (0o660, false), (0o604, false)]
    {
        set_mode(&key, mode);
        match authority.read("chain.pem", "key.pem") {
            Ok(_) => assert!(is_read, "{mode:o}"),
            Err(ServeError::OpenToOthers { path }) => {
                assert!(!is_read, "{mode:o}");
                assert_eq!(path, key);
            }
            Err(error) => panic!("{mode:o}: {error}"),
        }
    }
}

#[test]
fn a_unix_socket_takes_no_certificate() {
    let authority = Authority::new();
    let db = lode::Database::in_memory().expect("a database");
    let address = Address::Unix(authority.path("socket"));
    let access = Access { certificate: Some(authority.certificate()), ..Access::default() };
    let refused = Server::listen(&db, &address, access, Limits::default());
    assert!(matches!(refused, Err(ServeError::NotEncrypted { .. })));
    assert!(!authority.path("socket").exists());
}
