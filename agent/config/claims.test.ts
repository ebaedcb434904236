import { expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { claim, node, pod, volume } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { decideClaimedFolder } from '../volumes/claimed-volume.ts';
import { createClaimSource } from './claims.ts';

const user = pod('p')
  .uid('u')
  .spec({ volumes: [{ name: 'v', volumeSource: { persistentVolumeClaim: { claimName: 'c' } } }] });
const running = { ...user.build(), status: { containerStatuses: [{ containerID: 'docker://1' }] } };

function setUp() {
  const claims = createFakeResourceClient({ kind: 'PersistentVolumeClaim', objects: [claim('c').on('v').bound().build()] });
  const volumes = createFakeResourceClient({
    kind: 'PersistentVolume',
    objects: [volume('v').keptFor('default/c', 'uid-c').onHost('n1').build()],
  });
  const nodes = createFakeResourceClient({ kind: 'Node', objects: [node('n1').build()] });
  const source = createClaimSource({
    claims,
    volumes,
    nodes,
    nodeName: 'n1',
    pods: { list: () => [] },
    clock: createFakeClock(),
  });
  const folder = async (of: Pod) => {
    const { claims: known, node: here } = await source.forPod(of);
    return decideClaimedFolder('c', known.get('c'), here);
  };
  return { claims, clients: [claims, volumes, nodes], folder };
}

it('a container of a pod with a claim starts again while the server is away', async () => {
  const { clients, folder } = setUp();
  const before = await folder(running);
  expect(before).toMatchObject({ path: '/srv/v' });
  for (const client of clients) client.failNext('get', unavailable('away'));
  expect(await folder(running)).toEqual(before);
});

it('a claim that is deleted stays for the pod that has it, and is for no new one', async () => {
  const { claims, folder } = setUp();
  claims.put(claim('c').on('v').bound().leaving().build());
  expect(await folder(running)).toMatchObject({ path: '/srv/v' });
  expect(await folder(user.build())).toMatchObject({ reason: 'not-found' });
});
