import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUsageHistory } from '../../agent/machine/usage-history.ts';
import { runTunnel } from '../../agent/tunnel/tunnel.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { type NetCheck, systemClock } from '../../client/index.ts';
import { createFakeLogger } from '../fakes/fake-logger.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { type CommandLine, openCommandLine } from './cli-harness.ts';

// `berth net check` through the server, with agents that serve nothing but the tunnel.
let server: RunningServer;
let cli: CommandLine;
const stop = new AbortController();
const tunnels: Promise<void>[] = [];
let problem = '';

const whole = (nodeName: string): NetCheck => ({
  ...{ nodeName, podNetwork: 'routed', podCIDR: '10.42.0.0/24', mtu: 1450 },
  items: [{ check: 'routes', ok: problem === '', problem, remedy: problem && 'mend it' }],
});

async function join(nodeName: string, netCheck: () => Promise<NetCheck>): Promise<void> {
  const nobody = (): never => {
    throw new Error('not of this test');
  };
  const access = { logs: nobody, exec: nobody, attach: nobody, stat: nobody, readFiles: nobody, writeFiles: nobody };
  const dialer = { dial: nobody, close() {} } as never;
  const metrics = new MetricsRegistry();
  const parts = { access, dialer, history: createUsageHistory(), netCheck, metrics, get: () => undefined, clock: systemClock };
  await server.client.nodes.create({ metadata: { name: nodeName }, spec: {} });
  tunnels.push(runTunnel({ client: server.client.tunnel, nodeName, logger: createFakeLogger(), ...parts }, stop.signal));
  await expect
    .poll(() =>
      server.client.netChecks.ofNode(nodeName).then(
        () => true,
        ({ code }) => code !== 'UNAVAILABLE',
      ),
    )
    .toBe(true);
}

beforeAll(async () => {
  server = await startServer({ backend: 'memory' });
  cli = await openCommandLine(server.admin);
});
afterAll(async () => {
  stop.abort();
  await Promise.all(tunnels);
  await cli.close();
  await server.stop();
  await server.remove();
});

it('says that there are no nodes', async () => {
  expect(await cli.berth('net', 'check')).toEqual({ code: 0, out: '', err: 'There are no nodes.\n' });
});

it("says that nothing is to be checked in the engine's network", async () => {
  await join('n1', async () => ({ nodeName: 'n1', podNetwork: 'engine', enginePods: 2 }));
  const { code, out, err } = await cli.berth('net', 'check');
  expect([code, err]).toEqual([0, expect.stringContaining('No node has the routed network')]);
  expect(out).toMatch(/^NODE .*\nn1 +engine .* 2\n$/);
});

it('asks every node, and ends with 1 when something is wrong', async () => {
  await join('n2', async () => whole('n2'));
  expect(await cli.berth('net', 'check')).toMatchObject({ code: 0, err: '' });
  problem = 'a route is missing';
  const { code, out, err } = await cli.berth('net', 'check');
  expect([code, err]).toEqual([1, 'error: the network is not whole: 1 problem on 1 node\n']);
  expect(out).toContain('\nn2: a route is missing\n  mend it\n');
  expect(await cli.berth('net', 'check', 'n1')).toMatchObject({ code: 0 });
  problem = '';
});

it('has a row for nodes that do not answer, or cannot look', async () => {
  await server.client.nodes.create({ metadata: { name: 'n0' }, spec: {} });
  await join('n3', () => Promise.reject(new Error('no more processes')));
  const { code, out, err } = await cli.berth('net', 'check', '-o', 'json');
  expect([code, err]).toEqual([1, 'error: the network is not whole: 2 problems on 2 nodes\n']);
  const { ok, items } = JSON.parse(out) as { ok: boolean; items: { nodeName: string; error?: string; podNetwork?: string }[] };
  expect(ok).toBe(false);
  expect(items.map(({ nodeName }) => nodeName)).toEqual(['n0', 'n1', 'n2', 'n3']);
  expect(items[0]?.error).toMatch(/node "n0" is not connected/);
  expect(items[2]?.podNetwork).toBe('routed');
  expect(items[3]?.error).toBeTruthy();
});

it('refuses nodes that are not there, and users who may not look', async () => {
  expect((await cli.berth('net', 'check', 'none')).err).toBe('error: node "none" not found\n');
  await expect(server.client.netChecks.ofNode('')).rejects.toMatchObject({ message: 'name a node' });
  const role = { metadata: { name: 'nodes-reader' }, rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['nodes'] }] };
  await server.client.clusterRoles.create(role);
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }];
  const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'nodes-reader' };
  await server.client.clusterRoleBindings.create({ metadata: { name: 'ann' }, subjects, roleRef });
  const { code, err } = await cli.berth('net', 'check', '--as=ann');
  expect([code, err]).toEqual([1, expect.stringMatching(/nodes\/netcheck|netcheck/)]);
});
