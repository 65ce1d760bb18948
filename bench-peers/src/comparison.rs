//! Compares one cipher with one data unit in one direction: the contenders, whether their output is right, and
//! their speeds.

use std::collections::HashMap;

use anyhow::{Context as _, bail, ensure};
use cryptbench_cipher::{CipherInfo, Layout, Tier, ciphers, find};
use cryptbench_stats::median;
use serde::Serialize;

use crate::contender::{Contender, Direction, Ours};
use crate::kernel;
use crate::peers::Peer;
use crate::rounds::{Schedule, measure};

/// The speeds of a contender in MB/s, one per round.
#[derive(Serialize)]
pub struct Speeds {
    /// Name of the kernel (ours) or of the library.
    pub name: String,
    /// In the order of the rounds.
    pub mb_s: Vec<f64>,
}

impl Speeds {
    /// The median over the rounds.
    pub fn median(&self) -> f64 {
        median(&self.mb_s).unwrap_or(f64::NAN)
    }
}

/// The result for one cipher, data unit and direction.
#[derive(Serialize)]
pub struct Comparison {
    /// Name in the registry.
    pub cipher: &'static str,
    /// Number of bytes per tweak.
    pub data_unit: usize,
    /// The direction.
    pub direction: Direction,
    /// Our kernels, highest tier first.
    pub ours: Vec<Speeds>,
    /// The other libraries, fastest first. None of them has cascades. A cascade therefore lists the fastest
    /// peer of each stage, measured together with ours, and before them [`SERIAL_BOUND`].
    pub peers: Vec<Speeds>,
    /// The operating system's kernel, with the whole buffer as one data unit.
    pub kernel: Option<Speeds>,
    /// Contenders that were excluded, and the reasons.
    pub faults: Vec<String>,
}

/// Name of 1 / sum(1 / speed of the fastest peer of each stage), computed for each round: the speed of a chain
/// of single ciphers that passes data on at no cost.
pub const SERIAL_BOUND: &str = "serial bound (computed)";

/// The name of the fastest peer for each cipher, data unit and direction.
pub type Fastest = HashMap<(&'static str, usize, Direction), &'static str>;

/// A contender and its name in tables.
type Named = (String, Box<dyn Contender>);

/// The inputs that all comparisons share.
pub struct Bench<'a> {
    /// The libraries.
    pub peers: &'a [Box<dyn Peer>],
    /// Whether the kernel takes part.
    pub has_kernel: bool,
    /// Our highest tier.
    pub tier: Tier,
    /// The duration of the measurement.
    pub schedule: Schedule,
    /// Random bytes to transform.
    pub data: Vec<u8>,
    /// Random bytes from which keys are taken.
    pub key: Vec<u8>,
}

/// The ciphers of the registry whose names contain `part`, with the stages of the cascades among them; single
/// ciphers come first.
pub fn selection(part: &str) -> Vec<&'static CipherInfo> {
    let named: Vec<_> = ciphers().iter().filter(|info| info.name.contains(part)).collect();
    let needed: Vec<_> = named.iter().flat_map(|info| stages(info)).map(|s| s.name).collect();
    let (single, cascades): (Vec<_>, Vec<_>) = ciphers()
        .iter()
        .filter(|info| info.name.contains(part) || needed.contains(&info.name))
        .partition(|info| stages(info).len() < 2);
    single.into_iter().chain(cascades).collect()
}

/// The single ciphers of which a cascade such as `aes-twofish-xts` consists; empty if one of them is unknown.
fn stages(info: &CipherInfo) -> Vec<&'static CipherInfo> {
    let words = info.name.split('-').filter(|w| *w != "xts" && w.parse::<u32>().is_err());
    let found: Option<Vec<_>> = words
        .map(|word| find(&format!("{word}-256-xts")).or_else(|_| find(&format!("{word}-xts"))).ok())
        .collect();
    found.unwrap_or_default()
}

