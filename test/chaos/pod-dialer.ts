import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Cluster } from './cluster.ts';

const program = fileURLToPath(new URL('pod-dialer.js', import.meta.url));

/** A process in a pod's network namespace. Starting processes for each connection would use up its time-out. */
export interface PodDialer {
  /** Dials all of "ADDRESS:PORT" at once, and returns those that answer an HTTP request. One call at a time. */
  dial(targets: readonly string[], connectWithinMs?: number): Promise<string[]>;
  close(): void;
}

/** `pid`: of the container's program, as its host sees it. */
export function createPodDialer(cluster: Cluster, host: string, pid: string): PodDialer {
  const child = cluster.start(host, 'nsenter', `--net=/proc/${pid}/ns/net`, 'node', program);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async dial(targets, connectWithinMs = 2_000) {
      child.stdin.write(`${JSON.stringify({ targets, connectWithinMs })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error(`the dialer of process ${pid} on ${host} ended with ${child.exitCode}`);
      return JSON.parse(value) as string[];
    },
    close: () => void child.stdin.end(),
  };
}
