//! A driver that handles one request at a time, in pieces, and encrypts in series with the I/O. Study A's
//! figures show this behaviour for VeraCrypt's Windows driver (`cryptbench studies A`).

use std::hint::spin_loop;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cryptbench_blockdev::{Passes, SectorTransform};

use crate::ArmSpec;
use crate::settings::{Choice, in_words};
use crate::system::Setting;

/// The setting, and its value for such a driver.
const DRIVER: &str = "driver";
const SERIAL: &str = "serial";

pub(crate) const SETTING: Setting = Setting {
    name: DRIVER,
    about: "serial: one request at a time, in pieces of 256 KiB, with an extra 16 µs for each piece",
    values: &["parallel", SERIAL],
};

/// Size of a piece in bytes (`TC_ENC_IO_QUEUE_MAX_FRAGMENT_SIZE` in VeraCrypt's `EncryptedIoQueue.h`).
const PIECE: u32 = 256 << 10;

/// Time per piece in addition to its cipher: the increase in access time of study A's SSD.
const EACH: Duration = Duration::from_micros(16);

/// `usual` with the driver that `choice` specifies in front of its cipher. The usual driver is not listed in the
/// settings of an arm, because it existed before the other drivers.
pub(crate) fn arm(usual: &ArmSpec, choice: &Choice) -> ArmSpec {
    if choice[DRIVER] != SERIAL {
        return usual.clone();
    }
    ArmSpec {
        id: format!("{}/{DRIVER}={SERIAL}", usual.id),
        label: format!("{}, one at a time", usual.label),
        settings: in_words(choice),
        ..usual.clone()
    }
}

/// The cipher of an arm, called by the arm's driver.
pub(crate) fn driven(arm: &ArmSpec, cipher: Arc<dyn SectorTransform>) -> Arc<dyn SectorTransform> {
    match arm.settings.get(DRIVER).is_some_and(|driver| driver == SERIAL) {
        true => Arc::new(InSeries(cipher)),
        false => cipher,
    }
}

struct InSeries(Arc<dyn SectorTransform>);

impl InSeries {
    /// Processes `len` bytes, and waits as long as the driver would need for them.
    fn work(len: usize, act: impl FnOnce()) {
        act();
        let began = Instant::now();
        let each = EACH * len.div_ceil(PIECE as usize) as u32;
        while began.elapsed() < each {
            spin_loop();
        }
    }
}

impl SectorTransform for InSeries {
    fn unit(&self) -> usize {
        self.0.unit()
    }

    fn seal(&self, offset: u64, plain: &[u8], stored: &mut [u8]) {
        Self::work(plain.len(), || self.0.seal(offset, plain, stored));
    }

    fn open(&self, offset: u64, data: &mut [u8]) {
        Self::work(data.len(), || self.0.open(offset, data));
    }

    fn passes(&self) -> Passes {
        Passes { is_serial: true, piece: Some(PIECE), ..Passes::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selection;
    use crate::adapter::builtin::BUILTIN;

    fn arms(drivers: &[&str]) -> Vec<ArmSpec> {
        let drivers = drivers.iter().map(ToString::to_string).collect();
        let settings = [(DRIVER.to_owned(), drivers)].into();
        let data_units = vec![512];
        BUILTIN.arms(&Selection { settings, data_units, ..Selection::default() }).unwrap()
    }

    #[test]
    fn a_driver_is_an_arm_of_its_own() {
        let ids = |drivers: &[&str]| -> Vec<_> {
            arms(drivers).into_iter().map(|arm| (arm.id, arm.label)).collect()
        };
        let pair = |id: &str, label: &str| (id.to_owned(), label.to_owned());
        let null = pair("builtin/null", "null layer");
        let usual = pair("builtin/aes-256-xts/512", "AES-256-XTS 512 B");
        let serial =
            pair("builtin/aes-256-xts/512/driver=serial", "AES-256-XTS 512 B, one at a time");
        assert_eq!(ids(&[]), [null.clone(), usual.clone()]);
        assert_eq!(ids(&["serial"]), [null.clone(), serial.clone()]);
        assert_eq!(ids(&["parallel", "serial"]), [null, usual, serial]);
    }

    #[test]
    fn a_serial_driver_stores_the_same_and_takes_its_time_for_each_piece() {
        let key = [7; 64];
        let of = |arm: &ArmSpec| {
            let tier = cryptbench_cipher::Tier::Soft;
            crate::inline_layer(arm, &key, tier).unwrap()
        };
        let [_, usual, serial] = &arms(&["parallel", "serial"])[..] else { panic!() };
        let (usual, serial) = (of(usual), of(serial));
        assert_eq!(usual.passes(), Passes::default());
        assert_eq!(
            serial.passes(),
            Passes { is_serial: true, piece: Some(PIECE), ..Passes::default() }
        );
        let plain = vec![3; PIECE as usize + 512];
        let mut stored = [plain.clone(), plain.clone()];
        usual.seal(4096, &plain, &mut stored[0]);
        let began = Instant::now();
        serial.seal(4096, &plain, &mut stored[1]);
        assert!(began.elapsed() >= 2 * EACH);
        assert!(stored[0] == stored[1] && stored[0] != plain);
        serial.open(4096, &mut stored[1]);
        assert_eq!(stored[1], plain);
    }
}
