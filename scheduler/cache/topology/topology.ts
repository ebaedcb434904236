import type { Node } from '../../../api/generated/types.ts';
import { equalValues } from '../../../api/meta/equal.ts';
import type { Labels } from '../../../api/meta/labels.ts';
import type { PodInfo } from '../../framework/pod-info.ts';
import type { PodFace, PodSelection } from '../../framework/pod-selection.ts';
import { createCarriedTerms } from './carried-terms.ts';
import { createDomainColumns } from './domains.ts';
import { createNodeSets, type NodeChoice } from './node-sets.ts';
import { type Carried, createPodClasses, type PodClass, type Population, type TermKind } from './pod-classes.ts';
import { createTallies, type Tallies, type Tally } from './tallies.ts';

/**
 * Where the pods are that others speak of, kept as pods and nodes come and go: how many pods of a selection are in each
 * domain of a label, and which pods on nodes have a term about a pod. What an attempt asks for the first time is
 * counted once and kept up from then on, so that the work of an attempt grows with nodes or with domains, never with
 * nodes times pods.
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
  return new LiveTopology(rowOf);
}

class LiveTopology implements WritableTopology {
  readonly #rowOf: (node: string) => number | undefined;
  readonly #nodes: Node[] = [];
  readonly #names: string[] = [];
  readonly #columns = createDomainColumns(this.#nodes);
  readonly #sets = createNodeSets(this.#nodes);
  readonly #classes = createPodClasses({ onMoved: (podClass, population, sign) => this.#move(podClass, population, sign) });
  readonly #tallies: Tallies;
  readonly #terms = createCarriedTerms({ classes: this.#classes, columns: this.#columns });

  constructor(rowOf: (node: string) => number | undefined) {
    this.#rowOf = rowOf;
    this.#tallies = createTallies({ classes: this.#classes, columns: this.#columns, sets: this.#sets, rowOf });
  }

  tally(selection: PodSelection, key: string, nodes?: NodeChoice): Tally {
    return this.#tallies.get(selection, key, nodes);
  }

  selects(selection: PodSelection, pod: PodFace): boolean {
    return this.#classes.selects(selection, pod);
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    this.#classes.setNamespace(name, labels);
  }

  termsAbout(face: PodFace, kind: TermKind): readonly Carried[] {
    return this.#terms.about(this.#classes.of(face), kind);
  }

  get hasTerms(): boolean {
    return this.#terms.size > 0;
  }

  write(row: number, { name, node, pods, before }: PodsThere): void {
    if (row === this.#nodes.length) {
      this.#names[row] = name;
      this.#enter(row, node);
      for (const pod of pods.values()) this.#count(row, pod, 1);
      return;
    }
    for (const [uid, was] of before) {
      const is = pods.get(uid);
      if (was && is && isSame(was, is)) continue;
      if (was) this.#count(row, was, -1);
      if (is) this.#count(row, is, 1);
    }
    if (isElsewhere(this.#nodes[row]!, node)) this.#relocate(row, node, pods.values());
    else this.#nodes[row] = node;
  }

  remove(row: number, last: number, { pods, before }: Omit<PodsThere, 'node'>): void {
    for (const was of before.values()) if (was) this.#count(row, was, -1);
    for (const [uid, pod] of pods) if (!before.has(uid)) this.#count(row, pod, -1);
    this.#leave(row);
    this.#columns.move(row, last);
    this.#sets.move(row, last);
    this.#nodes[row] = this.#nodes[last]!;
    this.#names[row] = this.#names[last]!;
    this.#nodes.length = this.#names.length = last;
  }

  /** A class is in a population, or no longer, because of its namespace's labels. */
  #move(podClass: PodClass, { tallies: counters }: Population, sign: 1 | -1): void {
    for (const counter of counters) for (const [name, pods] of podClass.nodes) counter.add(this.#rowOf(name)!, sign * pods);
  }

  #count(row: number, { face, terms: said }: PodInfo, sign: 1 | -1): void {
    const podClass = this.#classes.of(face);
    this.#classes.count(podClass, this.#names[row]!, sign);
    this.#place(row, podClass, sign);
    this.#terms.count(row, said, sign);
  }

  #place(row: number, podClass: PodClass, sign: 1 | -1): void {
    for (const { tallies: counters } of podClass.populations) for (const counter of counters) counter.add(row, sign);
  }

  /** The node's domains change, with all its pods in it. */
  #relocate(row: number, node: Node, pods: Iterable<PodInfo>): void {
    const all = [...pods];
    const shift = (sign: 1 | -1) => {
      for (const { face, terms: said } of all) {
        this.#place(row, this.#classes.of(face), sign);
        this.#terms.place(row, said, sign);
      }
    };
    shift(-1);
    this.#leave(row);
    this.#enter(row, node);
    shift(1);
  }

  #enter(row: number, node: Node): void {
    this.#nodes[row] = node;
    this.#columns.enter(row);
    this.#sets.enter(row);
    this.#tallies.enter(row);
  }

  #leave(row: number): void {
    this.#tallies.leave(row);
    this.#columns.leave(row);
  }
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
