import { below } from './service-records.ts';
import { maxNameLength, suffixStart } from './wire.ts';
import type { Zones } from './zones.ts';

/** What a name of a search path may stand for. */
export interface Meaning {
  /** A name of the cluster that there is. */
  readonly own?: string;
  /** Names to ask upstream servers for, in this order, when there is no such name. */
  readonly foreign: readonly string[];
}

const noMeaning: Meaning = { foreign: [] };

/**
 * Does for a client what its resolver library would do next: goes on with the search path of its pod. A library with
 * `ndots:5` asks for NAME.NAMESPACE.svc.DOMAIN first; when there is no such name, this finds what it would have found
 * after up to six more round trips. Pure.
 *
 * A name below a Service of the namespace is no guess of a library (a pod of a StatefulSet that is not ready), and
 * stands for itself; so does a single label outside of the machine's own search domains, which no upstream server
 * knows.
 */
export class SearchPaths {
  readonly #zones: Zones;
  readonly #suffixes = new Map<string, string>();
  #machine: readonly string[] = [];

  constructor(zones: Zones) {
    this.#zones = zones;
  }

  /** The machine's own search domains, as keys: they come after the cluster's in a pod's resolv.conf. */
  setMachine(searches: readonly string[]): void {
    this.#machine = searches;
  }

  /** What the key, which is missing, means to a pod of the namespace. */
  resolve(key: string, namespace: string): Meaning {
    const suffix = this.#suffixOf(namespace);
    const start = suffix === undefined ? -1 : suffixStart(key, suffix);
    if (suffix === undefined || start <= 0) return noMeaning;
    const base = key.slice(0, start);
    const last = lastLabel(base);
    const isSingle = last.length === base.length;
    if (!isSingle && (this.#zones.index.find(last + suffix)?.services ?? 0) > 0) return noMeaning;
    const { zone } = this.#zones.index;
    for (const end of [`\x03svc${zone}`, zone, '\0']) {
      const state = isFitting(base + end) ? this.#zones.find(base + end).state : 'missing';
      // A name with nothing but names below it (a namespace) is none that a client looks for.
      if (state === 'records') return { own: base + end, foreign: [] };
      // With the root's end: the name is fully qualified, and ours.
      if (end === '\0' && state !== 'foreign') return noMeaning;
    }
    return { foreign: [...this.#machine.map((domain) => base + domain), ...(isSingle ? [] : [`${base}\0`])].filter(isFitting) };
  }

  #suffixOf(namespace: string): string | undefined {
    const known = this.#suffixes.get(namespace);
    if (known !== undefined) return known;
    const suffix = below(`${namespace}.svc`, this.#zones.index.zone);
    // Namespaces come and go; what is kept is bounded by those of the pods of one node.
    if (this.#suffixes.size > 1000) this.#suffixes.clear();
    if (suffix !== undefined) this.#suffixes.set(namespace, suffix);
    return suffix;
  }
}

function isFitting(key: string): boolean {
  return key.length <= maxNameLength;
}

/** With its length byte. */
function lastLabel(base: string): string {
  let at = 0;
  for (;;) {
    const next = at + base.charCodeAt(at) + 1;
    if (next >= base.length) return base.slice(at);
    at = next;
  }
}
