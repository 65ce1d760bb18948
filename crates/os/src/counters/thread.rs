//! The activity of individual threads: a system may be limited by one thread while the other CPUs are idle.

/// CPU time of a thread between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its number.
    pub id: u32,
    /// The thread's name in the kernel, which shows a worker's purpose; known only for the busiest threads.
    pub name: String,
    /// CPU nanoseconds.
    pub ns: u64,
    /// Nanoseconds for which the thread could run but had no CPU; 0 if unknown.
    pub waited_ns: u64,
}

/// How often tasks gave up a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Because the tasks waited for something; each wait ends with a wake-up.
    pub voluntary: u64,
    /// Because the scheduler ran another task instead.
    pub involuntary: u64,
}

impl Switches {
    /// The sum of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }
}

/// Adds the activity of threads in a later span.
pub(super) fn add(threads: &mut Vec<ThreadTime>, later: &[ThreadTime]) {
    for one in later {
        match threads.iter_mut().find(|thread| thread.id == one.id) {
            None => threads.push(one.clone()),
            Some(thread) => {
                thread.ns += one.ns;
                thread.waited_ns += one.waited_ns;
                if !one.name.is_empty() {
                    thread.name.clone_from(&one.name);
                }
            }
        }
    }
}

/// The thread that used the most CPU time.
pub fn busiest(threads: &[ThreadTime]) -> Option<&ThreadTime> {
    threads.iter().max_by_key(|thread| thread.ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_is_that_of_all_spans_together() {
        let thread =
            |id, name: &str, ns| ThreadTime { id, name: name.to_owned(), ns, waited_ns: 10 * ns };
        let mut all = vec![thread(1, "a", 5), thread(2, "", 4)];
        add(&mut all, &[thread(2, "b", 4), thread(3, "c", 6)]);
        add(&mut all, &[thread(1, "", 1)]);
        assert_eq!(all, [thread(1, "a", 6), thread(2, "b", 8), thread(3, "c", 6)]);
        assert_eq!(busiest(&all), Some(&thread(2, "b", 8)));
        assert_eq!(busiest(&[]), None);
    }
}
