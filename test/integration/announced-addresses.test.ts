import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { announcedAddresses, LinkAddresses, removeAnnounced } from '../../agent/announcer/link-addresses.ts';
import { createShell } from '../../agent/pod-network/shell.ts';

// Two hosts on a link, in network namespaces of their own. Needs root.

const [node, other] = [`lba${process.pid}`, `lbb${process.pid}`];
const address = '192.0.2.10';
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
const shell = createShell(['ip', 'netns', 'exec', node]);
let nodeDir: string;

const onLink = (): string[] =>
  [...ip('-n', node, '-4', '-oneline', 'address', 'show', 'dev', 'eth0').matchAll(/inet (192\S+)/g)].map(
    ([, found = '']) => found,
  );
const open = () => new LinkAddresses({ nodeDir, link: 'eth0', shell });

beforeAll(() => {
  nodeDir = mkdtempSync(join(tmpdir(), 'berth-announcer-'));
  for (const each of [node, other]) ip('netns', 'add', each);
  ip('link', 'add', 'eth0', 'netns', node, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', other);
  for (const [i, each] of [node, other].entries()) {
    ip('-n', each, 'address', 'add', `10.99.0.${i + 1}/24`, 'dev', 'eth0');
    ip('-n', each, 'link', 'set', 'eth0', 'up');
    ip('-n', each, 'link', 'set', 'lo', 'up');
  }
});
afterAll(() => {
  for (const each of [node, other]) ip('netns', 'del', each);
  rmSync(nodeDir, { recursive: true, force: true });
});

it('are ended by the kernel within 0.8 s of their time when nothing extends them', async () => {
  const addresses = open();
  await addresses.start();
  await addresses.hold([address, '192.0.2.11'], 2);
  const heldAt = Date.now();
  expect(onLink().toSorted()).toEqual([`${address}/32`, '192.0.2.11/32']);
  expect(announcedAddresses(nodeDir)).toEqual([address, '192.0.2.11']);
  await expect.poll(onLink, { interval: 20 }).toEqual([]);
  expect(Date.now() - heldAt).toBeGreaterThan(1_500);
  expect(Date.now() - heldAt).toBeLessThan(2_800);
});

it('stay while they are extended, are known to the next agent, and go when they are dropped, also twice', async () => {
  const notExtended = '192.0.2.12';
  await open().hold([address, notExtended], 2);
  const later = open();
  expect([...later.known]).toContain(address);
  // By then the time has ended that both had at first.
  const extended = async (): Promise<string[]> => {
    await later.hold([address], 2);
    return onLink();
  };
  await expect.poll(extended).toEqual([`${address}/32`]);
  await later.drop([address, notExtended]);
  await later.drop([address, notExtended]);
  expect(onLink()).toEqual([]);
});

it('are removed by a purge, which leaves the node’s own', async () => {
  await open().hold([address], 60);
  await removeAnnounced(nodeDir, shell);
  await removeAnnounced(nodeDir, shell);
  expect([onLink(), announcedAddresses(nodeDir)]).toEqual([[], []]);
  expect(ip('-n', node, 'address', 'show', 'dev', 'eth0')).toContain('10.99.0.1/24');
});

it('are announced: another host on the link takes over the hardware address, and no route is left', async () => {
  await open().hold([address], 60);
  ip('-n', other, 'neigh', 'replace', address, 'lladdr', '02:00:00:00:00:99', 'dev', 'eth0', 'nud', 'stale');
  const mac = /link\/ether (\S+)/.exec(ip('-n', node, 'link', 'show', 'dev', 'eth0'))?.[1];
  const routes = ip('-n', node, 'route');
  const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const program = `import { announce } from ${JSON.stringify(inRepository('agent/announcer/announce.ts'))};
    import { createShell } from ${JSON.stringify(inRepository('agent/pod-network/shell.ts'))};
    await announce([${JSON.stringify(address)}], 'eth0', createShell());`;
  const words = ['--import', inRepository('test/conformance/storage-from-source.mjs'), '--input-type=module', '-e', program];
  execFileSync('ip', ['netns', 'exec', node, process.execPath, ...words], { stdio: 'pipe' });
  await expect.poll(() => ip('-n', other, 'neigh', 'show', address), { timeout: 4_000 }).toContain(mac);
  expect(ip('-n', node, 'route')).toBe(routes);
});
