"""An issuer of tokens: PyJWT. Prints the secret and the key set, then tokens with what to expect of them."""

import json
import sys

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

now = int(sys.argv[1])
secret = "a secret that PyJWT and the gateway share, with 64 bytes and more"
rsa_key = rsa.generate_private_key(65537, 2048)
p256_key = ec.generate_private_key(ec.SECP256R1())
p384_key = ec.generate_private_key(ec.SECP384R1())
ed25519_key = ed25519.Ed25519PrivateKey.generate()

keys = {
    "rsa": (rsa_key, RSAAlgorithm, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]),
    "p256": (p256_key, ECAlgorithm, ["ES256"]),
    "p384": (p384_key, ECAlgorithm, ["ES384"]),
    "ed25519": (ed25519_key, OKPAlgorithm, ["EdDSA"]),
}
key_set = {
    "keys": [
        {**json.loads(kind.to_jwk(key.public_key())), "kid": name, "use": "sig"}
        for name, (key, kind, _) in keys.items()
    ]
}
print(json.dumps({"secret": secret, "key_set": key_set}))

good = {
    "iss": "https://login.example",
    "aud": ["api", "other"],
    "sub": "user 7 \u00e9 \U0001f600",
    "exp": now + 600,
    "nbf": now - 5,
    "iat": now - 5,
    "tenant": {"id": [1, -2, 2.5, None, True], "name": "a.b"},
}
cases = [
    ("accepted", good),
    ("accepted", {**good, "aud": "api", "exp": now + 0.5}),
    ("expired", {**good, "exp": now - 61}),
    ("not_yet_valid", {**good, "nbf": now + 61}),
    ("issued_in_future", {**good, "iat": now + 3600}),
    ("wrong_audience", {**good, "aud": "other"}),
    ("wrong_issuer", {**good, "iss": "https://attacker.example"}),
    ("missing_expiry", {name: value for name, value in good.items() if name != "exp"}),
]


def show(set_name, algorithm, key, kid, wrong_key=None):
    headers = {"kid": kid} if kid else None
    for expected, claims in cases:
        token = jwt.encode(claims, key, algorithm, headers=headers)
        print(json.dumps({"by": set_name, "token": token, "expected": expected, "claims": claims}))
    if wrong_key is not None:
        token = jwt.encode(good, wrong_key, algorithm, headers=headers)
        print(json.dumps({"by": set_name, "token": token, "expected": "invalid_signature"}))


for algorithm in ["HS256", "HS384", "HS512"]:
    show("secret", algorithm, secret, None, "another secret" + secret)
others = {
    "rsa": rsa.generate_private_key(65537, 2048),
    "p256": ec.generate_private_key(ec.SECP256R1()),
    "p384": ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate(),
}
for name, (key, _, algorithms) in keys.items():
    for algorithm in algorithms:
        show("key_set", algorithm, key, name, others[name])
unsigned = jwt.encode(good, None, "none", headers={"kid": "rsa"})
print(json.dumps({"by": "key_set", "token": unsigned, "expected": "algorithm_not_allowed"}))
