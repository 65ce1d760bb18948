"""Writes libgcrypt.txt: PBKDF2 vectors of every PRF, computed by libgcrypt and, where it can, by OpenSSL too.

Run it in this folder; needs libgcrypt 1.10 or later (gcry_kdf_derive). A line is: PRF, iterations,
password, salt, key; bytes in hex, `-` for none.
"""

import ctypes
import ctypes.util
import hashlib
import random

# GCRY_MD_* of gcrypt.h, and hashlib's name where OpenSSL has the hash.
PRFS = {
    "sha-512": (10, "sha512"),
    "sha-256": (8, "sha256"),
    "blake2s-256": (322, "blake2s256"),
    "whirlpool": (305, None),
    "streebog-512": (310, None),
    "ripemd-160": (3, "ripemd160"),
    "sha-1": (2, "sha1"),
}
GCRY_KDF_PBKDF2 = 34

gcrypt = ctypes.CDLL(ctypes.util.find_library("gcrypt"))
gcrypt.gcry_check_version(None)


def libgcrypt(algorithm, password, salt, iterations, length):
    key = ctypes.create_string_buffer(length)
    error = gcrypt.gcry_kdf_derive(
        password, ctypes.c_size_t(len(password)), GCRY_KDF_PBKDF2, algorithm,
        salt, ctypes.c_size_t(len(salt)), ctypes.c_ulong(iterations), ctypes.c_size_t(length), key)
    assert error == 0, error
    return key.raw


def main():
    rng = random.Random(1)
    lines = []
    for prf, (algorithm, openssl) in PRFS.items():
        # Around the block sizes of 64 and 128 bytes, and around whole blocks of the key.
        for password, salt, iterations, length in [
            (8, 64, 1, 192), (1, 1, 2, 1), (64, 8, 3, 64), (65, 64, 4, 65), (128, 100, 5, 192),
            (129, 64, 1000, 192), (300, 200, 17, 321), (20, 64, 1025, 63),
        ]:
            password, salt = rng.randbytes(password), rng.randbytes(salt)
            key = libgcrypt(algorithm, password, salt, iterations, length)
            if openssl is not None:
                try:
                    assert key == hashlib.pbkdf2_hmac(openssl, password, salt, iterations, length)
                except ValueError:
                    pass
            lines.append(f"{prf} {iterations} {password.hex()} {salt.hex()} {key.hex()}\n")
    with open("libgcrypt.txt", "w", encoding="ascii") as file:
        file.writelines(lines)


main()
