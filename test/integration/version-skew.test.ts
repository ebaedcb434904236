import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageVersion } from '../../agent/version.ts';
import { issueNodeCredentials } from '../../apiserver/main.ts';
import { pod } from '../builders/index.ts';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Agents of other versions at a server of this one, each with the certificate of its node.
let server: RunningServer;
const open: { machine: Machine; agent: RunningAgent }[] = [];

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  for (const { agent, machine } of open) {
    await agent.stop();
    await machine.remove();
  }
  await server.stop();
  await server.remove();
});

/** This version with another minor one. */
function minor(step: number): string {
  const [, major = '', own = ''] = /^v(\d+)\.(\d+)/.exec(packageVersion()) ?? [];
  return `v${major}.${Number(own) + step}.7`;
}

async function start(nodeName: string, version: string): Promise<RunningAgent> {
  const machine = await startMachine();
  const { authority, pair } = await issueNodeCredentials(server.dataDir, nodeName);
  const asNode = { address: server.info.address, ca: authority, cert: pair.certificate, key: pair.key };
  const agent = startAgent({ ...server, admin: asNode }, machine, nodeName, { version });
  open.push({ machine, agent });
  return agent;
}

const versionOf = async (name: string) =>
  (await server.client.nodes.get({ name }).catch(() => undefined))?.status?.nodeInfo?.kubeletVersion;

async function runsPods(node: string): Promise<void> {
  const { spec } = pod('p').on(node).container('app', { image }).build();
  await server.client.pods.create({ metadata: { namespace: 'default', name: `on-${node}` }, spec: spec! });
  await podWhere(server.client, `on-${node}`, isRunning);
}

describe('an agent', () => {
  it.each([
    ['older', -1],
    ['newer', 1],
  ])('that is one minor version %s runs pods', async (name, step) => {
    await start(name, minor(step));
    await until('registered', async () => (await versionOf(name)) === minor(step));
    await runsPods(name);
  });

  it.each([
    ['newer', minor(2)],
    ['of another major version', 'v9.0.0'],
  ])('that is too much %s ends with a sentence that says why, and its node gets nothing', async (_, version) => {
    const name = `far${version.replaceAll('.', '-')}`;
    const { ended } = await start(name, version);
    await expect(ended).rejects.toThrow(
      `the agent of node "${name}" is Berth ${version.slice(1)} and the server ${packageVersion().slice(1)}: they may be one minor version apart at most`,
    );
    expect(await versionOf(name)).toBeUndefined();
  });

  it('that was there before its server went on is let be, also when it starts again', async () => {
    const version = minor(3);
    await server.client.nodes.create({ metadata: { name: 'left' }, spec: {} });
    const status = { nodeInfo: { kubeletVersion: version } };
    await server.client.nodes.patch({ name: 'left', subresource: 'status' }, { status });
    await start('left', version);
    await runsPods('left');
  });
});
