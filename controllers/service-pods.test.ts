import { describe, expect, it } from 'vitest';
import type { Node, Pod, Service } from '../api/generated/types.ts';
import type { Informer, InformerHandler } from '../client/index.ts';
import { createIndexer, type IndexFunction } from '../client/informer/indexer.ts';
import { namespaceIndexers } from './owned-pods/pod-index.ts';
import { podsOfService, servedNodeChanges, servedPodChanges, serviceIndexers, servicesOfPod } from './service-pods.ts';

const serviceOf = (name: string, selector: Record<string, string>, namespace = 'default'): Service => ({
  metadata: { name, namespace },
  spec: { selector },
});
const podOf = (name: string, labels: Record<string, string>, namespace = 'default'): Pod => ({
  metadata: { name, namespace, uid: name, labels },
  status: { podIP: '10.42.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
});

function listerOf<T extends Service | Pod>(objects: readonly T[], indexers: Readonly<Record<string, IndexFunction<T>>>) {
  const indexer = createIndexer<T>(indexers);
  for (const object of objects) indexer.set(object);
  return indexer;
}

describe('the services of a pod', () => {
  const services = listerOf(
    [
      serviceOf('one', { app: 'web' }),
      serviceOf('both', { tier: 'front', app: 'web' }),
      serviceOf('other', { app: 'db' }),
      serviceOf('none', {}),
      serviceOf('elsewhere', { app: 'web' }, 'team'),
    ],
    serviceIndexers,
  );

  it('are those whose whole selector its labels match, in its namespace', () => {
    expect(servicesOfPod(services, podOf('a', { app: 'web', tier: 'front' })).toSorted()).toEqual([
      'default/both',
      'default/one',
    ]);
    expect(servicesOfPod(services, podOf('a', { app: 'web' }))).toEqual(['default/one']);
    expect(servicesOfPod(services, podOf('a', { app: 'web' }, 'team'))).toEqual(['team/elsewhere']);
    expect(servicesOfPod(services, podOf('a', {}))).toEqual([]);
  });

  it('are woken by what they look at, those of its labels of before as well', () => {
    let handler: InformerHandler<Pod> = {};
    const pods = {
      addHandler: (added: InformerHandler<Pod>) => {
        handler = added;
        return () => {};
      },
    } as unknown as Informer<Pod>;
    const woken: string[] = [];
    servedPodChanges(pods, services).connect((key) => woken.push(key));
    const before = podOf('a', { app: 'web' });
    handler.onUpdate?.({ ...before, status: { ...before.status, startTime: { seconds: 1, nanos: 0 } } }, before);
    expect(woken).toEqual([]);
    handler.onUpdate?.({ ...before, status: { ...before.status, conditions: [{ type: 'Ready', status: 'False' }] } }, before);
    handler.onUpdate?.(podOf('a', { app: 'db' }), before);
    expect(woken).toEqual(['default/one', 'default/other', 'default/one']);
  });
});

it('the services of pods on a node are woken when it gets a range or another one, and by nothing else of it', () => {
  let handler: InformerHandler<Node> = {};
  const nodes = {
    addHandler: (added: InformerHandler<Node>) => {
      handler = added;
      return () => {};
    },
  } as unknown as Informer<Node>;
  const on = (pod: Pod, nodeName: string): Pod => ({ ...pod, spec: { ...pod.spec, nodeName } });
  const pods = listerOf([on(podOf('a', { app: 'web' }), 'n1'), on(podOf('b', { app: 'db' }), 'n2'), podOf('c', { app: 'db' })], {
    node: ({ spec }) => [spec?.nodeName ?? ''],
  });
  const services = listerOf([serviceOf('web', { app: 'web' }), serviceOf('db', { app: 'db' })], serviceIndexers);
  const woken: string[] = [];
  servedNodeChanges(nodes, pods, services).connect((key) => woken.push(key));
  const before: Node = { metadata: { name: 'n1' } };
  const ranged: Node = { ...before, spec: { podCIDRs: ['10.42.1.0/24'] } };
  handler.onUpdate?.({ ...before, status: { phase: 'Running' } } as Node, before);
  handler.onUpdate?.({ ...ranged, spec: { ...ranged.spec, unschedulable: true } }, ranged);
  expect(woken).toEqual([]);
  handler.onUpdate?.(ranged, before);
  expect(new Set(woken)).toEqual(new Set(['default/web']));
});

it('the pods of a service are those that match, by name', () => {
  const pods = listerOf(
    [podOf('b', { app: 'web' }), podOf('a', { app: 'web' }), podOf('c', { app: 'db' }), podOf('d', { app: 'web' }, 'team')],
    namespaceIndexers,
  );
  expect(podsOfService(pods, serviceOf('s', { app: 'web' })).map(({ metadata }) => metadata?.name)).toEqual(['a', 'b']);
  expect(podsOfService(pods, serviceOf('s', {}))).toEqual([]);
});
