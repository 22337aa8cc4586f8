"""The text of a key: none is like another, a slip is noticed, and no text that is shown or kept holds one."""

from __future__ import annotations

from cairn.domain.key import KEY_PATTERN, PREFIX, is_well_formed, new_secret
from cairn.domain.secrets import strike_secrets


def test_keys_are_unlike_and_carry_a_checksum() -> None:
    made = [new_secret() for _ in range(100)]
    assert len(set(made)) == 100
    for secret in made:
        assert KEY_PATTERN.fullmatch(secret)
        assert is_well_formed(secret)
    secret = made[0]
    swapped = secret[:10] + ("0" if secret[10] != "0" else "1") + secret[11:]
    for bad in (
        swapped,
        secret[:-1],
        secret + "0",
        secret.upper(),
        secret.removeprefix(PREFIX),
        "",
        PREFIX,
        f"{secret}\n",
    ):
        assert not is_well_formed(bad), bad


def test_secrets_are_struck_out() -> None:
    secret = new_secret()
    token = f"{'eyJ' + 'a' * 20}.{'b' * 20}.{'c-_' * 9}"
    for text in (secret, f"no collection {secret}.", f"/{secret}/x", secret[:30], token, f"Bearer {token}"):
        struck = strike_secrets(text)
        assert secret[:22] not in struck
        assert "b" * 20 not in struck
        assert "[struck out]" in struck
    for text in ("cairn_app", "the cairn_worker of cairn_1f", "eyJ", "a.b.c", "keys", "task-force-of-the-year-2026",
                 "sk-learn is a library", "the bearer of good news", "Bearer certificates of 2019",
                 "AKIA", "a ghp_1"):  # fmt: skip
        assert strike_secrets(text) == text
    pem = "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-256-CBC\n\nMIIEow=\n-----END RSA PRIVATE KEY----- and on"
    assert "MIIEow" not in strike_secrets(pem)
    for text in (
        "sk-ant-api03-" + "a1" * 20,
        "AKIA" + "Q7" * 8,
        "github_pat_" + "1a" * 20,
        "Bearer " + "a.9" * 9,
        "hf_" + "b2" * 12,
    ):
        assert strike_secrets(f"It is {text}, they say").endswith("[struck out], they say"), text
