//! Graphs: work with its dependencies, and what becomes of it to be launched again and again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rocm_rs::hip::bindings as hip;

use crate::error::{INVALID_VALUE, Result};
use crate::handles::Table;
use crate::work::{Callback, Work};

/// Every graph, every node of one, and every graph that can be launched.
pub(crate) static GRAPHS: Table<Graph> = Table::new();
pub(crate) static NODES: Table<Node> = Table::new();
pub(crate) static EXECUTABLES: Table<Executable> = Table::new();

/// A node.
pub(crate) struct Node {
    handle: OnceLock<usize>,
    work: Mutex<Work>,
    after: Mutex<Vec<Arc<Node>>>,
    /// The node that it is a copy of.
    origin: usize,
}

impl Node {
    /// Its handle.
    pub(crate) fn handle(&self) -> usize {
        self.handle.get().copied().unwrap_or(0)
    }

    /// What it does.
    pub(crate) fn work(&self) -> Work {
        self.work.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It does something else of the same type from now on.
    pub(crate) fn set(&self, work: Work) -> Result {
        let mut own = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if own.node_type() != work.node_type() {
            return Err(INVALID_VALUE);
        }
        *own = work;
        Ok(())
    }

    /// The nodes that it waits for.
    pub(crate) fn after(&self) -> Vec<Arc<Node>> {
        self.after.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It does not wait for another any more.
    pub(crate) fn forget(&self, other: &Arc<Node>) -> Result {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let known = after.iter().position(|known| Arc::ptr_eq(known, other));
        after.remove(known.ok_or(INVALID_VALUE)?);
        Ok(())
    }

    /// It waits for others too.
    pub(crate) fn wait_for(&self, others: &[Arc<Node>]) {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        for other in others {
            if after.iter().all(|known| !Arc::ptr_eq(known, other)) {
                after.push(Arc::clone(other));
            }
        }
    }
}

/// A graph.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Mutex<Vec<Arc<Node>>>,
    objects: Mutex<Vec<Arc<Object>>>,
}

/// Every object of the program's that graphs may keep.
pub(crate) static OBJECTS: Table<Object> = Table::new();

/// Something of the program's, with the function that ends it.
pub(crate) struct Object {
    pub(crate) end: Callback,
}

impl Drop for Object {
    fn drop(&mut self) {
        (self.end.call)();
    }
}

impl Graph {
    fn locked(&self) -> MutexGuard<'_, Vec<Arc<Node>>> {
        // Pushes only: a panic cannot leave it half changed.
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node that waits for others.
    pub(crate) fn add(&self, work: Work, after: &[Arc<Node>]) -> Arc<Node> {
        self.add_copy(work, after, 0)
    }

    fn add_copy(&self, work: Work, after: &[Arc<Node>], origin: usize) -> Arc<Node> {
        let node = Arc::new(Node {
            handle: OnceLock::new(),
            work: Mutex::new(work),
            after: Mutex::new(after.to_vec()),
            origin,
        });
        let handle = NODES.share(Arc::clone(&node));
        // Nobody else has the node yet.
        node.handle.get_or_init(|| handle);
        self.locked().push(Arc::clone(&node));
        node
    }

    /// Its node that is a copy of another graph's.
    pub(crate) fn copy_of(&self, origin: usize) -> Result<Arc<Node>> {
        let mut nodes = self.nodes().into_iter();
        nodes.find(|node| node.origin == origin).ok_or(INVALID_VALUE)
    }

    /// Keeps something of the program's until the graph ends.
    pub(crate) fn keep(&self, object: Arc<Object>) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.push(object);
    }

    /// Removes a node.
    pub(crate) fn remove(&self, node: &Arc<Node>) {
        self.locked().retain(|other| !Arc::ptr_eq(other, node));
    }