impl Bench<'_> {
    /// Compares `info` with its peers. `fastest` records the results for single ciphers, which cascades need.
    ///
    /// # Errors
    /// If the cipher has no peer, or our kernels disagree.
    pub fn compare(
        &mut self,
        info: &'static CipherInfo,
        data_unit: usize,
        direction: Direction,
        fastest: &mut Fastest,
    ) -> anyhow::Result<Comparison> {
        let stages = stages(info);
        let cascade = stages.len() > 1;
        let mut expected = self.data.clone();
        let ours = self.ours(info, data_unit, direction, &mut expected)?;
        let our_count = ours.len();
        let mut faults = Vec::new();
        let peers = if cascade {
            self.cascade(info, &stages, data_unit, direction, &expected, fastest)?
        } else {
            self.singles(info, data_unit, direction, &expected, &mut faults)
        };
        ensure!(!peers.is_empty(), "no peer has it; {}", faults.join("; "));
        let kernel = self.kernel(info, direction, &mut faults);
        let has_kernel = kernel.is_some();

        let (names, mut contenders): (Vec<_>, Vec<_>) =
            ours.into_iter().chain(peers).chain(kernel).unzip();
        let speeds = measure(&mut contenders, data_unit, &mut self.data, self.schedule)?;
        let mut ours: Vec<_> =
            names.into_iter().zip(speeds).map(|(name, mb_s)| Speeds { name, mb_s }).collect();
        let mut peers = ours.split_off(our_count);
        let kernel = if has_kernel { peers.pop() } else { None };
        if cascade {
            let bound = (0..self.schedule.rounds)
                .map(|round| 1.0 / peers.iter().map(|p| 1.0 / p.mb_s[round]).sum::<f64>())
                .collect();
            peers.insert(0, Speeds { name: SERIAL_BOUND.to_owned(), mb_s: bound });
        } else {
            peers.sort_by(|a, b| b.median().total_cmp(&a.median()));
            let best = self.peers.iter().find(|p| p.name() == peers[0].name);
            let best = best.context("a peer lost its name")?;
            fastest.insert((info.name, data_unit, direction), best.name());
        }
        Ok(Comparison { cipher: info.name, data_unit, direction, ours, peers, kernel, faults })
    }

    /// Our kernels without duplicates, highest tier first. `expected` becomes their common output.
    fn ours(
        &self,
        info: &CipherInfo,
        data_unit: usize,
        direction: Direction,
        expected: &mut [u8],
    ) -> anyhow::Result<Vec<Named>> {
        let layout = Layout { data_unit, tweak_step: 1 };
        let mut all: Vec<Named> = Vec::new();
        for tier in Tier::available().into_iter().rev().filter(|tier| *tier <= self.tier) {
            let cipher = info.with_key(&self.key[..info.key_bytes], layout, tier)?;
            let name = cipher.tier().to_owned();
            if all.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let mut ours = Ours(cipher, direction);
            let mut output = self.data.clone();
            ours.pass(data_unit, &mut output)?;
            if let Some((first, _)) = all.first() {
                ensure!(output == expected, "WRONG: our kernels {first} and {name} disagree");
            }
            expected.copy_from_slice(&output);
            all.push((name, Box::new(ours)));
        }
        Ok(all)
    }

    /// The peers whose output equals ours.
    fn singles(
        &self,
        info: &CipherInfo,
        data_unit: usize,
        direction: Direction,
        expected: &[u8],
        faults: &mut Vec<String>,
    ) -> Vec<Named> {
        let mut right = Vec::new();
        for peer in self.peers {
            let key = &self.key[..info.key_bytes];
            let tried = peer.keyed(info.name, key, direction).and_then(|keyed| {
                let Some(mut keyed) = keyed else { return Ok(None) };
                let mut output = self.data.clone();
                keyed.pass(data_unit, &mut output)?;
                ensure!(output == expected, "its output is not ours");
                Ok(Some(keyed))
            });
            match tried {
                Ok(Some(keyed)) => right.push((peer.name().to_owned(), keyed)),
                Ok(None) => {}
                Err(error) => faults.push(format!("WRONG: {}: {error:#}", peer.name())),
            }
        }
        right
    }

    /// The kernel's, if its output is ours for one data unit.
    fn kernel(
        &self,
        info: &CipherInfo,
        direction: Direction,
        faults: &mut Vec<String>,
    ) -> Option<Named> {
        let tried = || {
            let key = &self.key[..info.key_bytes];
            let Some(mut keyed) = kernel::keyed(info.name, key, direction)? else {
                return Ok(None);
            };
            let (mut expected, mut output) = (self.data.clone(), self.data.clone());
            let layout = Layout { data_unit: expected.len(), tweak_step: 1 };
            let mut ours = Ours(info.with_key(key, layout, self.tier)?, direction);
            ours.pass(layout.data_unit, &mut expected)?;
            keyed.pass(layout.data_unit, &mut output)?;
            ensure!(output == expected, "its output is not ours");
            anyhow::Ok(Some((kernel::COLUMN.to_owned(), keyed)))
        };
        let found = if self.has_kernel { tried() } else { Ok(None) };
        found.unwrap_or_else(|error| {
            faults.push(format!("WRONG: the kernel: {error:#}"));
            None
        })
    }

    /// The fastest peer of each stage, after a check that their chain yields our output.
    fn cascade(
        &self,
        info: &CipherInfo,
        stages: &[&'static CipherInfo],
        data_unit: usize,
        direction: Direction,
        expected: &[u8],
        fastest: &Fastest,
    ) -> anyhow::Result<Vec<Named>> {
        // Names list the stages from the outermost or from the innermost one. The data shows which of the two
        // applies.
        let mut order = stages.to_vec();
        for _ in 0..2 {
            let mut chain = self.chain(info, &order, data_unit, direction, fastest)?;
            let mut output = self.data.clone();
            match direction {
                Direction::Encrypt => pass_all(chain.iter_mut(), data_unit, &mut output)?,
                Direction::Decrypt => pass_all(chain.iter_mut().rev(), data_unit, &mut output)?,
            }
            if output == expected {
                return Ok(chain);
            }
            order.reverse();
        }
        bail!("WRONG: our output is not that of its stages one after another")
    }

    /// The fastest peer for each of `stages`, in the order of encryption, keyed with that stage's part of the
    /// key.
    fn chain(
        &self,
        info: &CipherInfo,
        stages: &[&'static CipherInfo],
        data_unit: usize,
        direction: Direction,
        fastest: &Fastest,
    ) -> anyhow::Result<Vec<Named>> {
        ensure!(stages.iter().all(|s| s.key_bytes == 64), "stages of other key lengths");
        ensure!(info.key_bytes == 64 * stages.len(), "its name does not tell its stages");
        let (data_keys, tweak_keys) = self.key[..info.key_bytes].split_at(info.key_bytes / 2);
        let keys = data_keys.chunks(32).zip(tweak_keys.chunks(32));
        let mut chain = Vec::new();
        for (stage, (data_key, tweak_key)) in stages.iter().zip(keys) {
            let name = fastest
                .get(&(stage.name, data_unit, direction))
                .with_context(|| format!("no peer has {}", stage.name))?;
            let peer = self.peers.iter().find(|p| p.name() == *name).context("a lost peer")?;
            let key = [data_key, tweak_key].concat();
            let keyed = peer.keyed(stage.name, &key, direction)?.context("a lost cipher")?;
            chain.push((format!("{name} {}", stage.name), keyed));
        }
        Ok(chain)
    }
}

fn pass_all<'a>(
    chain: impl Iterator<Item = &'a mut Named>,
    data_unit: usize,
    data: &mut [u8],
) -> anyhow::Result<()> {
    for (_, contender) in chain {
        contender.pass(data_unit, data)?;
    }
    Ok(())
}
