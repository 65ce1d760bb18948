//! Disks and partitions of this machine, for whoever wants to overwrite one.

use std::fs;
use std::path::Path;

use cryptbench_serve::Device;

/// Kinds of devices that hold nothing of their own, or nothing that lasts.
const NOT_OFFERED: [&str; 3] = ["ram", "zram", "nbd"];

/// All that have a size, disks before their partitions.
pub fn devices() -> Vec<Device> {
    let mut names: Vec<String> = fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !NOT_OFFERED.iter().any(|kind| name.starts_with(kind)))
        .collect();
    names.sort();
    names.iter().filter_map(|name| device(name)).collect()
}

fn device(name: &str) -> Option<Device> {
    let place = Path::new("/sys/class/block").join(name);
    let read = |file: &str| fs::read_to_string(place.join(file)).ok();
    // Units of 512 bytes, whatever the device's sectors are (Documentation/ABI/stable/sysfs-block).
    let size = read("size")?.trim().parse::<u64>().ok()?.checked_mul(512)?;
    if size == 0 {
        return None;
    }
    let about = match (read("partition"), read("device/model"), read("loop/backing_file")) {
        (Some(number), ..) => format!("partition {}", number.trim()),
        (_, Some(model), _) => model.trim().to_owned(),
        (.., Some(file)) => format!("loop device of {}", file.trim()),
        _ => "disk".to_owned(),
    };
    // A device's name may hold a slash, which the file system writes as an exclamation mark.
    let path = Path::new("/dev").join(name.replace('!', "/"));
    path.exists().then(|| Device { path: path.display().to_string(), size, about })
}
