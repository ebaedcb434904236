import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease, Node } from '../../api/generated/types.ts';
import { findCondition, isConditionTrue } from '../../api/meta/conditions.ts';
import { connect } from '../../client/index.ts';
import { runControllers } from '../../controllers/main.ts';
import { pod } from '../builders/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { image, isRunning, type Machine, podWhere, type RunningAgent, startAgent, startMachine, until } from './agent-harness.ts';
import { type RunningServer, readPair, startServer } from './apiserver-harness.ts';

// An agent and the controllers in the time of life: what they do is decided by how their intervals meet.
let server: RunningServer;
let machine: Machine;
let agent: RunningAgent;
const stopping = new AbortController();
const ended: Promise<unknown>[] = [];

beforeEach(async () => {
  server = await startServer();
  machine = await startMachine();
  const client = connect({
    address: server.info.address,
    ca: server.info.ca,
    ...(await readPair(server.dataDir, 'controllers')),
  });
  const logger = createFakeLogger();
  ended.push(runControllers({ client, logger }, stopping.signal).finally(() => client.close()));
  agent = startAgent(server, machine, 'n1');
});
afterEach(async () => {
  await agent.stop();
  stopping.abort();
  await Promise.all(ended);
  await server.stop();
  await server.remove();
  await machine.remove();
});

const node = () => server.client.nodes.get({ name: 'n1' }).catch(() => undefined);
const lease = () => server.client.leases.get({ namespace: 'kube-node-lease', name: 'n1' }).catch(() => undefined);
const isReady = (found: Node | undefined) => found && isConditionTrue(found.status?.conditions, 'Ready') && found;
const ownerOf = (found: Lease | undefined) => found?.metadata?.ownerReferences?.find(({ kind }) => kind === 'Node')?.uid;

interface Change {
  readonly type: string;
  readonly object: Node | Lease;
}

/** The objects of n1 there are, and every change of them. */
function changesOf(
  client: Pick<RunningServer['client']['nodes'] | RunningServer['client']['leases'], 'watch'>,
): readonly Change[] {
  const changes: Change[] = [];
  const follow = async () => {
    for await (const events of client.watch({ fieldSelector: 'metadata.name=n1' }, { signal: stopping.signal }))
      for (const { type, object } of events) if (type !== 'BOOKMARK') changes.push({ type, object });
  };
  ended.push(follow().catch(() => {}));
  return changes;
}

it('a Node that is deleted comes back with its Lease, once, and its pods go on', async () => {
  const first = await until('a ready node', async () => isReady(await node()));
  await until('a lease of the node', async () => ownerOf(await lease()) === first.metadata?.uid);
  const web = pod('web')
    .uid('')
    .on('n1')
    .container('app', { image, command: ['sleep', '1000'] })
    .build();
  delete web.metadata!.uid;
  await server.client.pods.create(web);
  const before = await podWhere(server.client, 'web', isRunning);
  const [nodes, leases] = [changesOf(server.client.nodes), changesOf(server.client.leases)];
  await server.client.nodes.delete({ name: 'n1' });
  const next = await until('the node again', async () => isReady(await node()), 60_000);
  expect(next.metadata?.uid).not.toBe(first.metadata?.uid);
  await until('the lease of the new node', async () => ownerOf(await lease()) === next.metadata?.uid, 60_000);
  // The controllers delete the pods of a node that is missing for 40 s, and know nothing of one after 30 s of silence.
  const renewed = leases.length + 4;
  await until('further renewals', () => leases.length >= renewed, 90_000);
  const typesOf = (changes: readonly Change[]) => changes.map(({ type }) => type).filter((type) => type !== 'MODIFIED');
  expect([typesOf(nodes), typesOf(leases)]).toEqual([
    ['ADDED', 'DELETED', 'ADDED'],
    ['ADDED', 'DELETED', 'ADDED'],
  ]);
  const readiness = nodes.map(({ object }) => findCondition((object as Node).status?.conditions, 'Ready')?.status);
  expect(readiness.filter((status) => status !== undefined && status !== 'True')).toEqual([]);
  const after = await server.client.pods.get({ namespace: 'default', name: 'web' });
  expect([after.metadata?.uid, isRunning(after)]).toEqual([before.metadata?.uid, true]);
  expect([machine.fake.callsOf('runContainer').length, machine.fake.callsOf('stop').length]).toEqual([1, 0]);
}, 240_000);
