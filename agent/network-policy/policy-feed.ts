import type { NetworkPolicy, Pod, PodAddress, PodAddressSlice } from '../../api/generated/types.ts';
import { mirroredUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { Labels } from '../../api/meta/labels.ts';
import { labels as wellKnownLabels } from '../../api/meta/well-known.ts';
import type { Informer } from '../../client/informer/informer.ts';
import { factsOf, type PodFacts } from './facts.ts';
import type { PolicyTable } from './policy-table.ts';

type Source<T> = Pick<Informer<T>, 'lister' | 'addHandler'>;

/** What a node knows of policies, as an agent after this one needs it. */
export interface KnownPolicies {
  readonly policies: readonly NetworkPolicy[];
  readonly slices: readonly PodAddressSlice[];
  /** Pods of this node, by uid. */
  readonly pods: readonly (readonly [uid: string, facts: PodFacts])[];
}

export interface PolicyFeedOptions {
  readonly nodeName: string;
  readonly policies: Source<NetworkPolicy>;
  readonly slices: Source<PodAddressSlice>;
  /** This node's. */
  readonly pods: Source<Pod>;
  readonly table: Pick<PolicyTable, 'setPolicy' | 'setPeer' | 'setLocal'>;
  /** Something of what is known is another one now. */
  changed(): void;
}

/**
 * Tells the table each change of policies, of other nodes' pods (slices), and of this node's. Which pods are here, at
 * which address, the node's network says: `admit` before a pod's link is made, `left` after it is gone.
 */
export class PolicyFeed {
  readonly #options: PolicyFeedOptions;
  /** In use until all informers have synced; their changes wait until then. */
  #kept: KnownPolicies | undefined;
  #isLive = false;
  /** Pods of this node by uid, and the uids of those that have an address. */
  readonly #facts = new Map<string, PodFacts>();
  readonly #locals = new Map<string, string>();
  /** Which slice a pod is in: one that moves comes to the next before it leaves the first. */
  readonly #sliceOf = new Map<string, string>();
  readonly #namespaceLabels = new Map<string, Labels>();

  constructor(options: PolicyFeedOptions) {
    this.#options = options;
  }

  /** A pod of this node is about to get this address. */
  admit(address: string, uid: string, { namespace, labels, ports }: PodFacts): void {
    // What the informer told is newer.
    if (!this.#facts.has(uid)) this.#facts.set(uid, { namespace, labels, ports });
    this.#locals.set(address, uid);
    this.#setLocal(address);
    this.#options.changed();
  }

  /** The engine says that these are in use, by pods that other agents may have started. */
  found(all: readonly { readonly address: string; readonly uid: string }[]): void {
    for (const { address, uid } of all) {
      if (this.#locals.get(address) === uid) continue;
      this.#locals.set(address, uid);
      this.#setLocal(address);
    }
  }

  /** The link of this address is gone. */
  left(address: string): void {
    const uid = this.#locals.get(address);
    if (uid === undefined) return;
    this.#locals.delete(address);
    if (!this.#isKnown(uid) && ![...this.#locals.values()].includes(uid)) this.#facts.delete(uid);
    this.#options.table.setLocal(address, null);
    this.#options.table.setPeer(localKey(address), undefined);
  }

  /** Begins with what an agent before knew, because the server does not answer. */
  useKept(kept: KnownPolicies): void {
    this.#kept = kept;
    for (const [uid, facts] of kept.pods) if (!this.#facts.has(uid)) this.#facts.set(uid, facts);
    for (const policy of kept.policies) this.#options.table.setPolicy(objectKey(policy), policy);
    for (const slice of kept.slices) this.#setSlice(slice);
    for (const address of this.#locals.keys()) this.#setLocal(address);
  }

  /** All informers have synced: what they have is all there is. */
  synced(): void {
    const { kept, policies, slices, pods, table, changed } = { ...this.#options, kept: this.#kept };
    this.#kept = undefined;
    this.#isLive = true;
    const here = new Set(policies.lister.list().map(objectKey));
    for (const key of kept?.policies.map(objectKey) ?? []) if (!here.has(key)) table.setPolicy(key, undefined);
    for (const policy of policies.lister.list()) table.setPolicy(objectKey(policy), policy);
    // A slice of the same name is another one by now.
    for (const slice of kept?.slices ?? []) this.#setSlice(undefined, slice);
    for (const slice of slices.lister.list()) this.#setSlice(slice);
    for (const pod of pods.lister.list()) this.#facts.set(uidOf(pod), factsOf(pod));
    for (const address of this.#locals.keys()) this.#setLocal(address);
    changed();
  }

  known(): KnownPolicies {
    const { policies, slices } = this.#options;
    const uids = new Set(this.#locals.values());
    return {
      policies: this.#kept?.policies ?? policies.lister.list(),
      slices: this.#kept?.slices ?? slices.lister.list(),
      pods: [...this.#facts].filter(([uid]) => uids.has(uid)),
    };
  }

  /** Follows the informers until the returned function is called. */
  follow(): () => void {
    const { policies, slices, pods, table, changed } = this.#options;
    const ifLive = (change: () => void): void => {
      if (!this.#isLive) return;
      change();
      changed();
    };
    const setPolicy = (policy: NetworkPolicy) => ifLive(() => table.setPolicy(objectKey(policy), policy));
    const leave = [
      policies.addHandler({
        name: 'network-policies',
        onAdd: setPolicy,
        onUpdate: setPolicy,
        onDelete: (policy) => ifLive(() => table.setPolicy(objectKey(policy), undefined)),
      }),
      slices.addHandler({
        name: 'network-policies',
        onAdd: (slice) => ifLive(() => this.#setSlice(slice)),
        onUpdate: (slice, old) => ifLive(() => this.#setSlice(slice, old)),
        onDelete: (slice) => ifLive(() => this.#setSlice(undefined, slice)),
      }),
      pods.addHandler({
        name: 'network-policies',
        onAdd: (pod) => ifLive(() => this.#setPod(pod)),
        onUpdate: (pod) => ifLive(() => this.#setPod(pod)),
        onDelete: (pod) => {
          // While it has an address, its policies hold.
          if (![...this.#locals.values()].includes(uidOf(pod))) this.#facts.delete(uidOf(pod));
        },
      }),
    ];
    return () => {
      for (const each of leave) each();
    };
  }

  #setPod(pod: Pod): void {
    const [uid, facts] = [uidOf(pod), factsOf(pod)];
    if (JSON.stringify(facts) === JSON.stringify(this.#facts.get(uid))) return;
    this.#facts.set(uid, facts);
    for (const [address, held] of this.#locals) if (held === uid) this.#setLocal(address);
  }

  /** A pod of this node is a peer at once: the slice that names it comes later. */
  #setLocal(address: string): void {
    const { table } = this.#options;
    const facts = this.#facts.get(this.#locals.get(address) ?? '');
    table.setLocal(address, facts);
    const peer = facts && { ...facts, namespaceLabels: this.#labelsOf(facts.namespace), addresses: [address] };
    table.setPeer(localKey(address), peer);
  }

  #setSlice(next: PodAddressSlice | undefined, old?: PodAddressSlice): void {
    const { table, nodeName } = this.#options;
    const key = objectKey((next ?? old)!);
    const namespace = (next ?? old)?.metadata?.namespace ?? '';
    if (next) this.#setNamespace(namespace, next.namespaceLabels ?? {});
    const isSameNamespace = JSON.stringify(next?.namespaceLabels) === JSON.stringify(old?.namespaceLabels);
    const before = new Map((old?.pods ?? []).map((pod) => [pod.uid ?? '', isSameNamespace ? JSON.stringify(pod) : '']));
    for (const pod of next?.pods ?? []) {
      const uid = pod.uid ?? '';
      const isSame = before.get(uid) === JSON.stringify(pod) && this.#sliceOf.get(uid) === key;
      before.delete(uid);
      if (isSame || pod.nodeName === nodeName) continue;
      this.#sliceOf.set(uid, key);
      table.setPeer(uid, { ...peerOf(pod, namespace), namespaceLabels: this.#labelsOf(namespace) });
    }
    for (const uid of before.keys()) {
      if (this.#sliceOf.get(uid) !== key) continue;
      this.#sliceOf.delete(uid);
      table.setPeer(uid, undefined);
    }
    if (next === undefined && !this.#options.slices.lister.list().some((each) => each.metadata?.namespace === namespace))
      this.#namespaceLabels.delete(namespace);
  }

  #setNamespace(namespace: string, labels: Labels): void {
    if (JSON.stringify(labels) === JSON.stringify(this.#namespaceLabels.get(namespace))) return;
    this.#namespaceLabels.set(namespace, labels);
    for (const [address, uid] of this.#locals) if (this.#facts.get(uid)?.namespace === namespace) this.#setLocal(address);
  }

  /** Until a slice says more, a namespace has the label that each has. */
  #labelsOf(namespace: string): Labels {
    return this.#namespaceLabels.get(namespace) ?? { [wellKnownLabels.namespaceName]: namespace };
  }

  #isKnown(uid: string): boolean {
    return this.#options.pods.lister.list().some((pod) => uidOf(pod) === uid);
  }
}

const localKey = (address: string): string => `here ${address}`;

/** The uid that the node's containers have: of a mirror, that of the static pod which it shows. */
const uidOf = (pod: Pod): string => mirroredUid(pod) ?? pod.metadata?.uid ?? '';

const peerOf = ({ labels = {}, podIPs = [], ports = [] }: PodAddress, namespace: string) => ({
  ...{ namespace, labels, addresses: podIPs },
  ports: ports.map(({ name = '', protocol = '', containerPort = 0 }) => ({ name, protocol, containerPort })),
});