    /// Its nodes, in the order in which they were added.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.locked().clone()
    }

    /// Its nodes that wait for none.
    pub(crate) fn roots(&self) -> Vec<Arc<Node>> {
        let mut nodes = self.nodes();
        nodes.retain(|node| node.after().is_empty());
        nodes
    }

    /// Its nodes that none waits for.
    pub(crate) fn leaves(&self) -> Vec<Arc<Node>> {
        let mut nodes = self.nodes();
        let waited: Vec<Arc<Node>> = nodes.iter().flat_map(|node| node.after()).collect();
        nodes.retain(|node| waited.iter().all(|other| !Arc::ptr_eq(other, node)));
        nodes
    }

    /// Its nodes, each after those that it waits for.
    ///
    /// # Errors
    /// Nodes that wait for each other, or for one of another graph.
    fn sorted(&self) -> Result<Vec<Arc<Node>>> {
        let mut left = self.nodes();
        let mut sorted: Vec<Arc<Node>> = Vec::with_capacity(left.len());
        let mut placed = BTreeSet::new();
        while !left.is_empty() {
            let before = sorted.len();
            left.retain(|node| {
                let ready = node.after().iter().all(|other| placed.contains(&other.handle()));
                if ready {
                    placed.insert(node.handle());
                    sorted.push(Arc::clone(node));
                }
                !ready
            });
            if sorted.len() == before {
                return Err(INVALID_VALUE);
            }
        }
        Ok(sorted)
    }

    /// What it does, in an order that can be carried out.
    pub(crate) fn steps(&self) -> Result<Vec<(usize, Work)>> {
        let sorted = self.sorted()?;
        let steps = sorted.iter().map(|node| {
            let work = match node.work() {
                Work::Child(graph) => graph.as_work()?,
                work => work,
            };
            Ok((node.handle(), work))
        });
        steps.collect()
    }

    /// The same as one piece of work.
    pub(crate) fn as_work(&self) -> Result<Work> {
        let steps = self.steps()?;
        Ok(Work::Graph(steps.into_iter().map(|(_, work)| work).collect()))
    }

    /// A graph that does the same, with nodes of its own.
    pub(crate) fn copy(&self) -> Result<Graph> {
        let copy = Graph::default();
        let mut pairs: Vec<(usize, Arc<Node>)> = Vec::new();
        for node in self.sorted()? {
            let after = node.after();
            let after = after.iter().filter_map(|other| {
                let pair = pairs.iter().find(|(handle, _)| *handle == other.handle());
                pair.map(|(_, copied)| Arc::clone(copied))
            });
            let after: Vec<Arc<Node>> = after.collect();
            pairs.push((node.handle(), copy.add_copy(node.work(), &after, node.handle())));
        }
        Ok(copy)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        for node in self.nodes() {
            // A node that the program destroyed has no handle any more.
            NODES.remove(node.handle()).ok();
        }
    }
}

/// A graph as it was when it was made launchable.
pub(crate) struct Executable {
    steps: Mutex<Vec<(usize, Work)>>,
    /// Nodes that are left out.
    disabled: Mutex<BTreeSet<usize>>,
}

impl Executable {
    /// Of a graph.
    pub(crate) fn new(graph: &Graph) -> Result<Executable> {
        Ok(Executable {
            steps: Mutex::new(graph.steps()?),
            disabled: Mutex::default(),
        })
    }

    fn steps(&self) -> MutexGuard<'_, Vec<(usize, Work)>> {
        // Stores of whole steps only: a panic cannot leave it half changed.
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a launch does.
    pub(crate) fn work(&self) -> Work {
        let disabled = self.disabled();
        let steps = self.steps();
        let enabled = steps.iter().filter(|(node, _)| !disabled.contains(node));
        Work::Graph(enabled.map(|(_, work)| work.clone()).collect())
    }

    fn disabled(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        // One insertion or removal at a time: a panic cannot leave it half done.
        self.disabled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a kernel, a copy or a fill out, or takes it in again.
    pub(crate) fn enable(&self, node: usize, enabled: bool) -> Result {
        self.is_enabled(node)?;
        match enabled {
            true => self.disabled().remove(&node),
            false => self.disabled().insert(node),
        };
        Ok(())
    }

    /// Whether a node of a type that can be left out is taken in.
    pub(crate) fn is_enabled(&self, node: usize) -> Result<bool> {
        let known = self.steps().iter().any(|(handle, work)| {
            *handle == node && matches!(work, Work::Kernel(_) | Work::Copy(_) | Work::Fill(_))
        });
        known
            .then(|| !self.disabled().contains(&node))
            .ok_or(INVALID_VALUE)
    }

    /// A node does something else of the same type from now on.
    pub(crate) fn set(&self, node: usize, work: Work) -> Result {
        let mut steps = self.steps();
        let step = steps.iter_mut().find(|(handle, _)| *handle == node);
        let step = step.filter(|(_, own)| own.node_type() == work.node_type());
        step.ok_or(INVALID_VALUE)?.1 = work;
        Ok(())
    }

    /// Takes over what another graph's nodes do, which has the same types of nodes in the same order.
    pub(crate) fn update(&self, graph: &Graph) -> Result {
        let new = graph.steps()?;
        let mut steps = self.steps();
        let fits = new.len() == steps.len()
            && new
                .iter()
                .zip(&*steps)
                .all(|(new, old)| new.1.node_type() == old.1.node_type());
        if !fits {
            return Err(hip::hipError_t_hipErrorGraphExecUpdateFailure);
        }
        for (step, new) in steps.iter_mut().zip(new) {
            step.1 = new.1;
        }
        Ok(())
    }
}
