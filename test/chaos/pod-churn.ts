import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { isPodReady } from '../../api/kinds/pod/readiness.ts';
import { type Client, isNotFound, listAll, type Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type Account, countsOf, expectUnchanged } from './machine-account.ts';
import type { Chance } from './random.ts';

export const image = 'berth/busybox:latest';
export const namespace = 'default';
export const stay = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done';

const podCount = 6;
const patienceMs = 180_000;

/** What happens to the pods in a round. */
const shakes = ['delete', 'recreate', 'replace by force', 'delete while it is dead'] as const;

export interface ChurnOptions {
  readonly client: Client;
  /** Of the machine; the first pods hold these ports of it. */
  readonly hostPorts: readonly number[];
  readonly account: () => Promise<Account>;
  /** What there was before any pod. */
  readonly before: Account;
  /** What a host port answers. */
  readonly page: (port: number) => Promise<string>;
  /** How often containers may have ended by what the test did to the engine. */
  readonly mayRestart: boolean;
}

/**
 * Pods that come and go while something of Berth or the engine is killed,
 * and what must be true of them whenever it is quiet.
 */
export interface Churn {
  readonly names: readonly string[];
  createAll(): Promise<void>;
  /** Lets some pods come and go; after a random while `killed` kills something and returns what starts it again. */
  round(chance: Chance, longestMs: number, quiet: boolean, kill: () => Promise<() => Promise<void>>): Promise<void>;
  /** Waits until no pod is starting or ending; every container there is, is there once. */
  settle(round: number): Promise<void>;
  /** Removes all; nothing of them is left on the machine. */
  clear(): Promise<void>;
}

