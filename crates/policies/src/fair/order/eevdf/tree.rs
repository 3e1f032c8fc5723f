//! `DeadlineTree`: the waiting entities of one queue in the order of their deadlines, which knows of
//! each subtree the earliest virtual time and the shortest and longest slice.

use crate::fair::entity::EntityId;
use crate::fair::timeline::before;

/// What an entity is queued with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// When its request should be served, in virtual time.
    pub deadline: u64,
    /// Its virtual time.
    pub vruntime: u64,
    /// Its request, in ns of real time.
    pub slice: u64,
}

/// An entity's place in the tree of its queue, and what is least and most below it.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    min_vruntime: u64,
    min_slice: u64,
    max_slice: u64,
    left: Option<EntityId>,
    right: Option<EntityId>,
    parent: Option<EntityId>,
}

/// The places of all entities: a table by row, for an entity waits in one queue only, and nothing is
/// allocated where it joins or leaves.
#[derive(Clone, Debug, Default)]
pub struct Nodes(Vec<Node>);

/// The root of one queue's tree (`cfs_rq->tasks_timeline`).
///
/// Balanced by a priority that each entity has for life: a heap by priority, a search tree by
/// deadline. What is picked does not depend on the shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineTree(Option<EntityId>);

impl DeadlineTree {
    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.is_none()
    }
}

