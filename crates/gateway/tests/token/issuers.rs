//! Issuers for the tests.

use weir_gateway::token::{Algorithm, IssuerSettings, KeySource, TokenVerifier};

use crate::file::TestFile;
use crate::signer::{SECRET, data, public_members};

/// The time of most tests, in seconds since 1970.
pub(crate) const NOW: i64 = 1_800_000_000;

/// The first claims of valid tokens.
pub(crate) const CLAIMS: &str =
    r#"{"iss":"https://login.example","aud":"api","exp":1800000600,"sub":"user""#;

/// Creates the settings of an issuer with this source of keys.
pub(crate) fn settings(algorithms: &[Algorithm], keys: KeySource) -> IssuerSettings {
    let audiences = vec!["web".to_owned(), "api".to_owned()];
    IssuerSettings::new("test", "https://login.example", audiences, algorithms.to_vec(), keys)
}

/// An issuer of `attacks.txt`, with the algorithm and key of its valid tokens.
pub(crate) struct Issuer {
    pub(crate) settings: IssuerSettings,
    pub(crate) algorithm: &'static str,
    pub(crate) key: &'static str,
    /// The key set, if it has one.
    _file: Option<TestFile>,
}

impl Issuer {
    /// Returns the issuer of this name.
    pub(crate) fn named(name: &str) -> Self {
        let (algorithm, key) = match name {
            "hs256" => (Algorithm::Hs256, "secret"),
            "hs384" => (Algorithm::Hs384, "secret"),
            "hs512" => (Algorithm::Hs512, "secret"),
            "rs256" => (Algorithm::Rs256, "rsa"),
            "ps256" => (Algorithm::Ps256, "rsa"),
            "es256" => (Algorithm::Es256, "p256"),
            "es384" => (Algorithm::Es384, "p384"),
            "ed25519" => (Algorithm::EdDsa, "ed25519"),
            "set" => return Self::with_set(),
            _ => panic!("{name}: unknown issuer"),
        };
        let keys = match key {
            "secret" => KeySource::Secret(SECRET.to_vec()),
            _ => KeySource::PublicKeyPem(data(&format!("{key}.public.pem"))),
        };
        let settings = settings(&[algorithm], keys);
        Self { settings, algorithm: algorithm.name(), key, _file: None }
    }

    fn with_set() -> Self {
        let keys = [
            ("rsa", "rsa"),
            ("ec", "p256"),
            ("ed", "ed25519"),
            ("twice", "p256"),
            ("twice", "other-p256"),
        ];
        let file = TestFile::new("attacks", &key_set(&keys));
        let algorithms = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
        let settings = settings(&algorithms, KeySource::KeySetFile(file.path.clone()));
        Self { settings, algorithm: "ES256", key: "p256", _file: Some(file) }
    }

    /// Creates a verifier of its tokens.
    pub(crate) fn verifier(&self) -> TokenVerifier {
        TokenVerifier::new(self.settings.clone()).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Returns a key set with the keys of these names.
pub(crate) fn key_set(keys: &[(&str, &str)]) -> String {
    let members =
        keys.iter().map(|(id, key)| format!(r#"{{"kid":"{id}",{}}}"#, public_members(key)));
    format!(r#"{{"keys":[{}]}}"#, members.collect::<Vec<_>>().join(","))
}
