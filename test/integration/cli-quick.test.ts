import { link, lstat, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { localSocketPath } from '../../api/meta/local-socket.ts';
import { answerQuickly } from '../../cli/quick/answer-quickly.ts';
import { type ConnectOptions, upsertContext } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// What short commands print without the whole program is what the whole program prints.
let server: RunningServer;
let cli: CommandLine;

beforeAll(async () => {
  server = await startServer();
  cli = await openCommandLine(server.admin);
  await server.client.namespaces.create({ metadata: { name: 'team' } });
  await server.client.namespaces.create({ metadata: { name: 'empty' } });
  for (const [namespace, name] of [
    ['default', 'web'],
    ['default', 'db'],
    ['team', 'worker'],
  ] as const) {
    const metadata = { namespace, name, labels: { app: name, team: namespace } };
    await server.client.pods.create({ metadata, spec: { containers: [{ name: 'main', image: 'none' }] } });
    await server.client.configMaps.create({ metadata, data: { key: 'value' } });
  }
  // Ages are counted up to now: the same for both programs.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
});
afterAll(async () => {
  vi.useRealTimers();
  await cli.close();
  await server.stop();
  await server.remove();
});

describe('a plain get over the local socket', () => {
  const listed = ['get', 'pods', '-A', '--context', 'local'];

  /** What the whole program prints, and what the quick path prints when the address of the context is not served. */
  async function useContext(options: Partial<ConnectOptions> = {}): Promise<string> {
    const socket = localSocketPath(server.dataDir, options.address ?? server.info.address);
    await upsertContext({ name: 'local', options: { ...server.admin, ...options }, socket, use: false });
    return (await cli.berth('get', 'pods', '-A')).out;
  }

  it('prints the same, as the same user, without a TLS connection', async () => {
    const said = await useContext();
    const tls = vi.spyOn(process.getBuiltinModule('node:tls'), 'connect');
    expect(await answerQuickly(listed)).toBe(said);
    expect(tls).not.toHaveBeenCalled();
    tls.mockRestore();
  });

  it('goes over TLS where the socket is not served', async () => {
    const said = await useContext();
    const path = localSocketPath(server.dataDir, server.info.address)!;
    const stale = createServer();
    await rename(path, `${path}.aside`);
    // A killed server leaves its socket behind: nothing listens there.
    await new Promise<void>((listening) => stale.listen(`${path}.stale`, listening));
    await link(`${path}.stale`, path);
    await new Promise((closed) => stale.close(closed));
    expect((await lstat(path)).isSocket()).toBe(true);
    expect(await answerQuickly(listed)).toBe(said);
    await rename(`${path}.aside`, path);
  });
});

describe('a plain get', () => {
  it.each([
    ...['get pods', 'get po', 'get pods -A', 'get pods -o wide', 'get pods --no-headers', 'get pods --show-labels'],
    ...['get pod web', 'get pod/web -o wide', 'get pods -n team', '-n team get pods --show-labels', 'get pods -l app=web'],
    ...[
      'get pods -A -l team!=default',
      'get ns',
      'get ns -A',
      'get ns team',
      'get cm -A',
      'get cm/db',
      'get sa -nteam',
      'get roles -A',
    ],
    ...['get secrets -n kube-system', 'get clusterroles', 'get flowschemas', 'get svc', 'get leases -A'],
  ])('"berth %s" prints the same', async (line) => {
    const words = line.split(' ');
    const said = await cli.berth(...words);
    const quick = await answerQuickly(words);
    // Without rows it is a sentence, which the whole program says.
    if (said.out === '') expect(quick).toBeUndefined();
    else expect({ code: 0, out: quick, err: '' }).toEqual(said);
  });

  it.each(['get pods', 'get pods -A', 'get ns', 'get pod web', 'get cm -o wide'])('"berth %s" has a quick answer', async (line) =>
    expect(await answerQuickly(line.split(' '))).toMatch(/^NAME/),
  );

  it.each([
    ...['get pods -n empty', 'get pods -l app=none', 'get pod none', 'get pods -n none', 'get pods --context none', 'get nodes'],
    ...['get pods -l a=b=c', 'get pods -o json', 'get pods --request-timeout 1s', 'get pods --as nobody'],
  ])('"berth %s" is left to the whole program', async (line) => {
    expect(await answerQuickly(line.split(' '))).toBeUndefined();
  });

  it('is left to the whole program when the server refuses it, or is away', async () => {
    const { cert: _cert, key: _key, ...anonymous } = server.admin;
    await upsertContext({ name: 'refused', options: { ...anonymous, token: 'none' }, use: false });
    await upsertContext({ name: 'away', options: { ...server.admin, address: '127.0.0.1:1' }, use: false });
    for (const context of ['refused', 'away']) {
      expect(await answerQuickly(['get', 'pods', '--context', context])).toBeUndefined();
      expect((await cli.berth('get', 'pods', '--context', context)).code).toBe(1);
    }
  });
});
