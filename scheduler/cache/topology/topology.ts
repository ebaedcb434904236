import type { Node } from '../../../api/generated/types.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { Labels } from '../../../api/meta/labels.ts';
import type { PodInfo } from '../../framework/pod-info.ts';
import type { PodFace, PodSelection } from '../../framework/pod-selection.ts';
import { createCarriedTerms } from './carried-terms.ts';
import { createDomainColumns } from './domains.ts';
import { createNodeSets, type NodeChoice } from './node-sets.ts';
import { type Carried, createPodClasses, type PodClass, type Population, type TermKind } from './pod-classes.ts';
import { createTallies, type Tally } from './tallies.ts';

/**
 * Where the pods are that others speak of, kept as pods and nodes come and go: how many pods of a selection are in each domain of a label, and which
 * pods on nodes have a term about a pod. What an attempt asks for the first time is counted once and kept up from then on, so that
 * the work of an attempt grows with nodes or with domains, never with nodes times pods.
 *
 * - A *class* is all pods that no selector can tell apart; a *population* is the classes that one selection chooses.
 * - A *domain* is all nodes with one value of a label. A *tally* counts a population by domain.
 * - A *carried term* is an affinity term of pods on nodes, with how many of them (or their weights) by domain.
 */
export interface Topology {
  /** How many pods of the selection are in each domain of `key`; of the chosen nodes only, if any are. */
  tally(selection: PodSelection, key: string, nodes?: NodeChoice): Tally;
  /** The terms of that kind, of pods on nodes, whose selection has the pod in it. */
  termsAbout(pod: PodFace, kind: TermKind): readonly Carried[];
  /** False when no pod on a node has any term. */
  readonly hasTerms: boolean;
  /** Whether the pod is in the selection. */
  selects(selection: PodSelection, pod: PodFace): boolean;
}

/** What the table of nodes tells of its rows. */
export interface WritableTopology extends Topology {
  /** The row after the last one is a new node. */
  write(row: number, there: PodsThere): void;
  /** The node in `row` is gone, and the node in the last row takes its place. */
  remove(row: number, last: number, there: Omit<PodsThere, 'node'>): void;
  /** Undefined when the namespace is gone. */
  setNamespace(name: string, labels: Labels | undefined): void;
}

/** A node with its pods. */
export interface PodsThere {
  readonly name: string;
  readonly node: Node;
  readonly pods: ReadonlyMap<string, PodInfo>;
  /** For each pod that came, left or changed since the row was last written: what it was then. */
  readonly before: ReadonlyMap<string, PodInfo | undefined>;
}

/** `rowOf`: where a node is, by name. */
export function createTopology(rowOf: (node: string) => number | undefined): WritableTopology {
  const nodes: Node[] = [];
  const names: string[] = [];
  const columns = createDomainColumns(nodes);
  const sets = createNodeSets(nodes);
  const classes = createPodClasses({ onMoved: move });
  const tallies = createTallies({ classes, columns, sets, rowOf });
  const terms = createCarriedTerms({ classes, columns });

  /** A class is in a population, or no longer, because of its namespace's labels. */
  function move(podClass: PodClass, { tallies: counters }: Population, sign: 1 | -1): void {
    for (const counter of counters) for (const [name, pods] of podClass.nodes) counter.add(rowOf(name)!, sign * pods);
  }

  function count(row: number, { face, terms: said }: PodInfo, sign: 1 | -1): void {
    const podClass = classes.of(face);
    classes.count(podClass, names[row]!, sign);
    place(row, podClass, sign);
    terms.count(row, said, sign);
  }

  function place(row: number, podClass: PodClass, sign: 1 | -1): void {
    for (const { tallies: counters } of podClass.populations) for (const counter of counters) counter.add(row, sign);
  }

  /** The node's domains change, with all its pods in it. */
  function relocate(row: number, node: Node, pods: Iterable<PodInfo>): void {
    const all = [...pods];
    const shift = (sign: 1 | -1) => {
      for (const { face, terms: said } of all) {
        place(row, classes.of(face), sign);
        terms.place(row, said, sign);
      }
    };
    shift(-1);
    leave(row);
    enter(row, node);
    shift(1);
  }

  function enter(row: number, node: Node): void {
    nodes[row] = node;
    columns.enter(row);
    sets.enter(row);
    tallies.enter(row);
  }

  function leave(row: number): void {
    tallies.leave(row);
    columns.leave(row);
  }

  return {
    tally: tallies.get,
    termsAbout: (face, kind) => terms.about(classes.of(face), kind),
    get hasTerms() {
      return terms.size > 0;
    },
    selects: classes.selects,
    setNamespace: classes.setNamespace,
    write(row, { name, node, pods, before }) {
      if (row === nodes.length) {
        names[row] = name;
        enter(row, node);
        for (const pod of pods.values()) count(row, pod, 1);
        return;
      }
      for (const [uid, was] of before) {
        const is = pods.get(uid);
        if (was && is && isSame(was, is)) continue;
        if (was) count(row, was, -1);
        if (is) count(row, is, 1);
      }
      if (isElsewhere(nodes[row]!, node)) relocate(row, node, pods.values());
      else nodes[row] = node;
    },
    remove(row, last, { pods, before }) {
      for (const was of before.values()) if (was) count(row, was, -1);
      for (const [uid, pod] of pods) if (!before.has(uid)) count(row, pod, -1);
      leave(row);
      columns.move(row, last);
      sets.move(row, last);
      nodes[row] = nodes[last]!;
      names[row] = names[last]!;
      nodes.length = names.length = last;
    },
  };
}

export type { Carried, NodeChoice, Tally, TermKind };

/** To everything that is counted here. */
function isSame(a: PodInfo, b: PodInfo): boolean {
  return a.face.key === b.face.key && a.terms.key === b.terms.key;
}

/** Whether its labels differ, or its taints, which choices of nodes may look at. */
function isElsewhere(a: Node, b: Node): boolean {
  if (a === b) return false;
  return (
    !equalValues(a.metadata?.labels ?? {}, b.metadata?.labels ?? {}) || !equalValues(a.spec?.taints ?? [], b.spec?.taints ?? [])
  );
}
