import type { Clock } from '../../client/clock.ts';
import { podLink } from './link-commands.ts';
import type { JoinedPod } from './pod-routes.ts';

export interface JoinedPodsOptions {
  /** The names of the machine's links, or of those that a process sees: none where it has ended. */
  readonly linksOf: (pid?: number) => Promise<ReadonlySet<string>>;
  /** What the machine's end of a pod's link is called. */
  readonly nameOf: (address: string) => string;
  readonly clock: Pick<Clock, 'now'>;
}

interface Seen {
  /** Of the machine's end of the link. */
  readonly name: string;
  readonly pid: number;
  readonly at: number;
}

/** How long a pod that was seen joined counts as joined while its link and its process are there. */
const countsMs = 60_000;

/**
 * Tells which pods are joined to the network: the machine's end of the link is there, and the pod's process sees the
 * other (a sandbox that was restarted has another namespace, while its containers keep the first). A link goes as a
 * whole, so a process that has seen its end sees it for as long as the machine's is there. Each pod is looked into once
 * a minute all the same: the engine may restart a sandbox with the process number of before, and a program in the pod
 * may rename the interface.
 */
export class JoinedPods {
  readonly #options: JoinedPodsOptions;
  /** By address. */
  readonly #seen = new Map<string, Seen>();

  constructor(options: JoinedPodsOptions) {
    this.#options = options;
  }

  /** Those of `pods` that are joined. Throws when it cannot be read. */
  async among(pods: readonly JoinedPod[]): Promise<JoinedPod[]> {
    const here = await this.#options.linksOf();
    for (const [address, { name }] of this.#seen) if (!here.has(name)) this.#seen.delete(address);
    const found = await Promise.all(pods.map(async (pod) => ((await this.#isJoined(pod, here)) ? [pod] : [])));
    return found.flat();
  }

  async #isJoined({ address, pid }: JoinedPod, here: ReadonlySet<string>): Promise<boolean> {
    const { linksOf, nameOf, clock } = this.#options;
    const [seen, now] = [this.#seen.get(address), clock.now()];
    if (seen !== undefined && seen.pid === pid && Math.abs(now - seen.at) < countsMs) return true;
    const name = nameOf(address);
    if (!here.has(name)) return false;
    if (pid === undefined) return true;
    const sees = (await linksOf(pid)).has(podLink);
    if (sees) this.#seen.set(address, { name, pid, at: now });
    else this.#seen.delete(address);
    return sees;
  }
}
