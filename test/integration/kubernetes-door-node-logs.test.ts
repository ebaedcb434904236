import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Machine, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { askDoor } from './door-attacker.ts';

// The logs of a node through its proxy, and a real agent.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
let logFolder: string;
const log = 'a line of a log\n'.repeat(10_000);
const place = '/api/v1/nodes/n1/proxy';

beforeAll(async () => {
  server = await startServer({ kubernetesListen: '127.0.0.1:0' });
  machine = await startMachine();
  logFolder = await mkdtemp(join(tmpdir(), 'berth-logs-'));
  await mkdir(join(logFolder, 'a b'));
  await writeFile(join(logFolder, 'a b', '<b>:1'), 'marked');
  await writeFile(join(logFolder, 'syslog'), log);
  await symlink('/etc/passwd', join(logFolder, 'passwd'));
  agent = startAgent(server, machine, 'n1', {}, { logFolder });
  await until('the tunnel', async () => (await askDoor(server, `${place}/healthz`)).code === 200);
});
afterAll(async () => {
  await agent.stop();
  await server.stop();
  await machine.remove();
  await rm(logFolder, { recursive: true });
  await server.remove();
});

it('shows the files of its /var/log, and those of folders as links', async () => {
  expect(await askDoor(server, `${place}/logs`)).toMatchObject({ code: 301, headers: { location: 'logs/' } });
  const names = await askDoor(server, `${place}/logs/`);
  expect(names.headers['content-type']).toBe('text/html; charset=utf-8');
  const links = ['a%20b/">a b/', 'passwd">passwd', 'syslog">syslog'].map((link) => `<a href="./${link}</a>\n`);
  expect(names.text).toBe(`<pre>\n${links.join('')}</pre>\n`);
  expect((await askDoor(server, `${place}/logs/a%20b/`)).text).toContain('<a href="./%3Cb%3E%3A1">&lt;b&gt;:1</a>');
  expect((await askDoor(server, `${place}/logs/a%20b/%3Cb%3E%3A1`)).text).toBe('marked');
  const { code, text, headers } = await askDoor(server, `${place}/logs/syslog`);
  expect([code, headers['content-type'], text === log]).toEqual([200, 'text/plain; charset=utf-8', true]);
  expect(await askDoor(server, `${place}/logs/syslog`, { method: 'HEAD' })).toMatchObject({ code: 200, text: '' });
  expect(await askDoor(server, `${place}/logs/a%20b`)).toMatchObject({ code: 301, headers: { location: 'a%20b/' } });
  expect(await askDoor(server, `${place}/logs/syslog/`)).toMatchObject({ code: 301, headers: { location: '../syslog' } });
});

it.each([
  ['of a file that is not there', 'none', 404, 'not found'],
  ['of a file outside', '..%2f..%2fetc%2fpasswd', 400, 'is no path below'],
  ['through a link out', 'passwd', 403, 'a link leads out of'],
  ['in a bad encoding', '%zz', 400, 'is not percent-encoded'],
])('refuses a log %s', async (_, path, code, message) => {
  const answered = await askDoor(server, `${place}/logs/${path}`);
  expect(JSON.parse(answered.text)).toMatchObject({ code, message: expect.stringContaining(message) });
});

it('shows its logs to users with the right to nodes/proxy alone', async () => {
  expect(await askDoor(server, `${place}/logs/syslog`, { headers: { 'impersonate-user': 'bob' } })).toMatchObject({ code: 403 });
});
