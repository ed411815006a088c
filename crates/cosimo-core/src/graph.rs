//! Cycles of dependencies, and the order in which everything else can be evaluated.

/// Strongly connected components in topological order: what a group needs is in it or before it. `needs` gives the k-th
/// node that a node needs, `None` behind the last.
/// Source: Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
pub fn components(size: usize, needs: impl Fn(usize, usize) -> Option<usize>) -> Vec<Vec<usize>> {
    let mut search = Search {
        needs,
        index: vec![None; size],
        low: vec![0; size],
        on_stack: vec![false; size],
        stack: Vec::new(),
        count: 0,
        groups: Vec::new(),
    };
    for node in 0..size {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.groups
}

struct Search<N> {
    needs: N,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    groups: Vec<Vec<usize>>,
}

impl<N: Fn(usize, usize) -> Option<usize>> Search<N> {
    /// Without recursion: chains of simulators may be long.
    fn visit(&mut self, start: usize) {
        // Nodes on the path, and how many of the needs of each were visited.
        let mut path = vec![(start, 0)];
        self.enter(start);
        while let Some((node, seen)) = path.last_mut() {
            let node = *node;
            if let Some(next) = (self.needs)(node, *seen) {
                *seen += 1;
                match self.index[next] {
                    None => {
                        self.enter(next);
                        path.push((next, 0));
                    }
                    Some(index) if self.on_stack[next] => self.low[node] = self.low[node].min(index),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                self.low[*parent] = self.low[*parent].min(self.low[node]);
            }
            if self.index[node] == Some(self.low[node]) {
                let from = self.stack.iter().rposition(|on| *on == node).unwrap_or(0);
                let group = self.stack.split_off(from);
                group.iter().for_each(|member| self.on_stack[*member] = false);
                self.groups.push(group);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.index[node] = Some(self.count);
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(needs: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut groups = components(needs.len(), |node, k| needs[node].get(k).copied());
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups
    }

    #[test]
    fn what_is_needed_comes_first_and_cycles_are_one_group() {
        assert_eq!(groups(&[&[1], &[2], &[]]), [vec![2], vec![1], vec![0]]);
        // 0 and 1 need each other, 2 needs them, 3 needs itself.
        assert_eq!(groups(&[&[1], &[0], &[0, 3], &[3]]), [vec![0, 1], vec![3], vec![2]]);
        // Two cycles through one node are one group.
        assert_eq!(groups(&[&[1, 2], &[0], &[0]]), [vec![0, 1, 2]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let last = 1_000_000;
        let chain = components(last + 1, |node, k| (k == 0 && node < last).then_some(node + 1));
        assert_eq!((chain.len(), &chain[0]), (last + 1, &vec![last]));
    }
}
