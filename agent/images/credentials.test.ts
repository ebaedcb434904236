import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, Secret } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { computeSecretCredentials, createCredentialSource } from './credentials.ts';
import { createNodeCredentials, defaultDockerConfig } from './node-credentials.ts';

const auths = (...registries: string[]) =>
  Object.fromEntries(registries.map((each) => [each, { username: 'ann', password: `for ${each}` }]));

function secretOf(name: string, type: string, key: string, value: unknown): Secret {
  const data = { [key]: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)) };
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, type, data };
}
const json = (name: string, ...registries: string[]) =>
  secretOf(name, 'kubernetes.io/dockerconfigjson', '.dockerconfigjson', { auths: auths(...registries) });
const cfg = (name: string, ...registries: string[]) =>
  secretOf(name, 'kubernetes.io/dockercfg', '.dockercfg', auths(...registries));

describe('the credentials of Secrets', () => {
  it('are those of both of their forms, and name the Secret and the registry they are for', () => {
    const { credentials } = computeSecretCredentials([json('a', 'quay.io'), cfg('b', 'quay.io', 'ghcr.io')], 'quay.io/team/app');
    expect(credentials.map(({ auth, secret }) => [auth.password, auth.serverAddress, secret?.name, secret?.uid])).toEqual([
      ['for quay.io', 'quay.io', 'a', 'uid-a'],
      ['for quay.io', 'quay.io', 'b', 'uid-b'],
    ]);
    expect(credentials[0]?.hash).toBe(credentials[1]?.hash);
  });

  it('are none where the type is another one', () => {
    const opaque = secretOf('a', 'Opaque', '.dockerconfigjson', { auths: auths('quay.io') });
    expect(computeSecretCredentials([opaque], 'quay.io/app')).toEqual({ credentials: [], unreadable: [] });
  });

  it('are said to be unreadable, without what is in them', () => {
    const broken = secretOf('a', 'kubernetes.io/dockerconfigjson', '.dockerconfigjson', 'topsecret');
    expect(computeSecretCredentials([broken, json('b', 'quay.io')], 'quay.io/app')).toMatchObject({
      credentials: [{ secret: { name: 'b' } }],
      unreadable: ['a: it is not JSON'],
    });
  });
});

describe('what a pod may show', () => {
  const pod = (...names: string[]): Pod => ({
    metadata: { namespace: 'default' },
    spec: { imagePullSecrets: names.map((name) => ({ name })) },
  });
  const source = (node: string[] = []) =>
    createCredentialSource({
      secrets: async () => new Map([['a', json('a', 'quay.io')]]),
      node: async () => node.map((password) => ({ location: 'quay.io', username: 'ann', password })),
    });

  it("is its own first, then the node's, and the same login once", async () => {
    const { credentials } = await source(['for quay.io', 'other']).forPod(pod('a'), 'quay.io/app');
    expect(credentials.map(({ auth, secret }) => [auth.password, secret?.name])).toEqual([
      ['for quay.io', 'a'],
      ['other', undefined],
    ]);
  });

  it('names the Secrets that are not there, each once', async () => {
    expect(await source().forPod(pod('a', 'b', 'b', ''), 'quay.io/app')).toMatchObject({ missing: ['b'], unreadable: [] });
  });
});

