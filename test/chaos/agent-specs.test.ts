import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiError, type Event, listAll, type Pod } from '../../client/index.ts';
import { eventually } from '../e2e/installation.ts';
import { type ChaosHouse, createChaosHouse, podOf, untouched } from './chaos-house.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import type { Expected, HostileCase } from './hostile/cases.ts';
import { containedCases, objects } from './hostile/contained.ts';
import { refusedCases } from './hostile/refused.ts';
import { type Account, expectUnchanged, takeAccount } from './machine-account.ts';
import { isReady, namespace, stay } from './pod-churn.ts';
import type { BerthProcess } from './processes.ts';

// What careless and hostile people send: each is refused or contained with its reason, and other pods do not notice.
let house: ChaosHouse;
let agent: BerthProcess;
let hasEnded = false;
/** On the machine, outside of everything that pods may reach. */
let outside: string;
let before: Account;
let neighbour: Pod;

const account = () => takeAccount({ dataDir: house.dataDir, nodeName: house.nodeName, hostPorts: [] });

beforeAll(async () => {
  house = await createChaosHouse('specs');
  outside = mkdtempSync(join(tmpdir(), 'berth-outside-'));
  mkdirSync(join(outside, 'part'));
  writeFileSync(join(outside, 'part/text'), 'outside');
  before = await account();
  agent = house.startAgent();
  void agent.ended.then(() => {
    hasEnded = true;
  });
  const well = { handler: { exec: { command: ['true'] } }, periodSeconds: 1, timeoutSeconds: 30 };
  await house.client.pods.create(podOf('neighbour', stay, { livenessProbe: well, readinessProbe: well }));
  neighbour = await house.until('neighbour', 'is ready', isReady);
});
afterAll(async () => {
  await house?.close();
  rmSync(outside, { recursive: true, force: true });
});

/** After everything hostile: the agent is the same process, and so is who lives beside. */
async function nobodyNoticed(): Promise<void> {
  expect(hasEnded).toBe(false);
  expect(untouched(await house.client.pods.get({ namespace, name: 'neighbour' }))).toEqual(untouched(neighbour));
  expect(await house.nodeIsReady()).toBe(true);
  expect(readdirSync(outside, { recursive: true }).sort()).toEqual(['part', 'part/text']);
  expect(readFileSync(join(outside, 'part/text'), 'utf8')).toBe('outside');
}

const nameOf = ({ pod }: HostileCase, index: number): string =>
  (pod as { metadata: { name?: string } }).metadata.name ?? `case-${index}`;

/** The case under a name of its own. */
function named(each: HostileCase, index: number): Parameters<ChaosHouse['client']['objects']['create']>[1] {
  const metadata = (each.pod as { metadata: object }).metadata;
  return { ...each.pod, metadata: { ...metadata, name: nameOf(each, index) } };
}

