//! The rates of the ciphers: measured briefly, read from a file, or specified by the user.

use std::path::Path;
use std::time::Duration;

use cryptbench_devices::Operation;
use cryptbench_microbench::cipher::{BUFFER, SpeedRequest, plan};
use cryptbench_text::shown;
use serde::Serialize;
use serde_json::Value;

use crate::args::PredictArgs;
use crate::exit::Refusal;

/// The default cipher.
pub(super) const USUAL: &str = "aes-256-xts";

/// Maximum size of a file with rates, in bytes. A file with all ciphers is about a thousand times smaller.
const LARGEST: u64 = 16 << 20;

/// Total time to measure all ciphers; each cipher needs at least a tenth of a second.
const TIME: Duration = Duration::from_millis(300);

/// A cipher on one thread.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CipherRate {
    pub(super) cipher: String,
    pub(super) data_unit: u32,
    /// 10^6 bytes per second.
    pub(super) encrypt_mb_s: f64,
    /// 10^6 bytes per second.
    pub(super) decrypt_mb_s: f64,
}

impl CipherRate {
    /// The rate for an operation in bytes per second.
    pub(super) fn of(&self, operation: Operation) -> f64 {
        1e6 * match operation {
            Operation::Read => self.decrypt_mb_s,
            _ => self.encrypt_mb_s,
        }
    }
}

/// The rates and their source.
pub(super) fn cipher_rates(
    args: &PredictArgs,
    ciphers: &[String],
    data_units: &[u32],
) -> anyhow::Result<(Vec<CipherRate>, String)> {
    let named: Vec<String> =
        if ciphers.is_empty() { vec![USUAL.to_owned()] } else { ciphers.to_vec() };
    let units = if data_units.is_empty() { vec![512] } else { data_units.to_vec() };
    if let Some((encrypt, decrypt)) = args.cipher_rate {
        let rate = CipherRate {
            cipher: named.join("+"),
            data_unit: units[0],
            encrypt_mb_s: encrypt,
            decrypt_mb_s: decrypt,
        };
        return Ok((vec![rate], "as given".to_owned()));
    }
    if let Some(path) = &args.ciphers_from {
        let found = from_file(path, &named, &units)?;
        return Ok((found, format!("{}, one thread", shown(path))));
    }
    let speeds = plan(&SpeedRequest {
        ciphers: named,
        data_units: units,
        threads: vec![1],
        buffers: vec![BUFFER],
        time: TIME,
        seed: None,
    })?
    .run(|| {})?;
    let rates = speeds.rows.iter().map(|row| CipherRate {
        cipher: row.cipher.to_owned(),
        data_unit: row.data_unit,
        encrypt_mb_s: row.encrypt.mb_s,
        decrypt_mb_s: row.decrypt.mb_s,
    });
    let from = format!("measured now in {:.1} s, one thread", speeds.elapsed.as_secs_f64());
    Ok((rates.collect(), from))
}

/// The output of `cryptbench ciphers --json`.
fn from_file(path: &Path, named: &[String], units: &[u32]) -> anyhow::Result<Vec<CipherRate>> {
    let refuse = |why: &str| Refusal::input(path, why);
    let text = cryptbench_os::read_text(path, LARGEST).map_err(|e| refuse(&e.to_string()))?;
    let rows: Vec<Value> = serde_json::from_str(&text)
        .map_err(|e| refuse(&format!("is not output of `cryptbench ciphers --json`: {e}")))?;
    let number = |row: &Value, key: &str| row.get(key).and_then(Value::as_f64);
    let mut found = Vec::new();
    for row in &rows {
        let Some(cipher) = row.get("cipher").and_then(Value::as_str) else { continue };
        let unit = number(row, "data_unit").unwrap_or(0.0) as u32;
        let wanted = named.iter().any(|n| n == cipher) && units.contains(&unit);
        if !wanted || number(row, "threads") != Some(1.0) {
            continue;
        }
        if let (Some(encrypt_mb_s), Some(decrypt_mb_s)) =
            (number(row, "encrypt_mb_s"), number(row, "decrypt_mb_s"))
            && encrypt_mb_s > 0.0
            && decrypt_mb_s > 0.0
        {
            let cipher = cipher.to_owned();
            found.push(CipherRate { cipher, data_unit: unit, encrypt_mb_s, decrypt_mb_s });
        }
    }
    if found.is_empty() {
        let why = format!(
            "has no rate for {} with sector sizes of {units:?} bytes on one thread",
            named.join(", ")
        );
        return Err(refuse(&why).into());
    }
    Ok(found)
}
