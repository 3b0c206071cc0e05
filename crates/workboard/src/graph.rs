//! The graph of `blocked_by`: cycles as a path, the order, and what can be done next.

use serde::Serialize;

use crate::board::{BoardItem, WorkStatus, WorkType, Workboard};

/// Items of reported cycles together, beyond which cycles that share an item with a reported one are left out.
const MOST_SHARED: usize = 1_000;

/// An item as `work graph` and `work next` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkNode {
    pub id: String,
    pub title: String,
    #[serde(rename = "type")]
    pub work_type: Option<WorkType>,
    pub status: Option<WorkStatus>,
    pub blocked_by: Vec<String>,
    /// Items of `blocked_by` that are not validated yet.
    pub waits_for: Vec<String>,
    /// Longest way from an item that nothing blocks; `None` in a cycle.
    pub depth: Option<usize>,
}

/// The board as a graph. Edges to ids that are not on the board are left out of it.
#[derive(Debug, Clone, Serialize)]
pub struct WorkGraph {
    pub nodes: Vec<WorkNode>,
    /// Each cycle as the path around it, its first id again at the end.
    pub cycles: Vec<Vec<String>>,
}

impl WorkGraph {
    /// The graph of a board, in time linear in items and edges.
    pub fn of_board(board: &Workboard) -> Self {
        let edges: Vec<Vec<usize>> = board.items().iter().map(|item| blockers(board, item)).collect();
        let walk = Walk::walk_edges(&edges);
        let names = |cycle: &Vec<usize>| cycle.iter().map(|index| board.items()[*index].id.clone()).collect();
        let cycles = walk.cycles.told.iter().map(names).collect();
        let depth = walk.depth;
        let nodes = board.items().iter().zip(depth).map(|(item, depth)| describe_node(board, item, depth)).collect();
        Self { nodes, cycles }
    }

    /// Items that can be worked on now, those without a person first; a blocked or waiting
    /// item is none.
    pub fn ready_items(&self) -> Vec<&WorkNode> {
        let is_open = |node: &&WorkNode| {
            matches!(node.status, Some(WorkStatus::Draft | WorkStatus::Candidate)) && node.waits_for.is_empty()
        };
        let mut ready: Vec<&WorkNode> = self.nodes.iter().filter(is_open).filter(|node| node.depth.is_some()).collect();
        ready.sort_by_key(|node| (node.work_type != Some(WorkType::Afk), node.depth));
        ready
    }

    /// The graph in the DOT language.
    pub fn dot_text(&self) -> String {
        let mut out = "digraph workboard {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
        for node in &self.nodes {
            let status = node.status.map_or("unknown", WorkStatus::as_str);
            // Quotes and backslashes would end or change a label.
            let title = contract::text::show_controls(&node.title).replace('"', "'").replace(['\\', '\n'], " ");
            out.push_str(&format!("  \"{0}\" [label=\"{0}\\n{title}\\n{status}\"];\n", node.id));
        }
        for node in &self.nodes {
            node.blocked_by.iter().for_each(|from| out.push_str(&format!("  \"{from}\" -> \"{}\";\n", node.id)));
        }
        out.push_str("}\n");
        out
    }
}

fn blockers(board: &Workboard, item: &BoardItem) -> Vec<usize> {
    item.blocked_by.iter().filter_map(|id| board.index_of(id)).collect()
}

fn describe_node(board: &Workboard, item: &BoardItem, depth: Option<usize>) -> WorkNode {
    let is_open = |id: &&String| board.find_item(id).is_none_or(|other| other.status != Some(WorkStatus::Validated));
    WorkNode {
        id: item.id.clone(),
        title: item.title.clone(),
        work_type: item.work_type,
        status: item.status,
        blocked_by: item.blocked_by.clone(),
        waits_for: item.blocked_by.iter().filter(is_open).cloned().collect(),
        depth,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    OnPath,
    Done,
}

/// Depth-first walk without recursion, so that a chain of any length is walked.
struct Walk<'e> {
    edges: &'e [Vec<usize>],
    state: Vec<Seen>,
    depth: Vec<Option<usize>>,
    /// Place of an item on the path, while it is on it.
    place: Vec<usize>,
    cycles: CycleList,
}

/// Cycles that are reported. Two that share an item are both reported on a board of usual size; beyond that the second waits until
/// the first is mended, as the cycles of a hostile board have together the square of its length.
#[derive(Default)]
struct CycleList {
    told: Vec<Vec<usize>>,
    /// Items of all reported cycles together.
    length: usize,
    /// Number of items at the beginning of the path of which the last is in a reported cycle.
    covered: usize,
}

/// Cycles of a graph, each as the path around it, its first number again at the end; in linear time.
pub(crate) fn find_cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    Walk::walk_edges(edges).cycles.told
}

impl<'e> Walk<'e> {
    fn walk_edges(edges: &'e [Vec<usize>]) -> Self {
        let mut walk = Self {
            edges,
            state: vec![Seen::Not; edges.len()],
            depth: vec![None; edges.len()],
            place: vec![0; edges.len()],
            cycles: CycleList::default(),
        };
        (0..edges.len()).for_each(|start| walk.visit_from(start));
        walk
    }