it('what breaks a rule of the API is refused with its reason, and nothing of it is stored', async () => {
  const wrong: string[] = [];
  const reasons: Record<string, number> = {};
  for (const [index, each] of refusedCases.entries()) {
    if (each.expected.outcome !== 'refused') throw new Error(`${each.what} is in the wrong table`);
    try {
      await house.client.objects.create('Pod', named(each, index));
      wrong.push(`${each.what}: accepted`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const words = [error.message, ...error.violations.map(({ field, description }) => `${field}: ${description}`)].join('\n');
      if (!each.expected.why.test(words)) wrong.push(`${each.what}: ${error.code} ${words.slice(0, 300)}`);
      reasons[error.code] = (reasons[error.code] ?? 0) + 1;
      if (words.length > 10_000) wrong.push(`${each.what}: refused with ${words.length} letters`);
    }
  }
  expect(wrong).toEqual([]);
  expect((await house.client.pods.list({ namespace })).items.map(({ metadata }) => metadata?.name)).toEqual(['neighbour']);
  await nobodyNoticed();
  printCounts('hostile specs refused', { specs: refusedCases.length, ...reasons, violations: 0 });
});

/** Everything that a pod's status and its events say. */
function toldOf({ status, metadata }: Pod, events: readonly Event[]): string {
  const states = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(({ state }) => [
    state?.waiting,
    state?.terminated,
  ]);
  const own = events.filter(({ involvedObject }) => involvedObject?.uid === metadata?.uid);
  const said = [status, ...(status?.conditions ?? []), ...states, ...own];
  return said.flatMap((each) => (each?.message || each?.reason ? [`${each.reason}: ${each.message}`] : [])).join('\n');
}

/** Undefined once it is as expected, else what it is instead. */
function differenceOf(pod: Pod, told: string, expected: Expected): string | undefined {
  const main = pod.status?.containerStatuses?.[0]?.state;
  const instead = `${pod.status?.phase}; ${told.slice(0, 1_000)}`;
  if (expected.outcome === 'harmless') {
    const isSo = pod.status?.phase === 'Succeeded' && expected.says.test(main?.terminated?.message ?? '');
    return isSo ? undefined : instead;
  }
  // A container that the engine or the kernel does not start may have ended with a code of theirs,
  // but never with its own.
  if (main?.running !== undefined || main?.terminated?.exitCode === 0) return `it ran: ${instead}`;
  return expected.outcome !== 'refused' && expected.why.test(told) ? undefined : instead;
}

it('what only the scheduler or the node can judge is contained with its reason', async () => {
  for (const [kind, object] of objects) {
    const { metadata, ...rest } = object as { metadata: object };
    await house.client.objects.create(kind, { ...rest, metadata: { namespace, ...metadata } });
  }
  await Promise.all(containedCases.map((each, index) => house.client.objects.create('Pod', named(each, index))));
  const outcomes: Record<string, number> = {};
  const left = new Map(containedCases.map((each, index) => [nameOf(each, index), each]));
  let longest = 0;
  await eventually(
    'every spec has come to what it should',
    async () => {
      const [pods, events] = await Promise.all([
        listAll(house.client.pods, { namespace }),
        listAll(house.client.events, { namespace }),
      ]);
      const wrong: string[] = [];
      for (const pod of pods.items) {
        const name = pod.metadata?.name ?? '';
        const each = left.get(name);
        if (each === undefined) continue;
        const told = toldOf(pod, events.items);
        longest = Math.max(longest, told.length);
        const difference = differenceOf(pod, told, each.expected);
        if (difference !== undefined) {
          wrong.push(`${each.what}: ${difference}`);
          continue;
        }
        left.delete(name);
        outcomes[each.expected.outcome] = (outcomes[each.expected.outcome] ?? 0) + 1;
      }
      if (left.size === 0) return true;
      throw new Error(`${left.size} are not:\n${wrong.join('\n')}`);
    },
    300_000,
  );
  // What people read stays readable, whatever a spec contains.
  expect(longest).toBeLessThan(20_000);
  await nobodyNoticed();
  printCounts('hostile specs contained', { specs: containedCases.length, ...outcomes, violations: 0 });
});

/** Makes a folder of a volume a link out of it and back, over and over, and notes how often. */
const swap = `cd /v; mv() { busybox mv -T "$@" 2>/dev/null; }
i=0; while :; do
  mv dir kept; mv evil dir || { rm -rf dir; mv evil dir; }
  for each in 1 2 3; do busybox true; done
  mv dir evil; mv kept dir || { rm -rf dir; mv kept dir; }
  i=$((i+1)); echo $i >swaps
done`;

it('a folder that a container makes a link out of the volume, and back, while others mount it, leads none out', async () => {
  const counts = { swaps: 0, mounts: 0, inside: 0, refused: 0 };
  // Links that start at the root of the machine, and ones that go up.
  for (const way of ['root', 'up'] as const) {
    const folder = join(house.dataDir, `shared-${way}`);
    const target = way === 'root' ? outside : relative(folder, outside);
    const v = { name: 'v', volumeSource: { hostPath: { path: folder } } };
    mkdirSync(join(folder, 'dir/part'), { recursive: true });
    writeFileSync(join(folder, 'dir/part/text'), 'inside');
    symlinkSync(target, join(folder, 'evil'));
    const swapper = `swapper-${way}`;
    await house.client.pods.create(podOf(swapper, swap, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }, { volumes: [v] }));
    await eventually('it swaps', async () => (existsSync(join(folder, 'swaps')) ? true : undefined));
    let [met, least] = [0, effort(5, 50)];
    // A few at a time, until enough have met the link.
    for (let batch = 0; least > 0 || met === 0; batch++) {
      const look = podOf('', 'cat /v/text /v/*/text 2>&1 >/dev/termination-log; touch /v/was-here', {
        volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'dir/part' }],
      });
      const names = Array.from({ length: 5 }, (_, i) => `looks-${way}-${batch}-${i}`);
      const spec = { ...look.spec, volumes: [v], restartPolicy: 'Never' };
      await Promise.all(names.map((name) => house.client.pods.create({ metadata: { namespace, name }, spec })));
      for (const name of names) {
        const state = ({ status }: Pod) => status?.containerStatuses?.[0]?.state;
        const isRefused = (pod: Pod) => state(pod)?.waiting?.message?.includes('leads out of the volume') === true;
        const pod = await house.until(
          name,
          'has looked, or is refused',
          (each) => /Succeeded|Failed/.test(each.status?.phase ?? '') || isRefused(each),
        );
        if (isRefused(pod)) met++;
        const said = state(pod)?.terminated?.message ?? '';
        // A folder that was not there in this moment is made, inside; when the swapper has removed it again,
        // there is nothing to mount.
        const isGone = said.includes('no such file or directory') && !said.includes(outside);
        expect(isGone ? 'gone' : said).toMatch(/^(inside|gone|)$/);
        if (said === 'inside') counts.inside++;
      }
      counts.mounts += names.length;
      least -= names.length;
    }
    counts.refused += met;
    counts.swaps += Number(readFileSync(join(folder, 'swaps'), 'utf8'));
    const isHere = ({ metadata }: Pod) => metadata?.name?.startsWith(`looks-${way}-`) || metadata?.name === swapper;
    const left = async () => (await house.client.pods.list({ namespace })).items.filter(isHere);
    for (const { metadata } of await left())
      await house.client.pods.delete({ namespace, name: metadata!.name! }, { gracePeriodSeconds: 1 });
    await eventually('they are gone', async () => ((await left()).length === 0 ? true : undefined));
  }
  await nobodyNoticed();
  printCounts('link swapped into a volume', { ...counts, violations: 0 });
});

