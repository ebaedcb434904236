import { expect } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';
import { startControllers } from './controllers-harness.ts';

/** A server with its controllers, and a command line; no node runs anything: tests say what becomes of pods. */
export interface WorkloadCli {
  readonly server: RunningServer;
  readonly cli: CommandLine;
  /** Words with a space between. */
  berth(words: string): ReturnType<CommandLine['berth']>;
  /** The pods of a workload that "create deployment" and tests label with app=NAME, those that go left out. */
  podsOf(name: string): Promise<Pod[]>;
  /** Waits until there are so many. */
  waitForPods(name: string, count: number): Promise<Pod[]>;
  /** Says of the pods what an agent would. */
  say(pods: readonly Pod[], status: Pod['status'] | ((pod: Pod) => Pod['status'])): Promise<void>;
  /** Says of all pods that are not ready that they are. */
  makeReady(name: string): Promise<void>;
  close(): Promise<void>;
}

export async function openWorkloadCli(): Promise<WorkloadCli> {
  const server = await startServer({ backend: 'memory' });
  const stopControllers = await startControllers(server);
  const cli = await openCommandLine(server.admin);
  // Each command listens for signals until the process ends.
  process.setMaxListeners(100);
  const { pods } = server.client;
  const podsOf = async (name: string): Promise<Pod[]> => {
    const { items } = await pods.list({ namespace: 'default', labelSelector: `app=${name}`, limit: 500 });
    return items.filter(({ metadata }) => !metadata?.deletionTimestamp);
  };
  const say: WorkloadCli['say'] = async (some, status) => {
    for (const pod of some) {
      const key = { namespace: 'default', name: pod.metadata?.name ?? '' };
      const patch = { status: typeof status === 'function' ? status(pod) : status };
      await pods.patch({ ...key, subresource: 'status', type: 'strategic' }, patch);
    }
  };
  return {
    server,
    cli,
    podsOf,
    say,
    berth: (words) => cli.berth(...words.split(' ')),
    async waitForPods(name, count) {
      await expect.poll(async () => (await podsOf(name)).length).toBe(count);
      return podsOf(name);
    },
    async makeReady(name) {
      const lastTransitionTime = new Date().toISOString() as never;
      const unready = (await podsOf(name)).filter(({ status }) => status?.phase !== 'Running');
      await say(unready, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] });
    },
    async close() {
      await cli.close();
      await stopControllers();
      await server.stop();
      await server.remove();
    },
  };
}