    fn visit_from(&mut self, start: usize) {
        if self.state[start] != Seen::Not {
            return;
        }
        let mut path = vec![(start, 0)];
        (self.state[start], self.place[start]) = (Seen::OnPath, 0);
        while let Some((here, next)) = path.last_mut() {
            let (here, edge) = (*here, self.edges[*here].get(*next).copied());
            *next += 1;
            match edge.map(|to| (to, self.state[to])) {
                Some((to, Seen::Not)) => {
                    self.state[to] = Seen::OnPath;
                    self.place[to] = path.len();
                    path.push((to, 0));
                }
                Some((to, Seen::OnPath)) => self.keep_cycle(&path, to),
                Some((_, Seen::Done)) => {}
                None => {
                    self.state[here] = Seen::Done;
                    self.depth[here] = self.depth_of(here);
                    path.pop();
                    self.cycles.covered = self.cycles.covered.min(path.len());
                }
            }
        }
    }

    fn keep_cycle(&mut self, path: &[(usize, usize)], to: usize) {
        let from = self.place[to];
        let is_apart = from >= self.cycles.covered;
        if !is_apart && self.cycles.length > MOST_SHARED {
            return;
        }
        let mut cycle: Vec<usize> = path[from..].iter().map(|(index, _)| *index).collect();
        cycle.push(to);
        self.cycles.length += cycle.len();
        self.cycles.covered = path.len();
        self.cycles.told.push(cycle);
    }

    /// None for an item of a cycle, or behind one.
    fn depth_of(&self, here: usize) -> Option<usize> {
        let below =
            self.edges[here].iter().map(|to| (self.state[*to] == Seen::Done).then_some(self.depth[*to]).flatten());
        below.collect::<Option<Vec<usize>>>().map(|depths| depths.into_iter().max().map_or(0, |deepest| deepest + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board_of(edges: &[(&str, &str)]) -> Workboard {
        let mut text = "items:\n".to_owned();
        for (id, blocked_by) in edges {
            text += &format!(
                "  - id: {id}\n    title: t\n    type: AFK\n    status: draft\n    blocked_by: [{blocked_by}]\n"
            );
        }
        Workboard::read_board(&text)
    }

    #[test]
    fn a_cycle_is_told_as_a_path_and_leaves_the_rest_alone() {
        let board = board_of(&[
            ("A-WORK-001", "A-WORK-002"),
            ("A-WORK-002", "A-WORK-003"),
            ("A-WORK-003", "A-WORK-001"),
            ("A-WORK-004", ""),
        ]);
        let graph = WorkGraph::of_board(&board);
        assert_eq!(graph.cycles, [["A-WORK-001", "A-WORK-002", "A-WORK-003", "A-WORK-001"]]);
        let ready: Vec<&str> = graph.ready_items().iter().map(|node| node.id.as_str()).collect();
        assert_eq!(ready, ["A-WORK-004"]);
    }

    #[test]
    fn cycles_that_share_an_item_are_both_told() {
        let board = board_of(&[
            ("A-WORK-001", "A-WORK-002, A-WORK-003"),
            ("A-WORK-002", "A-WORK-001"),
            ("A-WORK-003", "A-WORK-001"),
        ]);
        let graph = WorkGraph::of_board(&board);
        assert_eq!(
            graph.cycles,
            [["A-WORK-001", "A-WORK-002", "A-WORK-001"], ["A-WORK-001", "A-WORK-003", "A-WORK-001"]]
        );
    }

    #[test]
    fn cycles_of_a_long_tangle_have_no_more_items_than_a_multiple_of_the_board() {
        let ids: Vec<String> = (0..3_000).map(|number| format!("A-WORK-{number:05}")).collect();
        let blocked: Vec<String> = (0..ids.len())
            .map(|at| ids.get(at + 1).map_or(ids[0].clone(), |next| format!("{}, {next}", ids[0])))
            .collect();
        let edges: Vec<(&str, &str)> = ids.iter().zip(&blocked).map(|(id, by)| (id.as_str(), by.as_str())).collect();
        let graph = WorkGraph::of_board(&board_of(&edges));
        let told: usize = graph.cycles.iter().map(Vec::len).sum();
        assert!(!graph.cycles.is_empty() && told < 3 * ids.len(), "{told}");
        assert_eq!(graph.ready_items(), Vec::<&WorkNode>::new());
    }

    #[test]
    fn a_long_chain_is_walked_and_has_its_depth() {
        let ids: Vec<String> = (0..20_000).map(|number| format!("A-WORK-{number:05}")).collect();
        let edges: Vec<(&str, &str)> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| (id.as_str(), at.checked_sub(1).map_or("", |at| ids[at].as_str())))
            .collect();
        let graph = WorkGraph::of_board(&board_of(&edges));
        assert_eq!(graph.nodes.last().and_then(|node| node.depth), Some(19_999));
        assert_eq!(graph.cycles.len(), 0);
    }
}