describe("the node's credentials", () => {
  let folder: string;
  const path = process.env.PATH;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-login-'));
  });
  afterEach(() => {
    process.env.PATH = path;
    rmSync(folder, { recursive: true, force: true });
  });

  function setUp(config: object | string | undefined) {
    const file = join(folder, 'config.json');
    if (config !== undefined) writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
    const warnings: string[] = [];
    const clock = createFakeClock();
    return { of: createNodeCredentials({ file, clock, warn: (message) => warnings.push(message) }), warnings, clock, file };
  }

  function helper(name: string, script: string): void {
    const file = join(folder, `docker-credential-${name}`);
    writeFileSync(file, `#!/bin/sh\n[ "$1" = get ] || exit 9\nread server\n${script}\n`);
    chmodSync(file, 0o755);
    process.env.PATH = `${folder}:${path}`;
  }

  it('are what docker login of its user wrote, read anew after a moment', async () => {
    const { of, file, clock } = setUp({ auths: auths('quay.io') });
    expect(await of('quay.io/app')).toMatchObject([{ password: 'for quay.io' }]);
    expect(await of('ghcr.io/app')).toEqual([]);
    writeFileSync(file, JSON.stringify({ auths: auths('ghcr.io') }));
    await clock.advance(3_000);
    expect(await of('ghcr.io/app')).toMatchObject([{ password: 'for ghcr.io' }]);
  });

  it('are none where there was no login, without an error', async () => {
    const { of, warnings } = setUp(undefined);
    expect(await of('quay.io/app')).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('are none in a file that cannot be read, which is said once', async () => {
    const { of, warnings, clock } = setUp('{');
    for (let i = 0; i < 3; i++) {
      expect(await of('quay.io/app')).toEqual([]);
      await clock.advance(3_000);
    }
    expect(warnings).toEqual([expect.stringMatching(/registry credentials of this node in .*config\.json: it is not JSON$/)]);
  });

  it('are asked of the program that keeps them, for one registry or for all', async () => {
    helper('one', 'echo "{\\"Username\\":\\"bob\\",\\"Secret\\":\\"of $server\\"}"');
    helper('all', 'echo "{\\"Username\\":\\"<token>\\",\\"Secret\\":\\"token\\"}"');
    const { of } = setUp({ auths: auths('ghcr.io'), credsStore: 'all', credHelpers: { 'quay.io': 'one' } });
    expect(await of('quay.io/app')).toEqual([{ location: 'quay.io', username: 'bob', password: 'of quay.io' }]);
    expect(await of('ghcr.io/app')).toMatchObject([{ identityToken: 'token' }, { password: 'for ghcr.io' }]);
    expect(await of('docker.io/library/nginx')).toMatchObject([{ location: 'https://index.docker.io/v1/' }]);
  });

  it('are asked of it once by all who start together', async () => {
    helper('one', `echo asked >>${join(folder, 'asked')}; echo "{\\"Username\\":\\"bob\\",\\"Secret\\":\\"s\\"}"`);
    const { of, clock } = setUp({ credsStore: 'one' });
    const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length;
    const answers = await Promise.all(Array.from({ length: 5 }, () => of('quay.io/app')));
    expect(answers).toEqual(Array(5).fill([{ location: 'quay.io', username: 'bob', password: 's' }]));
    expect(asked()).toBe(1);
    await clock.advance(3_000);
    await of('quay.io/app');
    expect(asked()).toBe(2);
  });

  it('are none when that program has none, and a warning when it fails or is not there', async () => {
    helper('empty', 'echo "credentials not found in native keychain"; exit 1');
    helper('broken', 'exit 3');
    const { of, warnings } = setUp({ credHelpers: { 'a.io': 'empty', 'b.io': 'broken', 'c.io': 'absent', 'd.io': '../evil' } });
    expect(await of('a.io/app')).toEqual([]);
    expect(warnings).toEqual([]);
    for (const registry of ['b.io', 'c.io', 'd.io']) expect(await of(`${registry}/app`)).toEqual([]);
    expect(warnings.map((each) => each.replace(/^.* credentials of /, ''))).toEqual([
      'b.io: it ended with 3',
      'c.io: it ended with ENOENT',
      'd.io: its name is no name of a program',
    ]);
  });

  it("lie where Docker's command line looks", () => {
    expect(defaultDockerConfig({ DOCKER_CONFIG: '/etc/docker-login' })).toBe('/etc/docker-login/config.json');
    expect(defaultDockerConfig({})).toMatch(/\/\.docker\/config\.json$/);
  });
});
