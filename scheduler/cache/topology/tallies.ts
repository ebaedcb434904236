import type { PodSelection } from '../../framework/pod-selection.ts';
import { lengthened } from './domain-counts.ts';
import type { DomainColumns, Domains, LiveDomains } from './domains.ts';
import type { NodeChoice, NodeSet, NodeSets } from './node-sets.ts';
import type { PodClasses, Population, RowCounter } from './pod-classes.ts';

/** How many pods of a selection are in each domain. */
export interface Tally {
  readonly domains: Domains;
  /** By domain; as long as there are domains or longer. */
  readonly counts: Int32Array;
  /** Their sum. */
  readonly total: number;
  /** How many of the chosen nodes are in each domain; as long as `counts`. */
  readonly nodesIn: Int32Array;
}

/** Tallies that attempts asked for lately. */
export interface Tallies {
  get(selection: PodSelection, key: string, nodes?: NodeChoice): Tally;
  /** The node in `row` has its domains now; pods are counted afterwards. */
  enter(row: number): void;
  /** The node in `row` is about to lose its domains; its pods are no longer counted. */
  leave(row: number): void;
}

/** 256 tallies by host name of 5,000 nodes are 10 MB; the one not asked for longest gives way. */
const mostTallies = 256;

export interface TalliesOptions {
  readonly classes: PodClasses;
  readonly columns: DomainColumns;
  readonly sets: NodeSets;
  readonly rowOf: (node: string) => number | undefined;
}

interface LiveTally extends Tally, RowCounter {
  /** Makes its numbers as long as there are domains. */
  fit(): void;
  enter(row: number, sign: 1 | -1): void;
  end(): void;
}

export function createTallies(options: TalliesOptions): Tallies {
  /** In the order in which they were last asked for. */
  const tallies = new Map<string, LiveTally>();

  function trim(): void {
    if (tallies.size <= mostTallies) return;
    for (const [key, oldest] of tallies) {
      tallies.delete(key);
      oldest.end();
      break;
    }
  }

  return {
    get(selection, topologyKey, nodes) {
      const key = `${selection.key}\n${topologyKey}\n${nodes?.key ?? ''}`;
      const known = tallies.get(key);
      const tally = known ?? createTally({ key, selection, topologyKey, nodes }, options);
      if (known) tallies.delete(key);
      tallies.set(key, tally);
      trim();
      tally.fit();
      return tally;
    },
    enter(row) {
      for (const tally of tallies.values()) tally.enter(row, 1);
    },
    leave(row) {
      for (const tally of tallies.values()) tally.enter(row, -1);
    },
  };
}

interface Wanted {
  readonly key: string;
  readonly selection: PodSelection;
  readonly topologyKey: string;
  readonly nodes: NodeChoice | undefined;
}

function createTally(wanted: Wanted, { classes, columns, sets, rowOf }: TalliesOptions): LiveTally {
  const { key, selection, topologyKey, nodes } = wanted;
  const population: Population = classes.populationOf(selection);
  const domains: LiveDomains = columns.acquire(topologyKey, key);
  const set: NodeSet | undefined = nodes && sets.acquire(nodes, key);
  let counts = new Int32Array(domains.size);
  let chosen = new Int32Array(set ? domains.size : 0);
  let total = 0;

  const tally: LiveTally = {
    domains,
    get counts() {
      return counts;
    },
    get total() {
      return total;
    },
    get nodesIn() {
      return set ? chosen : domains.nodesIn;
    },
    fit() {
      if (counts.length < domains.size) counts = lengthened(counts, domains.size);
      if (set && chosen.length < counts.length) chosen = lengthened(chosen, counts.length);
    },
    add(row, amount) {
      const domain = domains.ids[row]!;
      if (domain < 0 || (set && set.rows[row] === 0)) return;
      if (domain >= counts.length) tally.fit();
      counts[domain]! += amount;
      total += amount;
    },
    enter(row, sign) {
      const domain = domains.ids[row]!;
      if (!set || domain < 0 || set.rows[row] === 0) return;
      if (domain >= chosen.length) tally.fit();
      chosen[domain]! += sign;
    },
    end() {
      population.tallies.delete(tally);
      classes.release(population);
      columns.release(topologyKey, key);
      if (nodes) sets.release(nodes, key);
    },
  };

  population.tallies.add(tally);
  for (const { nodes: places } of population.classes) for (const [name, pods] of places) tally.add(rowOf(name)!, pods);
  for (let row = 0; row < columns.rows; row++) tally.enter(row, 1);
  return tally;
}
