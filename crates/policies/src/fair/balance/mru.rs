//! `Mru`: the queued tasks of each CPU in the order in which a balancer looks at them.

use simsched_core::TaskId;
use simsched_topology::CpuId;

/// One place in a ring.
#[derive(Clone, Copy, Debug)]
struct Node {
    prev: u32,
    next: u32,
}

/// The tasks of each CPU: those that were last queued or last set running at the front
/// (`rq->cfs_tasks`).
///
/// Rings of indices: one node per CPU, which is the ring's own end, and one per task, which is linked
/// to itself while the task is on no queue. Every step takes the same short time.
#[derive(Clone, Debug, Default)]
pub struct Mru {
    nodes: Vec<Node>,
    nr_cpus: u32,
}

impl Mru {
    /// Empty lists for `nr_cpus`, and room for `nr_tasks`.
    #[must_use]
    pub fn new(nr_cpus: u32, nr_tasks: usize) -> Mru {
        let nr_tasks = u32::try_from(nr_tasks).expect("fewer than 2^32 tasks");
        let alone = |at| Node { prev: at, next: at };
        Mru { nodes: (0..nr_cpus + nr_tasks).map(alone).collect(), nr_cpus }
    }

    /// Puts `task`, which is on no list, at the front of that of `cpu` (`list_add()`).
    #[inline]
    pub fn push_front(&mut self, cpu: CpuId, task: TaskId) {
        let (head, at) = (u32::from(cpu.0), self.nr_cpus + task.0);
        let next = self.nodes[head as usize].next;
        self.nodes[at as usize] = Node { prev: head, next };
        self.nodes[head as usize].next = at;
        self.nodes[next as usize].prev = at;
    }

    /// Takes `task` off its list (`list_del_init()`).
    #[inline]
    pub fn remove(&mut self, task: TaskId) {
        let at = self.nr_cpus + task.0;
        let Node { prev, next } = self.nodes[at as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        self.nodes[at as usize] = Node { prev: at, next: at };
    }

    /// Moves `task` to the front of the list of `cpu`, on which it is (`list_move()`).
    #[inline]
    pub fn move_front(&mut self, cpu: CpuId, task: TaskId) {
        if self.nodes[usize::from(cpu.0)].next != self.nr_cpus + task.0 {
            self.remove(task);
            self.push_front(cpu, task);
        }
    }

    /// The last task of the list of `cpu`: the first that a balancer looks at.
    #[inline]
    #[must_use]
    pub fn last(&self, cpu: CpuId) -> Option<TaskId> {
        self.task(self.nodes[cpu.idx()].prev)
    }

    /// The tasks of `cpu` from the last to the first.
    pub fn iter_from_last(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> {
        let before = |&task: &TaskId| self.task(self.nodes[(self.nr_cpus + task.0) as usize].prev);
        std::iter::successors(self.last(cpu), before)
    }

    /// The task of a node; none if it is the end of a ring.
    #[inline]
    fn task(&self, node: u32) -> Option<TaskId> {
        node.checked_sub(self.nr_cpus).map(TaskId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(mru: &Mru, cpu: u16) -> Vec<u32> {
        mru.iter_from_last(CpuId(cpu)).map(|task| task.0).collect()
    }

    #[test]
    fn the_last_is_the_one_that_was_touched_longest_ago() {
        let mut mru = Mru::new(2, 4);
        assert_eq!(mru.last(CpuId(0)), None);
        for task in [2, 0, 3] {
            mru.push_front(CpuId(0), TaskId(task));
        }
        mru.push_front(CpuId(1), TaskId(1));
        assert_eq!((order(&mru, 0), order(&mru, 1)), (vec![2, 0, 3], vec![1]));
        mru.move_front(CpuId(0), TaskId(2));
        mru.move_front(CpuId(0), TaskId(2));
        assert_eq!(order(&mru, 0), [0, 3, 2]);
        mru.remove(TaskId(3));
        mru.push_front(CpuId(1), TaskId(3));
        assert_eq!((order(&mru, 0), order(&mru, 1)), (vec![0, 2], vec![1, 3]));
        assert_eq!(mru.last(CpuId(1)), Some(TaskId(1)));
    }
}
