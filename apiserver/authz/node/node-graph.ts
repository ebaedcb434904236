import type { PersistentVolume, Pod } from '../../../api/generated/types.ts';
import { type Entry, placeOf } from '../../watch/entry.ts';
import type { KindCache } from '../../watch/kind-cache.ts';
import { namesNode } from '../../watch/names-node.ts';
import { referencesOf } from './pod-references.ts';

/** What one pod makes its node read. */
interface Edges {
  readonly node: string;
  /** Storage keys; pods refer to kinds of the core group alone, whose keys have no group. */
  readonly keys: readonly string[];
}

/**
 * Which objects the pods of each node use, kept incrementally from the watch cache of pods. A pod that has ended counts
 * until it is deleted, because its node still reports on it.
 */
export class NodeGraph {
  readonly #pods: KindCache;
  readonly #volumes: KindCache | undefined;
  readonly #edges = new Map<string, Edges>();
  /** How many pods of a node use an object. */
  readonly #uses = new Map<string, Map<string, number>>();

  constructor(pods: KindCache, volumes: KindCache | undefined) {
    this.#pods = pods;
    this.#volumes = volumes;
  }

  /** Begins to follow the cache; the returned function ends it. */
  observe(): () => void {
    return this.#pods.observe({
      reset: (entries) => {
        this.#edges.clear();
        this.#uses.clear();
        for (const entry of entries) this.#pods.attempt(entry.key, () => this.#put(entry));
      },
      event: ({ type, entry }) => {
        this.#remove(entry.key);
        if (type !== 'DELETED') this.#put(entry);
      },
    });
  }

  /** Whether the pod is bound to the node. */
  hasPod(node: string, key: string): boolean {
    return this.#edges.get(key)?.node === node;
  }

  /** Whether a pod of the node uses the object that is stored under the key. */
  isUsed(node: string, key: string): boolean {
    return this.#uses.get(node)?.has(key) === true;
  }

  /** Whether a pod of the node uses the claim that has the volume. */
  usesVolume(node: string, name: string): boolean {
    const entry = this.#volumes?.get(`persistentvolumes/${name}`);
    if (!entry || !this.#volumes) return false;
    const { claimRef } = (this.#volumes.decoder.decode(entry) as PersistentVolume).spec ?? {};
    return claimRef !== undefined && this.isUsed(node, `persistentvolumeclaims/${claimRef.namespace}/${claimRef.name}`);
  }

  #put(entry: Entry): void {
    if (!namesNode(entry.bytes)) return;
    const pod = this.#pods.decoder.decode(entry) as Pod;
    const node = pod.spec?.nodeName;
    if (!node) return;
    const { namespace } = placeOf(entry.key);
    const keys = [...referencesOf(pod)].map((reference) => reference.replace('/', `/${namespace}/`));
    this.#edges.set(entry.key, { node, keys });
    const uses = this.#uses.get(node) ?? new Map<string, number>();
    for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1);
    if (uses.size > 0) this.#uses.set(node, uses);
  }

  #remove(podKey: string): void {
    const edges = this.#edges.get(podKey);
    if (!edges) return;
    this.#edges.delete(podKey);
    const uses = this.#uses.get(edges.node);
    for (const key of edges.keys) {
      const count = uses?.get(key) ?? 0;
      if (count > 1) uses?.set(key, count - 1);
      else uses?.delete(key);
    }
    if (uses?.size === 0) this.#uses.delete(edges.node);
  }
}