it('times of 68 years are waited for, without busy waits', async () => {
  const years = 2 ** 31 - 1;
  const slow = { periodSeconds: years, timeoutSeconds: years };
  const looks = { handler: { exec: { command: ['sh', '-c', 'echo 1 >>/disk/looks'] } }, ...slow };
  const script = 'trap "echo 1 >>/disk/told" TERM; echo 1 >/disk/listens; while :; do sleep 1000 & wait; done';
  const pod = podOf('years', script, {
    volumeMounts: [{ name: 'disk', mountPath: '/disk' }],
    livenessProbe: { ...looks, initialDelaySeconds: years },
    readinessProbe: looks,
  });
  const spec = { ...pod.spec, terminationGracePeriodSeconds: years, activeDeadlineSeconds: years };
  const { metadata } = await house.client.pods.create({
    ...pod,
    spec: { ...spec, volumes: [{ name: 'disk', volumeSource: { emptyDir: {} } }] },
  });
  const disk = join(house.dataDir, 'node', house.nodeName, 'pods', metadata?.uid ?? '', 'volumes/emptyDir/disk');
  const linesOf = (name: string) =>
    existsSync(join(disk, name)) ? readFileSync(join(disk, name), 'utf8').split('1').length - 1 : 0;
  await house.until('years', 'is ready', isReady);
  await eventually('it can be told to end', async () => (linesOf('listens') > 0 ? true : undefined));
  await house.client.pods.delete({ namespace, name: 'years' });
  await eventually('it is told to end', async () => (linesOf('told') > 0 ? true : undefined), 120_000);
  await house.client.pods.create(podOf('meanwhile', stay));
  await house.until('meanwhile', 'is ready', isReady);
  expect(await house.running('years')).toHaveLength(1);
  expect(linesOf('looks')).toBe(1);
  await house.client.pods.delete({ namespace, name: 'years' }, { gracePeriodSeconds: 0 });
  await eventually('it is gone', async () => ((await house.running('years')).length === 0 ? true : undefined), 120_000);
  await nobodyNoticed();
});

it('nothing of it is left', async () => {
  await nobodyNoticed();
  await house.clear();
  await eventually(
    'the machine is as it was',
    async () => {
      expectUnchanged(before, await account());
      return true;
    },
    180_000,
  );
});
