//! Runs one contender without others: a few passes between system calls that a trace shows.

use anyhow::Context as _;
use cryptbench_cipher::{Layout, Tier, find};

use crate::contender::{Contender, Direction, Ours};
use crate::peers::Peer;

/// Number of passes. The last one is not affected by lazy initialisation or cold code.
const PASSES: usize = 3;

/// Encrypts a buffer; `sizes` contains the sizes of a data unit and of the buffer in bytes. Prints which code
/// was used.
///
/// # Errors
/// If the contender or the cipher does not exist.
pub fn run(
    who: &str,
    cipher: &str,
    sizes: [usize; 2],
    tier: Tier,
    peers: &[Box<dyn Peer>],
) -> anyhow::Result<()> {
    let [unit, bytes] = sizes;
    let info = find(cipher)?;
    let key: Vec<u8> = (0..info.key_bytes).map(|i| (i * 7 + 1) as u8).collect();
    let (mut contender, code): (Box<dyn Contender>, String) = if who == "ours" {
        let layout = Layout { data_unit: unit, tweak_step: 1 };
        let ours = info.with_key(&key, layout, tier)?;
        let code = ours.tier().to_string();
        (Box::new(Ours(ours, Direction::Encrypt)), code)
    } else {
        let peer = peers.iter().find(|peer| peer.name() == who);
        let peer = peer.with_context(|| format!("no peer {who} here"))?;
        let keyed = peer.keyed(info.name, &key, Direction::Encrypt)?;
        (keyed.with_context(|| format!("{who} has no {cipher}"))?, peer.version())
    };
    let mut data = vec![0x5a; bytes];
    for _ in 0..PASSES {
        std::thread::yield_now();
        contender.pass(unit, &mut data)?;
    }
    std::thread::yield_now();
    println!("{code}");
    Ok(())
}
