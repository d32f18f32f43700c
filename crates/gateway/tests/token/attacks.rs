//! The table of attacks.

use std::collections::HashMap;

use weir_gateway::token::{TokenRefusal, TokenVerifier};

use crate::issuers::{CLAIMS, Issuer, NOW};
use crate::signer::{encode, sign};

const TABLE: &str = include_str!("attacks.txt");

/// One case of the table: its directives, in their order.
struct Case {
    name: &'static str,
    directives: Vec<(&'static str, &'static str)>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, cases.last_mut()) {
            ("case", _) => cases.push(Case { name: rest, directives: Vec::new() }),
            (_, Some(case)) => case.directives.push((word, rest)),
            (_, None) => panic!("{line}: no case before it"),
        }
    }
    cases
}

impl Case {
    fn value(&self, word: &str) -> Option<&'static str> {
        self.directives.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    fn issuer(&self) -> &'static str {
        self.value("issuer").unwrap_or("es256")
    }

    /// The expected verdict.
    fn expected(&self) -> Option<TokenRefusal> {
        let name = self.value("refused");
        assert!(
            name.is_some() != self.value("accepted").is_some(),
            "{}: needs either `accepted` or `refused`",
            self.name
        );
        name.map(|name| {
            let mut all = TokenRefusal::ALL.into_iter();
            all.find(|refusal| refusal.name() == name)
                .unwrap_or_else(|| panic!("{}: {name}: unknown refusal", self.name))
        })
    }

    fn token(&self, issuer: &Issuer) -> String {
        if let Some(token) = self.value("token") {
            return unescaped(token);
        }
        let header = self.header(issuer);
        let signed = format!("{}.{}", encode(header), encode(self.claims()));
        let signature = self.signature(issuer, &signed);
        let mut token = format!("{signed}.{signature}");
        for (word, value) in &self.directives {
            match *word {
                "prefix" => token.insert_str(0, &unescaped(value)),
                "suffix" => token.push_str(&unescaped(value)),
                "cut" => token.truncate(token.len() - value.parse::<usize>().unwrap()),
                "issuer" | "header" | "claims" | "claims+" | "claims-of" | "sign" | "signature"
                | "signature-zeros" | "accepted" | "refused" => {}
                _ => panic!("{}: {word}: unknown directive", self.name),
            }
        }
        token
    }

    fn header(&self, issuer: &Issuer) -> String {
        let default = format!(r#"{{"alg":"{}"}}"#, issuer.algorithm);
        self.value("header").map_or(default, str::to_owned)
    }

    fn claims(&self) -> String {
        if let Some(claims) = self.value("claims") {
            return claims.to_owned();
        }
        let more = match (self.value("claims+"), self.value("claims-of")) {
            (Some(more), _) if more.contains("\"sub\":") && !more.contains("{\"sub\":") => {
                let without_subject = CLAIMS.replace(r#","sub":"user""#, "");
                return format!("{without_subject},{more}}}");
            }
            (Some(more), _) => format!(",{more}"),
            (None, Some(bytes)) => format!(r#","long":"{}""#, "x".repeat(bytes.parse().unwrap())),
            (None, None) => String::new(),
        };
        format!("{CLAIMS}{more}}}")
    }

    fn signature(&self, issuer: &Issuer, signed: &str) -> String {
        if let Some(signature) = self.value("signature") {
            return signature.to_owned();
        }
        if let Some(bytes) = self.value("signature-zeros") {
            return encode(vec![0; bytes.parse().unwrap()]);
        }
        let (key, algorithm) = match self.value("sign") {
            Some(signer) => signer.split_once(' ').unwrap(),
            None => (issuer.key, issuer.algorithm),
        };
        encode(sign(key, algorithm, signed.as_bytes()))
    }
}

/// Replaces `%41` by `A`.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn each_token_of_the_table_meets_its_end() {
    let mut verifiers: HashMap<&str, (Issuer, TokenVerifier)> = HashMap::new();
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let (issuer, verifier) = verifiers.entry(case.issuer()).or_insert_with(|| {
            let issuer = Issuer::named(case.issuer());
            let verifier = issuer.verifier();
            (issuer, verifier)
        });
        let token = case.token(issuer);
        // The second call may use the cache, which must not change the verdict.
        for _ in 0..2 {
            let found = verifier.verify(&token, NOW).await.err();
            if found != case.expected() {
                wrong.push(format!("{}: {found:?} instead of {:?}", case.name, case.expected()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= 150, "only {} cases were read", cases.len());
}

/// Every refusal that a token alone can cause has a case.
#[test]
fn each_refusal_has_a_case() {
    let tested: Vec<_> = cases().iter().filter_map(Case::expected).collect();
    let elsewhere = [
        TokenRefusal::NoToken,
        TokenRefusal::OtherScheme,
        TokenRefusal::SeveralTokens,
        TokenRefusal::MalformedField,
        TokenRefusal::AmbiguousKey,
        TokenRefusal::KeysUnavailable,
        TokenRefusal::NotActive,
        TokenRefusal::NotIntrospected,
    ];
    for refusal in TokenRefusal::ALL {
        assert!(tested.contains(&refusal) != elsewhere.contains(&refusal), "{refusal:?}");
    }
}
