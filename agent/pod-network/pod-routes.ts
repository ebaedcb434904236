import { defaultRoute, type PodLink } from './link-commands.ts';
import type { Shell } from './shell.ts';

/** A sandbox with its address; without its process, where that is not known. */
export interface JoinedPod {
  readonly address: string;
  readonly pid: number | undefined;
}

/**
 * Keeps the default routes of running pods within what the ways to other nodes have room for: when a tunnel appears,
 * pods that ran before would learn of it by ICMP, at the cost of their first large datagram to each address. A route
 * that allows less than there is room for stays: it harms nothing.
 */
export class PodRoutes {
  readonly #shell: Shell;
  /** What packets may have at most by the pod's route, by address. Unknown: of a pod that an agent before made. */
  readonly #told = new Map<string, number>();

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  /** A pod was joined, with this MTU. */
  made(address: string, mtu: number): void {
    this.#told.set(address, mtu);
  }

  /** Writes the routes that allow more than `mtu`. `linkMtu` is what those have that say nothing. */
  async hold(pods: readonly JoinedPod[], { mtu, linkMtu }: Pick<PodLink, 'mtu' | 'linkMtu'>): Promise<void> {
    const late = pods.filter(({ address, pid }) => pid !== undefined && (this.#told.get(address) ?? linkMtu) > mtu);
    if (late.length === 0) return;
    const output = await this.#shell.run(late.map((pod) => holdScript(pod, mtu)).join('\n'));
    // The others have ended meanwhile, or are tried again.
    const done = new Set(output.split('\n'));
    for (const { address } of late) if (done.has(address)) this.#told.set(address, mtu);
  }
}

/** A shell script: prints the address when the pod's route is written. */
function holdScript({ address, pid }: JoinedPod, mtu: number): string {
  const ofPod = `/proc/${pid}/ns/net`;
  const write = `nsenter --net=${ofPod} ip route replace ${defaultRoute(address, mtu)} 2>/dev/null`;
  // The process may have ended, and its number be one of the machine's by now.
  return `if [ -e ${ofPod} ] && ! [ ${ofPod} -ef /proc/self/ns/net ] && ${write}; then echo ${address}; fi`;
}