export function createChurn({ client, hostPorts, account, before, page, mayRestart }: ChurnOptions): Churn {
  const names = Array.from({ length: podCount }, (_, index) => `p${index}`);
  const pods = async (): Promise<Pod[]> => (await listAll(client.pods, { namespace })).items;

  /** Asks for a pod, as far as its predecessor of the same name is gone already. */
  async function create(name: string): Promise<void> {
    await client.pods.create(podOf(name, hostPorts[names.indexOf(name)])).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'ALREADY_EXISTS') throw error;
    });
  }

  async function remove(name: string, gracePeriodSeconds?: number): Promise<void> {
    await client.pods
      .delete({ namespace, name }, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  /** What is known of a late pod, for the failure message. */
  async function story(pod: Pod): Promise<string> {
    const { name, uid } = pod.metadata ?? {};
    const { items } = await client.events.list({ namespace, fieldSelector: `involvedObject.uid=${uid}` });
    const told = items.map(({ reason, message, count }) => `${reason} x${count}: ${message}`);
    return [JSON.stringify([name, pod.metadata?.deletionTimestamp, pod.status]), ...told].join('\n  ');
  }

  async function settled(round: number): Promise<Pod[]> {
    const wanted = await eventually(
      `round ${round}: all pods run or are gone`,
      async () => {
        const all = await pods();
        const late = all.filter((pod) => pod.metadata?.deletionTimestamp !== undefined || !isReady(pod));
        if (late.length > 0) throw new Error((await Promise.all(late.map(story))).join('\n'));
        return all;
      },
      patienceMs,
    );
    const expected = wanted.flatMap((pod) => ['POD', 'main', 'side'].map((each) => `${pod.metadata?.name} ${each} running`));
    await eventually(
      `round ${round}: every container is there once, and no other`,
      async () => {
        const now = await account();
        const alive = now.containers
          .map((each) => each.replace('/', ' '))
          .filter((each) => !mayRestart || each.endsWith('running'));
        // As texts: the difference is seen in the error.
        expect(alive.join(', ')).toBe(expected.sort().join(', '));
        expect(now.folders).toEqual(wanted.map((pod) => pod.metadata?.uid).sort());
        // None is in the engine's network.
        expect(now.endpoints).toEqual(before.endpoints);
        expect(now.links, now.links.join()).toHaveLength(before.links.length + wanted.length);
        return true;
      },
      patienceMs,
    );
    return wanted;
  }

  return {
    names,
    async createAll() {
      for (const name of names) await create(name);
    },
    async round(chance, longestMs, quiet, kill) {
      const some = names.filter(() => chance.next() < 0.5);
      const what = quiet ? 'create' : chance.pick(shakes);
      const whileDead = what === 'delete while it is dead';
      if (what === 'delete' || what === 'recreate') await Promise.all(some.map((name) => remove(name)));
      if (what === 'replace by force') await Promise.all(some.map((name) => remove(name, 0)));
      const wanted = names.filter((name) => what !== 'delete' || !some.includes(name));
      if (!whileDead) await Promise.all(wanted.map((name) => create(name)));
      await delay(chance.below(longestMs));
      const revive = await kill();
      if (whileDead) await Promise.all(some.map((name) => remove(name, chance.pick([undefined, 0, 1]))));
      if (whileDead) await Promise.all(some.map((name) => create(name)));
      await revive();
    },
    async settle(round) {
      const wanted = await settled(round);
      for (const pod of wanted)
        for (const { restartCount } of pod.status?.containerStatuses ?? [])
          if (!mayRestart) expect(restartCount, `${pod.metadata?.name}`).toBe(0);
      for (const port of hostPorts.filter((_, index) => wanted.some((pod) => pod.metadata?.name === names[index])))
        await eventually(`the page on host port ${port}`, async () =>
          (await page(port)).includes('heresecret') ? true : undefined,
        );
      process.stdout.write(`round ${round}: ${wanted.length} pods; ${countsOf(await account())}\n`);
    },
    async clear() {
      await Promise.all(names.map((name) => remove(name)));
      await eventually(
        'all pods are gone',
        async () => {
          const left = await pods();
          if (left.length > 0) throw new Error((await Promise.all(left.map(story))).join('\n'));
          return true;
        },
        patienceMs,
      );
      const after = await eventually(
        'the machine is as it was',
        async () => {
          const now = await account();
          expectUnchanged(before, now);
          return now;
        },
        patienceMs,
      );
      process.stdout.write(`before: ${countsOf(before)}\nafter:  ${countsOf(after)}\n`);
    },
  };
}

/** Two containers and every kind of volume that the agent makes; with a port of the machine it serves a page there. */
function podOf(name: string, hostPort: number | undefined): Pod {
  const volumeMounts = ['disk', 'memory', 'files', 'keys'].map((each) => ({ name: each, mountPath: `/${each}` }));
  const main = { name: 'main', image, command: ['sh', '-c', stay], imagePullPolicy: 'IfNotPresent', volumeMounts };
  const serve = 'cat /files/text /keys/key >/disk/index.html && exec httpd -f -p 80 -h /disk';
  const web = { ...main, command: ['sh', '-c', serve], ports: [{ containerPort: 80, hostPort }] };
  return {
    metadata: { namespace, name },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [hostPort === undefined ? main : web, { ...main, name: 'side' }],
      volumes: [
        { name: 'disk', volumeSource: { emptyDir: {} } },
        { name: 'memory', volumeSource: { emptyDir: { medium: 'Memory' } } },
        { name: 'files', volumeSource: { configMap: { localObjectReference: { name: 'files' } } } },
        { name: 'keys', volumeSource: { secret: { secretName: 'keys' } } },
      ],
    },
  };
}

/** The objects that the pods mount. */
export async function createMounted(client: Client): Promise<void> {
  await client.configMaps.create({ metadata: { namespace, name: 'files' }, data: { text: 'here' } });
  await client.secrets.create({ metadata: { namespace, name: 'keys' }, stringData: { key: 'secret' } });
}

export const isReady = (pod: Pod): boolean => isPodReady(pod);