/// A priority without relation to the order of rows (the last step of MurmurHash3).
#[inline]
fn priority(se: EntityId) -> u32 {
    let mut x = u32::try_from(se.idx()).unwrap_or(u32::MAX).wrapping_add(1);
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

impl Nodes {
    /// Room for `nr_entities`.
    #[must_use]
    pub fn new(nr_entities: usize) -> Nodes {
        let key = Key { deadline: 0, vruntime: 0, slice: 0 };
        let node = Node {
            key,
            min_vruntime: 0,
            min_slice: 0,
            max_slice: 0,
            left: None,
            right: None,
            parent: None,
        };
        Nodes(vec![node; nr_entities])
    }

    #[inline]
    fn node(&self, se: EntityId) -> &Node {
        &self.0[se.idx()]
    }

    #[inline]
    fn node_mut(&mut self, se: EntityId) -> &mut Node {
        &mut self.0[se.idx()]
    }

    /// Puts `se` behind all whose deadline is not later. Source: `__enqueue_entity()`.
    pub fn insert(&mut self, tree: &mut DeadlineTree, se: EntityId, key: Key) {
        let (mut at, mut parent, mut is_left) = (tree.0, None, false);
        while let Some(here) = at {
            let node = self.node_mut(here);
            node.take(key.vruntime, key.slice, key.slice);
            is_left = before(key.deadline, node.key.deadline);
            (parent, at) = (Some(here), if is_left { node.left } else { node.right });
        }
        let Key { vruntime, slice, .. } = key;
        *self.node_mut(se) = Node {
            key,
            min_vruntime: vruntime,
            min_slice: slice,
            max_slice: slice,
            left: None,
            right: None,
            parent,
        };
        match parent {
            None => tree.0 = Some(se),
            Some(parent) if is_left => self.node_mut(parent).left = Some(se),
            Some(parent) => self.node_mut(parent).right = Some(se),
        }
        while let Some(parent) = self.node(se).parent
            && priority(parent) < priority(se)
        {
            self.rotate_up(tree, se, parent);
        }
    }

    /// Takes `se` out, which waits there. Source: `__dequeue_entity()`.
    pub fn remove(&mut self, tree: &mut DeadlineTree, se: EntityId) {
        while let (Some(left), Some(right)) = (self.node(se).left, self.node(se).right) {
            let child = if priority(left) > priority(right) { left } else { right };
            self.rotate_up(tree, child, se);
        }
        let node = *self.node(se);
        let child = node.left.or(node.right);
        self.replace(tree, node.parent, se, child);
        if let Some(child) = child {
            self.node_mut(child).parent = node.parent;
        }
        self.refresh_from(node.parent);
    }

    /// The slice of `se`, which waits, has changed. Source: `min_vruntime_cb_propagate()`.
    pub fn set_slice(&mut self, se: EntityId, slice: u64) {
        self.node_mut(se).key.slice = slice;
        self.refresh_from(Some(se));
    }

    /// Of those whose virtual time is eligible, the one with the earliest deadline; of equals the
    /// first that came. `is_eligible` must hold of all times before one of which it holds.
    /// Source: `pick_eevdf()`.
    #[inline]
    #[must_use]
    pub fn pick(&self, tree: DeadlineTree, is_eligible: impl Fn(u64) -> bool) -> Option<EntityId> {
        let mut at = tree.0;
        while let Some(here) = at {
            let node = self.node(here);
            if let Some(left) = node.left
                && is_eligible(self.node(left).min_vruntime)
            {
                at = Some(left);
                continue;
            }
            if is_eligible(node.key.vruntime) {
                return Some(here);
            }
            at = node.right;
        }
        None
    }

    /// The only one, or any that waits.
    #[must_use]
    pub fn any(&self, tree: DeadlineTree) -> Option<EntityId> {
        tree.0
    }

    /// The shortest and the longest slice of those who wait.
    #[inline]
    #[must_use]
    pub fn slices(&self, tree: DeadlineTree) -> Option<(u64, u64)> {
        tree.0.map(|root| (self.node(root).min_slice, self.node(root).max_slice))
    }

    /// All who wait, the earliest deadline first.
    pub fn iter(&self, tree: DeadlineTree) -> impl Iterator<Item = EntityId> {
        std::iter::successors(tree.0.map(|root| self.leftmost(root)), |&se| self.next(se))
    }

    /// What `se` was queued with.
    #[must_use]
    pub fn key(&self, se: EntityId) -> Key {
        self.node(se).key
    }

    fn leftmost(&self, mut se: EntityId) -> EntityId {
        while let Some(left) = self.node(se).left {
            se = left;
        }
        se
    }

    fn next(&self, se: EntityId) -> Option<EntityId> {
        if let Some(right) = self.node(se).right {
            return Some(self.leftmost(right));
        }
        let mut here = se;
        while let Some(parent) = self.node(here).parent {
            if self.node(parent).left == Some(here) {
                return Some(parent);
            }
            here = parent;
        }
        None
    }

    /// `se` changes places with its parent.
    fn rotate_up(&mut self, tree: &mut DeadlineTree, se: EntityId, parent: EntityId) {
        let above = self.node(parent).parent;
        let was_left = self.node(parent).left == Some(se);
        let node = self.node_mut(se);
        let inner = if was_left { node.right.replace(parent) } else { node.left.replace(parent) };
        node.parent = above;
        let node = self.node_mut(parent);
        if was_left {
            node.left = inner;
        } else {
            node.right = inner;
        }
        node.parent = Some(se);
        if let Some(inner) = inner {
            self.node_mut(inner).parent = Some(parent);
        }
        self.replace(tree, above, parent, Some(se));
        self.refresh(parent);
        self.refresh(se);
    }

    /// What was `old` below `parent` is `new` from now on.
    fn replace(
        &mut self,
        tree: &mut DeadlineTree,
        parent: Option<EntityId>,
        old: EntityId,
        new: Option<EntityId>,
    ) {
        match parent {
            None => tree.0 = new,
            Some(parent) => {
                let node = self.node_mut(parent);
                if node.left == Some(old) {
                    node.left = new;
                } else {
                    node.right = new;
                }
            }
        }
    }

    /// What is least and most below `se` and all above it.
    fn refresh_from(&mut self, mut at: Option<EntityId>) {
        while let Some(se) = at {
            self.refresh(se);
            at = self.node(se).parent;
        }
    }

    /// Source: `min_vruntime_update()`.
    fn refresh(&mut self, se: EntityId) {
        let mut node = *self.node(se);
        (node.min_vruntime, node.min_slice) = (node.key.vruntime, node.key.slice);
        node.max_slice = node.key.slice;
        for child in [node.left, node.right].into_iter().flatten() {
            let child = self.node(child);
            node.take(child.min_vruntime, child.min_slice, child.max_slice);
        }
        *self.node_mut(se) = node;
    }
}

impl Node {
    #[inline]
    fn take(&mut self, vruntime: u64, min_slice: u64, max_slice: u64) {
        if before(vruntime, self.min_vruntime) {
            self.min_vruntime = vruntime;
        }
        self.min_slice = self.min_slice.min(min_slice);
        self.max_slice = self.max_slice.max(max_slice);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_deadline(twin: &mut [(EntityId, Key)], base: u64) {
        twin.sort_by_key(|(_, key)| key.deadline.wrapping_sub(base));
    }

    proptest! {
        /// The twin: a list kept by stable sorting, and searched from its start.
        #[test]
        fn a_tree_is_a_stably_sorted_list(
            base: u64,
            steps in prop::collection::vec((0u64..20, 0u64..30, 1u64..9, 0usize..60), 1..300),
        ) {
            let mut nodes = Nodes::new(60);
            let mut tree = DeadlineTree::default();
            let mut twin: Vec<(EntityId, Key)> = Vec::new();
            for (deadline, vruntime, slice, row) in steps {
                let se = EntityId::new(row);
                let at = |offset: u64| base.wrapping_add(offset);
                match twin.iter().position(|&(other, _)| other == se) {
                    None => {
                        let key = Key { deadline: at(deadline), vruntime: at(vruntime), slice };
                        nodes.insert(&mut tree, se, key);
                        twin.push((se, key));
                        by_deadline(&mut twin, base);
                    }
                    Some(at) if slice == 1 => {
                        nodes.set_slice(se, vruntime);
                        twin[at].1.slice = vruntime;
                    }
                    Some(at) => {
                        twin.remove(at);
                        nodes.remove(&mut tree, se);
                    }
                }
                let expected: Vec<EntityId> = twin.iter().map(|&(se, _)| se).collect();
                prop_assert_eq!(nodes.iter(tree).collect::<Vec<_>>(), expected);
                let slices = || twin.iter().map(|(_, key)| key.slice);
                prop_assert_eq!(nodes.slices(tree), slices().min().zip(slices().max()));
                for limit in 0..31 {
                    let is_eligible = |v: u64| v.wrapping_sub(base) < limit;
                    let first = twin.iter().find(|(_, key)| is_eligible(key.vruntime));
                    prop_assert_eq!(nodes.pick(tree, is_eligible), first.map(|&(se, _)| se));
                }
            }
        }
    }

    #[test]
    fn a_long_queue_has_a_flat_tree() {
        let mut nodes = Nodes::new(4096);
        let mut tree = DeadlineTree::default();
        for row in 0..4096u64 {
            let key = Key { deadline: row, vruntime: row, slice: 1 };
            nodes.insert(&mut tree, EntityId::new(usize::try_from(row).unwrap_or(0)), key);
        }
        let depth = |mut se: EntityId| {
            let mut depth = 0;
            while let Some(parent) = nodes.node(se).parent {
                (se, depth) = (parent, depth + 1);
            }
            depth
        };
        // A random treap of n is about 2 ln(n) = 17 deep on average, and rarely more than thrice that.
        assert!(nodes.iter(tree).map(depth).max() < Some(50));
    }
}
