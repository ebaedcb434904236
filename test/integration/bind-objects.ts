import type { Client } from '../../client/index.ts';

/** A node with room, as its agent would report it. */
export async function createRoomyNode(client: Client, name: string, cpu: string): Promise<void> {
  const node = await client.nodes.create({ metadata: { name } });
  const allocatable = { cpu: { string: cpu }, memory: { string: '8Gi' }, pods: { string: '110' } };
  await client.nodes.updateStatus({ ...node, status: { allocatable } });
}

/** A pod of one container that asks for so much processor. */
export async function createPodAsking(client: Client, name: string, cpu: string): Promise<{ namespace: string; name: string }> {
  const containers = [{ name: 'main', image: 'x', resources: { requests: { cpu: { string: cpu } } } }];
  await client.pods.create({ metadata: { name, namespace: 'default' }, spec: { containers } });
  return { namespace: 'default', name };
}
