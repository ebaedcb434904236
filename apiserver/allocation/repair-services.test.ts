import pino from 'pino';
import { afterEach, expect, it } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import type { Service, ServiceSpec } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { createServerRegistry } from '../server-registry.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import { runFeed } from '../watch/feed.ts';
import { repairServices } from './repair-services.ts';

const kind = kindNamed('Service');
const stopping = new AbortController();
afterEach(() => stopping.abort());

it('gives services of an earlier store what they lack, once, and tells what it leaves as it is', async () => {
  const storage = createMemoryStorage();
  const put = (name: string, spec: ServiceSpec): Promise<number> => {
    const bytes = encodeMessage(kind.message, { metadata: { namespace: 'default', name }, spec });
    const write = { kind: 'Service', bytes, user: 'u', manager: 'm', verb: 'create', durability: 'synced' } as const;
    return storage.create(`services/default/${name}`, write);
  };
  for (let i = 0; i < 40; i++) await put(`s${i}`, { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP' }] });
  await put('ports', { type: 'NodePort', clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ports: [{ port: 80 }] });
  await put('sctp', { type: 'ClusterIP', ports: [{ port: 80, protocol: 'SCTP' }] });
  await put('headless', { type: 'ClusterIP', clusterIP: 'None', clusterIPs: ['None'] });
  await put('name', { type: 'ExternalName', externalName: 'example.com' });
  await put('both', { type: 'ClusterIP', ipFamilyPolicy: 'RequireDualStack', ports: [{ port: 80 }] });
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
  const { registry, caches, allocator } = createServerRegistry({ log }, storage, new MetricsRegistry());
  await new Promise<void>((resolve, reject) => {
    runFeed({ storage, caches, log }, resolve, stopping.signal).catch(reject);
  });
  const store = registry.store('Service');
  await repairServices(registry, allocator, log);
  expect(lines).toEqual([
    'the cluster address 10.96.0.7 of "default/ports" is outside of 10.43.0.0/16',
    'cannot give a service what it lacks',
    'gave services the addresses and node ports that they lacked',
  ]);
  await store.fresh();
  const all = store.cache.range(store.keyPrefix).map((entry) => store.cache.decoder.decode(entry) as Service);
  const specOf = (name: string) => all.find(({ metadata }) => metadata?.name === name)?.spec;
  expect(new Set(all.flatMap(({ spec }) => spec?.clusterIP ?? [])).size).toBe(40 + 1 + 1 + 1);
  expect(specOf('ports')?.ports?.[0]?.nodePort).toBeGreaterThanOrEqual(30_000);
  expect(specOf('sctp')?.clusterIP).toMatch(/^10\.43\./);
  expect(specOf('both')).not.toHaveProperty('clusterIP');
  const before = store.cache.revision;
  await repairServices(registry, allocator, log);
  expect(store.cache.revision).toBe(before);
});
