import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, type Installation, run } from './installation.ts';

// A second data directory stands for a second machine: it has nothing of the first but the pasted line.
let berth: Installation;
let folder: string;
/** Of the second machine; joining makes it. */
let dataDir: string;
let second: string;
let line: string[];

/** A veth pair of this test: both ends are on this machine, so that its address is on a link of its own. */
const cable = `bj${process.pid}`;
const address = '10.215.0.1';
const ip = (...args: readonly string[]) => run('ip', args);

beforeAll(async () => {
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', `${cable}p`);
  await ip('address', 'add', `${address}/30`, 'dev', cable);
  for (const end of [cable, `${cable}p`]) await ip('link', 'set', end, 'up');
  berth = await createInstallation('join');
  folder = mkdtempSync(join(tmpdir(), 'berth-e2e-joined-'));
  dataDir = join(folder, 'made', 'data');
  second = `${berth.nodeName}-b`;
  await berth.up('--metrics-address', 'off', '--agent-metrics-address', 'off');
});
afterAll(async () => {
  await berth.berth(['down', '--purge', '--yes', '--data-dir', dataDir]);
  await berth.purge();
  rmSync(folder, { recursive: true, force: true });
  await ip('link', 'delete', cable);
});

const joinAs = (nodeName: string, ...args: readonly string[]) =>
  berth.berth(['join', ...args, '--detach', '--node-name', nodeName, '--data-dir', dataDir, '--metrics-address', 'off']);

describe('a second machine', () => {
  it('gets no join line while the server listens on loopback only, until --advertise is applied to a running Berth', async () => {
    const create = ['token', 'create', '--data-dir', berth.dataDir];
    const refused = await berth.berth(create);
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/berth up --advertise \d/) });
    const agent = berth.pid('agent');
    await berth.ok('up', '--detach', '--data-dir', berth.dataDir, '--advertise', address);
    expect(berth.pid('agent')).toBe(agent);
    const printed = await berth.ok(...create);
    const port = berth.address.split(':')[1];
    expect(printed).toMatch(/^berth join \S+ --token [a-z0-9]{6}\.[a-z0-9]{16} --ca-hash sha256:[0-9a-f]{64}\n$/);
    line = printed.trim().split(' ').slice(2);
    expect(line[0]).toBe(`${address}:${port}`);
  });

  it('fails to join with the reason, and leaves nothing behind', async () => {
    const [at = '', , token = '', , hash = ''] = line;
    const why = async (nodeName: string, ...args: string[]) => (await joinAs(nodeName, ...args)).stderr;
    const [port] = [at.split(':')[1]];
    expect(await why(second, at, '--token', token, '--ca-hash', `sha256:${'0'.repeat(64)}`)).toContain('of another cluster');
    expect(await why(second, at, '--token', 'aaaaaa.aaaaaaaaaaaaaaaa', '--ca-hash', hash)).toContain(
      'does not know the token aaaaaa',
    );
    expect(await why(berth.nodeName, at, '--token', token, '--ca-hash', hash)).toContain(berth.nodeName);
    expect(await why(second, at.replace(`:${port}`, ':1'), '--token', token, '--ca-hash', hash)).toContain('nothing listens at');
    expect(await why(second, at)).toContain('--token and --ca-hash are needed');
    expect(await berth.ok('get', 'nodes', '-o', 'name')).not.toContain(second);
    expect(existsSync(join(folder, 'made'))).toBe(false);
  });

  it('joins with the printed line, and runs pods', async () => {
    const joined = await joinAs(second, ...line);
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining(`node ${second} is ready`) });
    const pod = `
apiVersion: v1
kind: Pod
metadata: { name: there }
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: { kubernetes.io/hostname: ${second} }
  containers: [{ name: main, image: berth/busybox:latest, command: [sleep, "3600"] }]
`;
    expect((await berth.berth(['apply', '-f', '-'], pod)).code).toBe(0);
    await berth.ok('wait', '--for=condition=Ready', 'pod/there', '--timeout=60s');
    expect(await berth.ok('exec', 'there', '--', 'hostname')).toBe('there\n');
  });

  it('starts again without a token, finds its containers, and is of no other cluster meanwhile', async () => {
    const before = (await containersOf(second)).map(({ id }) => id).sort();
    await berth.ok('down', '--data-dir', dataDir);
    expect((await berth.berth(['up', '--data-dir', dataDir])).stderr).toContain('belongs to node');
    await berth.ok('join', '--detach', '--data-dir', dataDir);
    expect((await joinAs(second, ...line)).stdout).toContain('already');
    expect((await containersOf(second)).map(({ id }) => id).sort()).toEqual(before);
    await berth.ok('delete', 'pod', 'there');
  });

  it('takes with a purge the folders away that it made when it joined', async () => {
    const { stdout } = await berth.berth(['down', '--purge', '--yes', '--data-dir', dataDir]);
    expect(stdout).toContain(`removed folder ${dataDir}\n`);
    expect(existsSync(folder)).toBe(true);
    expect(existsSync(join(folder, 'made'))).toBe(false);
  });
});
