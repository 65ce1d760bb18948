//! Linux: files and memory.

mod file;
mod memory;
mod page_cache;

pub(crate) use self::file::{
    direct_sector, is_block_device, logical_sector, mark_if_in_memory, open_without_waiting,
    punch_hole, read_exact_at, read_once_at, set_mode, write_all_at,
};
pub(crate) use self::memory::{
    give_back, huge_pages, keep_to_this_process, lock, on_huge_pages, page_size, pages,
};
pub(crate) use self::page_cache::cached_pages;
