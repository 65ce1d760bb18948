//! Specifications in the syntax of Linux's crypto API, such as `capi:xts(aes)-plain64`, for modes that also have a
//! shorter specification.

/// A name followed by its arguments in parentheses.
struct Term<'a> {
    name: &'a str,
    terms: Vec<Term<'a>>,
}

/// Modes with a cipher in parentheses, or with the cipher before the mode if one driver implements both.
const MODES: [&str; 8] = ["xts", "cbc", "lrw", "ecb", "ctr", "cfb", "ofb", "pcbc"];

/// Templates around a cipher that change only how it is computed.
const AROUND: [&str; 3] = ["cryptd", "simd", "pcrypt"];

/// Cipher, and mode with IV generator, of a specification in the API's syntax; `None` if the specification is not in
/// this syntax.
pub(super) fn translated(whole: &str) -> Option<(String, String)> {
    // Linux does not accept longer names (CRYPTO_MAX_ALG_NAME). The limit is needed because terms may be nested, and
    // each level uses stack space.
    let text = whole.strip_prefix("capi:").filter(|text| text.len() < 128)?;
    // As in dm-crypt: the text after the last colon is an option, which may contain a dash.
    let (text, option) = match text.rsplit_once(':') {
        Some((text, option)) => (text, Some(option)),
        None => (text, None),
    };
    let (text, iv) = text.rsplit_once('-')?;
    let (term, "") = Term::parse(text)? else { return None };
    let (cipher, mode, hash) = term.meaning()?;
    let iv = match (hash, option) {
        (Some(hash), _) if iv == "plain64" => format!("essiv:{hash}"),
        // With another generator, the template would encrypt a different number.
        (Some(_), _) => return None,
        (None, Some(option)) => format!("{iv}:{option}"),
        (None, None) => iv.to_owned(),
    };
    Some((cipher, format!("{mode}-{iv}")))
}

impl<'a> Term<'a> {
    /// The term at the start of `text`, and the rest.
    fn parse(text: &'a str) -> Option<(Self, &'a str)> {
        let end = text.find(['(', ')', ',']).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(end);
        let mut terms = Vec::new();
        if let Some(inside) = rest.strip_prefix('(') {
            rest = inside;
            loop {
                let (term, after) = Self::parse(rest)?;
                terms.push(term);
                match after.strip_prefix(',') {
                    Some(next) => rest = next,
                    None => {
                        rest = after.strip_prefix(')')?;
                        break;
                    }
                }
            }
        }
        Some((Self { name, terms }, rest))
    }

    /// Cipher, mode, and the hash of ESSIV.
    fn meaning(&self) -> Option<(String, &'a str, Option<&'a str>)> {
        match (self.name, self.terms.as_slice()) {
            (name, [inner]) if AROUND.contains(&name) => inner.meaning(),
            (mode, [inner]) if MODES.contains(&mode) || mode == "hctr2" => {
                Some((inner.cipher()?.to_owned(), mode, None))
            }
            ("essiv", [inner, hash]) => {
                let (cipher, mode, None) = inner.meaning()? else { return None };
                Some((cipher, mode, Some(hash.name)))
            }
            ("adiantum", [stream, cipher, ..]) => {
                Some((format!("{},{}", stream.cipher()?, cipher.cipher()?), "adiantum", None))
            }
            ("hctr2_base", [stream, ..]) => {
                let inner = stream.terms.first().filter(|_| stream.name == "xctr")?;
                Some((inner.cipher()?.to_owned(), "hctr2", None))
            }
            // The name of a driver: `xts-aes-aesni`.
            (name, []) => {
                let mut parts = name.split('-');
                let mode = parts.next().filter(|mode| MODES.contains(mode))?;
                Some((parts.next()?.to_owned(), mode, None))
            }
            _ => None,
        }
    }

    /// A cipher without a mode, for any driver: `aes-generic`, `ecb(aes)`.
    fn cipher(&self) -> Option<&'a str> {
        match (self.name, self.terms.as_slice()) {
            (name, []) => name.split('-').next(),
            (name, [inner]) if name == "ecb" || AROUND.contains(&name) => inner.cipher(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn what_means_a_mode_is_translated() {
        for (whole, cipher, mode) in [
            ("capi:xts(aes)-plain64", "aes", "xts-plain64"),
            ("capi:xts(ecb(aes-generic))-plain64", "aes", "xts-plain64"),
            ("capi:cbc(twofish)-essiv:sha3-256", "twofish", "cbc-essiv:sha3-256"),
            ("capi:essiv(cbc(aes),sha256)-plain64", "aes", "cbc-essiv:sha256"),
            ("capi:xts-aes-aesni-plain64", "aes", "xts-plain64"),
            ("capi:cryptd(xts(serpent))-plain64:x", "serpent", "xts-plain64:x"),
            ("capi:adiantum(xchacha12,aes)-plain64", "xchacha12,aes", "adiantum-plain64"),
            (
                "capi:adiantum(xchacha20-generic,aes-generic,nhpoly1305-generic)-plain64",
                "xchacha20,aes",
                "adiantum-plain64",
            ),
            ("capi:hctr2(aes)-plain64", "aes", "hctr2-plain64"),
            ("capi:hctr2_base(xctr(aes-generic),polyval-generic)-plain64", "aes", "hctr2-plain64"),
        ] {
            let expected = (cipher.to_owned(), mode.to_owned());
            assert_eq!(translated(whole), Some(expected), "{whole}");
        }
    }

    #[test]
    fn what_does_not_is_not() {
        for whole in [
            "aes-xts-plain64",
            "capi:xts(aes)",
            "capi:gcm(aes)-random",
            "capi:authenc(hmac(sha256),xts(aes))-plain64",
            "capi:xts(aes-plain64",
            "capi:xts(aes))-plain64",
            "capi:-",
            "capi:((((((((-x",
            // dm-crypt's own number goes into the template, which no mode here does.
            "capi:essiv(cbc(aes),sha256)-null",
            "capi:essiv(cbc(aes),sha256)-essiv:sha1",
            "capi:essiv(essiv(cbc(aes),sha1),sha256)-plain64",
        ] {
            assert_eq!(translated(whole), None, "{whole}");
        }
        // A header can contain megabytes of it, and each level uses stack space.
        assert_eq!(translated(&format!("capi:{}-x", "(".repeat(1_000_000))), None);
    }
}
