import { isIPv4 } from 'node:net';
import { ChainBudget } from './chain-budget.ts';
import { compileGroup, type GroupChain, type Isolation, type PeerSet } from './compile-group.ts';
import type { CompiledPolicy, PolicyRule } from './compile-policy.ts';
import type { Direction, PodFacts, PolicyPod } from './facts.ts';
import { runAtOnce, type Steps } from './in-turns.ts';
import { type BaseSet, baseSets } from './layout.ts';

/** One element of a set or map, as nft writes it; `value` is empty in a set. */
export interface PolicyElement {
  readonly set: string;
  readonly key: string;
  readonly value: string;
}

/** From one content of the table to the next. An element whose value changes is in both lists. */
export interface PolicyDifference {
  readonly removed: readonly PolicyElement[];
  readonly added: Iterable<PolicyElement>;
  readonly removedChains: readonly string[];
  readonly addedChains: readonly GroupChain[];
  readonly removedSets: readonly string[];
  readonly addedSets: readonly PeerSet[];
}

/** A pod of this node that has no connections because its policies are too large. */
export interface ClosedPod {
  readonly address: string;
  readonly namespace: string;
  readonly direction: Direction;
  /** Whether its namespace has too much in all, or the pod alone. */
  readonly why: 'crowded' | 'oversized';
}

/** Steps pause after so many elements, or peers that a set is asked for. */
const peersOfStep = 100;

const directions: readonly Direction[] = ['ingress', 'egress'];

/** A pod of this node. Facts are undefined where they are not known: then it is closed while there is any policy. */
interface LocalPod {
  readonly facts: PodFacts | undefined;
  isolation: PodIsolation;
}

/** `namespace`: whose budget the chains count in. */
type PodIsolation = { [D in Direction]?: Isolation } & { readonly namespace?: string };

interface LiveSet {
  readonly set: PeerSet;
  users: number;
}

/**
 * What the table holds: chains of the policies that isolate pods of this node, and the peers that they name. A pod that
 * comes or goes as a peer changes its own elements alone; a policy changes the pods of its namespace.
 * While steps of one method pause, no other may be called that changes anything: sets are half full then.
 */
