//! Which output depends on which at the same instant: ranks for settling, and algebraic loops by name.

use cosimo_core::Couplings;
use cosimo_core::link::Block;

/// Per output: through how many simulators a change must pass at one instant before it shows here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranks {
    pub of_output: Vec<usize>,
    /// The largest of them.
    pub depth: usize,
}

/// An algebraic loop, as alternating outputs and inputs: `[output, input, output, input, ...]`.
pub type Loop = Vec<usize>;

/// `feedthrough` are global (output, input) pairs; `cut` inputs do not pass anything on.
pub fn ranks(
    couplings: &Couplings,
    outputs: usize,
    feedthrough: &[(usize, usize)],
    cut: &[bool],
) -> Result<Ranks, Loop> {
    let mut through = vec![Vec::new(); outputs];
    for &(output, input) in feedthrough {
        if !cut[input] {
            through[output].push(input);
        }
    }
    let mut search = Search { couplings, through, state: vec![State::New; outputs], rank: vec![0; outputs] };
    for output in 0..outputs {
        let mut path = Vec::new();
        search.visit(output, &mut path)?;
    }
    let depth = search.rank.iter().copied().max().unwrap_or(0);
    Ok(Ranks { of_output: search.rank, depth })
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

struct Search<'a> {
    couplings: &'a Couplings,
    through: Vec<Vec<usize>>,
    state: Vec<State>,
    rank: Vec<usize>,
}

impl Search<'_> {
    /// Depth first from an output back to what it depends on. `path` holds outputs and inputs in turn.
    fn visit(&mut self, output: usize, path: &mut Vec<usize>) -> Result<usize, Loop> {
        match self.state[output] {
            State::Done => return Ok(self.rank[output]),
            State::Open => {
                let start = path.iter().step_by(2).position(|&on_path| on_path == output).unwrap_or(0);
                return Err(path[2 * start..].to_vec());
            }
            State::New => self.state[output] = State::Open,
        }
        path.push(output);
        let mut rank = 0;
        for input in self.through[output].clone() {
            path.push(input);
            for source in self.couplings.terms(input).iter().map(|term| term.output).collect::<Vec<_>>() {
                rank = rank.max(1 + self.visit(source, path)?);
            }
            path.pop();
        }
        path.pop();
        self.state[output] = State::Done;
        self.rank[output] = rank;
        Ok(rank)
    }
}

/// (from, to) pairs of simulators, sorted, without repetition.
pub fn edges(couplings: &Couplings, blocks: &[Block], owners: &[usize]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for (to, block) in blocks.iter().enumerate() {
        for input in block.inputs.clone() {
            edges.extend(couplings.terms(input).iter().map(|term| (owners[term.output], to)));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::Term;

    fn couplings(rows: &[Vec<usize>]) -> Couplings {
        let rows: Vec<Vec<Term>> =
            rows.iter().map(|row| row.iter().map(|&output| Term { output, gain: 1.0 }).collect()).collect();
        let constants = vec![0.0; rows.len()];
        Couplings::new(&rows, constants)
    }

    #[test]
    fn ranks_count_the_simulators_passed_through() {
        // Outputs 0 -> input 1 -> output 1 -> input 2 -> output 2; output 0 has no feed-through.
        let chain = couplings(&[vec![2], vec![0], vec![1]]);
        let ranks = ranks(&chain, 3, &[(1, 1), (2, 2)], &[false; 3]).unwrap();
        assert_eq!((ranks.of_output, ranks.depth), (vec![0, 1, 2], 2));
    }

    #[test]
    fn a_loop_is_named_by_its_path_and_can_be_cut() {
        let pair = couplings(&[vec![1], vec![0]]);
        let feedthrough = [(0, 0), (1, 1)];
        assert_eq!(ranks(&pair, 2, &feedthrough, &[false; 2]).unwrap_err(), vec![0, 0, 1, 1]);
        assert_eq!(ranks(&pair, 2, &feedthrough, &[true, false]).unwrap().depth, 1);
    }
}
