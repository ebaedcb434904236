import { expect, it } from 'vitest';
import { World } from '../../test/simulation/world.ts';

it('when a node gets its range, pods with addresses of its engine are endpoints no more, though nothing else changes', async () => {
  const world = await World.start(1, ['endpoint-slice', 'endpoints']);
  const { nodes, services, pods, endpoints, endpointSlices } = world.client;
  const at = { namespace: 'default', name: 'web' };
  const [engines, routed] = ['172.17.0.2', '10.42.1.5'];
  await nodes.create({ metadata: { name: 'n1' } });
  await services.create({ metadata: at, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  for (const address of [engines, routed]) {
    const metadata = { namespace: 'default', name: `web-${address}`, labels: { app: 'web' } };
    const pod = await pods.create({ metadata, spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] } });
    await pods.updateStatus({ ...pod, status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }], conditions } });
  }
  await world.restartControllers();
  const found = async () => {
    await world.pass(5_000);
    const { items } = await endpointSlices.list({ namespace: 'default' });
    const { subsets = [] } = await endpoints.get(at);
    return {
      slices: items.flatMap((slice) => slice.endpoints?.flatMap(({ addresses = [] }) => addresses) ?? []).toSorted(),
      endpoints: subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)).toSorted(),
    };
  };
  expect(await found()).toEqual({ slices: [routed, engines], endpoints: [routed, engines] });
  await nodes.patch({ name: 'n1' }, { spec: { podCIDR: '10.42.1.0/24', podCIDRs: ['10.42.1.0/24'] } });
  expect(await found()).toEqual({ slices: [routed], endpoints: [routed] });
  await world.stop();
});