export class PolicyContent {
  readonly #policies = new Map<string, CompiledPolicy>();
  readonly #peers = new Map<string, PolicyPod>();
  readonly #locals = new Map<string, LocalPod>();
  /** Addresses of this node whose policies have to be worked out anew. */
  readonly #dirty = new Set<string>();
  readonly #chains = new Map<string, { readonly chain: GroupChain; users: number }>();
  readonly #sets = new Map<string, LiveSet>();
  /** By set, then by key: the value, and how many want it. */
  readonly #elements = new Map<string, Map<string, { readonly value: string; count: number }>>(
    Object.keys(baseSets).map((name) => [name, new Map()]),
  );
  readonly #budget = new ChainBudget();
  /** Namespaces that have more room than when their pods were worked out. */
  readonly #roomier = new Set<string>();
  readonly #journal = new Journal();

  get policyCount(): number {
    return this.#policies.size;
  }

  get elementCount(): number {
    let count = 0;
    for (const elements of this.#elements.values()) count += elements.size;
    return count;
  }

  /** As it was when the last difference was worked out. */
  closedPods(): ClosedPod[] {
    return [...this.#locals].flatMap(([address, { isolation }]) =>
      directions.flatMap((direction) => {
        const why = isolation[direction];
        return why === 'crowded' || why === 'oversized'
          ? [{ address, namespace: isolation.namespace ?? '', direction, why }]
          : [];
      }),
    );
  }

  setPolicy(key: string, policy: CompiledPolicy | undefined): void {
    const before = this.#policies.get(key);
    if (policy === undefined) this.#policies.delete(key);
    else this.#policies.set(key, policy);
    const namespaces = new Set([before?.namespace, policy?.namespace]);
    for (const [address, { facts }] of this.#locals)
      if (facts === undefined || namespaces.has(facts.namespace)) this.#dirty.add(address);
  }

  /** A pod as a peer of others. */
  setPeer(key: string, pod: PolicyPod | undefined): void {
    runAtOnce(this.setPeerInSteps(key, pod));
  }

  *setPeerInSteps(key: string, pod: PolicyPod | undefined): Steps {
    const before = this.#peers.get(key);
    if (pod === undefined) this.#peers.delete(key);
    else this.#peers.set(key, pod);
    for (const { set } of this.#sets.values()) {
      const isOut = (each: PolicyPod | undefined) => each === undefined || (set.namespace ?? each.namespace) !== each.namespace;
      // What comes first, so that what stays is not counted out and in.
      if (!isOut(pod)) for (const element of set.elementsOf(pod!)) this.#add(set.name, element, '');
      if (!isOut(before)) for (const element of set.elementsOf(before!)) this.#remove(set.name, element);
      yield;
    }
  }

  /** A pod of this node by its address; null: it has gone. */
  setLocal(address: string, facts: PodFacts | undefined | null): void {
    runAtOnce(this.setLocalInSteps(address, facts));
  }

  *setLocalInSteps(address: string, facts: PodFacts | undefined | null): Steps {
    if (!isIPv4(address)) return;
    if (facts !== null) this.#locals.set(address, { facts, isolation: this.#locals.get(address)?.isolation ?? {} });
    else if (this.#locals.has(address)) {
      yield* this.#isolate(address, this.#locals.get(address)!, {});
      this.#locals.delete(address);
    }
    this.#dirty.add(address);
  }

  /** What has changed since the last difference. */
  difference(): PolicyDifference {
    return runAtOnce(this.differenceInSteps());
  }

  *differenceInSteps(): Steps<PolicyDifference> {
    yield* this.#workOut();
    return yield* this.#journal.take({
      value: (set, key) => this.#elements.get(set)?.get(key)?.value,
      chain: (name) => this.#chains.get(name)?.chain,
      set: (name) => (name in baseSets ? name : this.#sets.get(name)?.set),
    });
  }

  /** All of it, as the difference from an empty table. To be read before anything changes. */
  whole(): PolicyDifference {
    this.difference();
    return {
      ...{ removed: [], removedChains: [], removedSets: [] },
      added: { [Symbol.iterator]: () => this.#allElements() },
      addedChains: [...this.#chains.values()].map(({ chain }) => chain),
      addedSets: [...this.#sets.values()].map(({ set }) => set),
    };
  }

  *#allElements(): Generator<PolicyElement, undefined> {
    for (const [set, elements] of this.#elements) for (const [key, { value }] of elements) yield { set, key, value };
  }

  *#workOut(): Steps {
    // What was left in the first round may make room for pods that were closed for want of it; they leave nothing.
    while (this.#dirty.size > 0) {
      for (const address of this.#dirty) {
        const local = this.#locals.get(address);
        if (local) yield* this.#isolate(address, local, this.#isolationOf(local.facts));
        yield;
      }
      this.#dirty.clear();
      for (const { address, namespace, why } of this.closedPods())
        if (why === 'crowded' && this.#roomier.has(namespace)) this.#dirty.add(address);
      this.#roomier.clear();
    }
  }

  #isolationOf(facts: PodFacts | undefined): PodIsolation {
    if (facts === undefined) return this.#policies.size === 0 ? {} : { ingress: 'closed', egress: 'closed' };
    const chosen = [...this.#policies.values()].filter(
      (policy) => policy.namespace === facts.namespace && policy.selects(facts.labels),
    );
    const of = (direction: Direction): Isolation => {
      const lists = chosen.flatMap((policy): (readonly PolicyRule[])[] => (policy[direction] ? [policy[direction]] : []));
      return lists.length === 0 ? undefined : compileGroup(direction, lists.flat(), facts);
    };
    return { ingress: of('ingress'), egress: of('egress'), namespace: facts.namespace };
  }

  /** The new chains first, so that what both use stays as it is. */
  *#isolate(address: string, local: LocalPod, wanted: PodIsolation): Steps {
    const before = local.isolation;
    const next = { ...wanted };
    const isIsolated = (isolation: PodIsolation): boolean => directions.some((each) => isolation[each] !== undefined);
    for (const direction of directions) {
      const was = before[direction];
      const is = yield* this.#use(wanted.namespace ?? '', wanted[direction]);
      next[direction] = is;
      if (verdictOf(was) !== verdictOf(is)) {
        if (was !== undefined) this.#remove(direction, address);
        if (is !== undefined) this.#add(direction, address, verdictOf(is));
      }
      if (typeof was === 'object') yield* this.#leaveChain(before.namespace ?? '', was);
    }
    const pair = `${address} . ${address}`;
    if (isIsolated(next) && !isIsolated(before)) this.#add('itself', pair, '');
    if (!isIsolated(next) && isIsolated(before)) this.#remove('itself', pair);
    local.isolation = next;
  }

  *#use(namespace: string, isolation: Isolation): Steps<Isolation> {
    if (typeof isolation !== 'object') return isolation;
    if (!this.#budget.use(namespace, isolation)) return 'crowded';
    yield* this.#useChain(isolation);
    return isolation;
  }

  *#useChain(chain: GroupChain): Steps {
    const known = this.#chains.get(chain.name);
    if (known) {
      known.users++;
      return;
    }
    this.#journal.chain(chain.name, undefined);
    this.#chains.set(chain.name, { chain, users: 1 });
    for (const set of chain.sets) yield* this.#useSet(set);
  }

  *#leaveChain(namespace: string, chain: GroupChain): Steps {
    const { name } = chain;
    if (this.#budget.leave(namespace, chain)) this.#roomier.add(namespace);
    const known = this.#chains.get(name)!;
    if (--known.users > 0) return;
    this.#journal.chain(name, known.chain);
    this.#chains.delete(name);
    for (const set of known.chain.sets) {
      this.#leaveSet(set);
      yield;
    }
  }

  *#useSet(set: PeerSet): Steps {
    const known = this.#sets.get(set.name);
    if (known) {
      known.users++;
      return;
    }
    this.#journal.set(set.name, undefined);
    this.#sets.set(set.name, { set, users: 1 });
    this.#elements.set(set.name, new Map());
    let asked = 0;
    for (const pod of this.#peers.values()) {
      if (++asked % peersOfStep === 0) yield;
      if ((set.namespace ?? pod.namespace) === pod.namespace)
        for (const element of set.elementsOf(pod)) this.#add(set.name, element, '');
    }
  }

  #leaveSet({ name }: PeerSet): void {
    const known = this.#sets.get(name)!;
    if (--known.users > 0) return;
    for (const [key, { value }] of this.#elements.get(name)!) this.#journal.element(name, key, value);
    this.#journal.set(name, known.set);
    this.#elements.delete(name);
    this.#sets.delete(name);
  }

  #add(set: BaseSet | (string & {}), key: string, value: string): void {
    const elements = this.#elements.get(set)!;
    const known = elements.get(key);
    if (known) {
      known.count++;
      return;
    }
    this.#journal.element(set, key, undefined);
    elements.set(key, { value, count: 1 });
  }

  #remove(set: string, key: string): void {
    const elements = this.#elements.get(set)!;
    const known = elements.get(key)!;
    if (--known.count > 0) return;
    this.#journal.element(set, key, known.value);
    elements.delete(key);
  }
}

