import type { NamesChange, PodView } from './changes.ts';

/** Namespaces by the addresses of pods. An address that was given on belongs to the pod that was set last. */
export class PodNamespaces {
  readonly #byAddress = new Map<string, PodView>();
  readonly #pods = new Map<string, PodView>();

  of(address: string): string | undefined {
    return this.#byAddress.get(address)?.namespace;
  }

  apply(change: NamesChange): void {
    if (change.kind === 'set-pod') this.#set(change.pod);
    else if (change.kind === 'delete-pod') this.#delete(`${change.pod.namespace}/${change.pod.name}`);
    else if (change.kind === 'snapshot') {
      this.#byAddress.clear();
      this.#pods.clear();
      for (const pod of change.pods) this.#set(pod);
    }
  }

  #set(pod: PodView): void {
    const key = `${pod.namespace}/${pod.name}`;
    this.#delete(key);
    this.#pods.set(key, pod);
    for (const address of pod.addresses) this.#byAddress.set(address, pod);
  }

  #delete(key: string): void {
    const pod = this.#pods.get(key);
    this.#pods.delete(key);
    for (const address of pod?.addresses ?? []) if (this.#byAddress.get(address) === pod) this.#byAddress.delete(address);
  }
}
