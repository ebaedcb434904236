import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Pod } from '../../client/index.ts';
import { type DebianRegistry, startDebianRegistry, user } from '../e2e/debian-registry.ts';
import { eventually, run } from '../e2e/installation.ts';
import { type ChaosHouse, createChaosHouse, podOf, untouched } from './chaos-house.ts';
import { printCounts } from './counts.ts';
import { effort } from './effort.ts';
import { image, isReady, namespace, stay } from './pod-churn.ts';
import { type StallingProxy, startStallingProxy } from './stalling-proxy.ts';

// A registry that stalls in the middle of layers, over and over: Debian's, behind a proxy that stops forwarding. More
// pulls stall than the engine downloads layers at once, and others pull from the same registry directly.
const rounds = effort(1, 10);
const stalledPulls = 4;
const layerBytes = 4 * 1024 * 1024;
const stallAfter = 1024 * 1024;

let house: ChaosHouse;
let registry: DebianRegistry;
let proxy: StallingProxy;
const made: string[] = [];

const slow = Array.from({ length: stalledPulls }, (_, i) => `slow-${i}`);
const quick = ['quick-0', 'quick-1'];

beforeAll(async () => {
  [house, registry] = await Promise.all([createChaosHouse('registry'), startDebianRegistry()]);
  proxy = await startStallingProxy(registry.address);
  for (const name of slow) await pushImage(name, layerBytes);
  for (const name of quick) await pushImage(name, 1024);
  const auth = Buffer.from(`${user.name}:${user.password}`).toString('base64');
  const logins = join(house.dataDir, 'logins.json');
  writeFileSync(logins, JSON.stringify({ auths: { [proxy.address]: { auth }, [registry.address]: { auth } } }));
  house.startAgent(house.nodeName, { flags: ['--registry-config', logins, '--image-pull-progress-deadline', '5s'] });
});
afterAll(async () => {
  proxy?.close();
  await house?.close();
  await removeImages();
  await registry?.stop();
});

/** An image with a layer of its own, in the registry and not on this machine. */
async function pushImage(name: string, bytes: number): Promise<void> {
  const file = join(house.dataDir, name);
  writeFileSync(file, randomBytes(bytes));
  const id = await docker('create', image);
  await docker('cp', file, `${id}:/layer`);
  await docker('commit', id, `berth-chaos/${name}:1`);
  await docker('rm', id);
  await registry.push(`berth-chaos/${name}:1`, `${name}:1`);
  await docker('rmi', `berth-chaos/${name}:1`);
  made.push(`${proxy.address}/${name}:1`, `${registry.address}/${name}:1`);
}

async function docker(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run('docker', args);
  if (code !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

const removeImages = () => run('docker', ['rmi', '-f', ...made]);

async function eventsOf(pod: Pod): Promise<string[]> {
  const { items } = await house.client.events.list({ namespace, fieldSelector: `involvedObject.uid=${pod.metadata?.uid}` });
  return items.map(({ reason, message }) => `${reason}: ${message}`);
}

/** Pods of all kinds start: from images that are here, and from the registry by the way that does not stall. */
async function othersStart(round: number): Promise<number> {
  const others = [
    podOf(`here-${round}`, stay),
    podOf(`probed-${round}`, stay, { readinessProbe: { handler: { exec: { command: ['true'] } }, periodSeconds: 1 } }),
    ...quick.map((name) => podOf(`${name}-${round}`, stay, { image: `${registry.address}/${name}:1` })),
  ];
  const pods = await Promise.all(others.map((pod) => house.client.pods.create(pod)));
  for (const { metadata } of pods) await house.until(metadata?.name ?? '', 'is ready', isReady);
  return pods.length;
}

it('holds up its own images only; the pulls are given up, told and made again when it goes on', async () => {
  const counts = {
    'answers that stalled': 0,
    'pulls given up': 0,
    'pods started meanwhile': 0,
    'pods started when it went on': 0,
  };
  await house.client.pods.create(podOf('neighbour', stay, { livenessProbe: { handler: { exec: { command: ['true'] } } } }));
  const neighbour = await house.until('neighbour', 'is ready', isReady);
  for (let round = 1; round <= rounds; round++) {
    proxy.stall(stallAfter);
    const pods = await Promise.all(
      slow.map((name) => house.client.pods.create(podOf(`${name}-${round}`, stay, { image: `${proxy.address}/${name}:1` }))),
    );
    await eventually('answers stall in the middle', async () => (proxy.held() > 0 ? true : undefined), 120_000);
    counts['pods started meanwhile'] += await othersStart(round);
    for (const pod of pods) {
      const told = await eventually(
        `the pull of ${pod.metadata?.name} is given up and told`,
        async () => (await eventsOf(pod)).find((each) => each.startsWith('Failed: ') && each.includes('no progress for')),
        180_000,
      );
      // In the middle of a layer, as it was.
      expect(told).toMatch(/no progress for \d+s: .*\d of \d layers/);
      counts['pulls given up']++;
    }
    expect((await house.client.pods.list({ namespace })).items.filter(isReady)).toHaveLength(1 + 4);
    counts['answers that stalled'] += proxy.held();
    proxy.goOn();
    for (const { metadata } of pods) {
      const { status } = await house.until(metadata?.name ?? '', 'is ready', isReady, 600_000);
      expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
      counts['pods started when it went on']++;
    }
    expect(untouched(await house.client.pods.get({ namespace, name: 'neighbour' }))).toEqual(untouched(neighbour));
    expect(await house.nodeIsReady()).toBe(true);
    await Promise.all(
      (await house.client.pods.list({ namespace })).items
        .filter(({ metadata }) => metadata?.name !== 'neighbour')
        .map(({ metadata }) => house.client.pods.delete({ namespace, name: metadata?.name ?? '' })),
    );
    await eventually('the pods of this round are gone', async () =>
      (await house.client.pods.list({ namespace })).items.length === 1 ? true : undefined,
    );
    await removeImages();
    process.stdout.write(`round ${round}: ${JSON.stringify(counts)}\n`);
  }
  await house.clear();
  printCounts('registry that stalls', { rounds, ...counts, violations: 0 });
});