const verdictOf = (isolation: Isolation): string =>
  isolation === undefined ? '' : typeof isolation === 'string' ? 'drop' : `jump ${isolation.name}`;

/** What there is now. */
interface Present {
  value(set: string, key: string): string | undefined;
  chain(name: string): GroupChain | undefined;
  /** Anything where there is such a set. */
  set(name: string): PeerSet | string | undefined;
}

/** What was touched since the last difference, as it was before. */
class Journal {
  readonly #elements = new Map<string, { readonly set: string; readonly key: string; readonly value: string | undefined }>();
  readonly #chains = new Map<string, GroupChain | undefined>();
  readonly #sets = new Map<string, PeerSet | undefined>();

  element(set: string, key: string, value: string | undefined): void {
    const id = `${set} ${key}`;
    if (!this.#elements.has(id)) this.#elements.set(id, { set, key, value });
  }

  chain(name: string, before: GroupChain | undefined): void {
    if (!this.#chains.has(name)) this.#chains.set(name, before);
  }

  set(name: string, before: PeerSet | undefined): void {
    if (!this.#sets.has(name)) this.#sets.set(name, before);
  }

  *take(now: Present): Steps<PolicyDifference> {
    const [removed, added]: [PolicyElement[], PolicyElement[]] = [[], []];
    let seen = 0;
    for (const { set, key, value: before } of this.#elements.values()) {
      if (++seen % peersOfStep === 0) yield;
      const value = now.value(set, key);
      if (value === before) continue;
      // The elements of a set go with it.
      if (before !== undefined && now.set(set) !== undefined) removed.push({ set, key, value: before });
      if (value !== undefined) added.push({ set, key, value });
    }
    const chains = [...this.#chains].filter(([name, before]) => (before === undefined) !== (now.chain(name) === undefined));
    const sets = [...this.#sets].filter(([name, before]) => (before === undefined) !== (now.set(name) === undefined));
    const difference: PolicyDifference = {
      ...{ removed, added },
      removedChains: chains.flatMap(([name, before]) => (before === undefined ? [] : [name])),
      addedChains: chains.flatMap(([name, before]) => (before === undefined ? [now.chain(name)!] : [])),
      removedSets: sets.flatMap(([name, before]) => (before === undefined ? [] : [name])),
      addedSets: sets.flatMap(([name, before]) => (before === undefined ? [now.set(name) as PeerSet] : [])),
    };
    this.#elements.clear();
    this.#chains.clear();
    this.#sets.clear();
    return difference;
  }
}
