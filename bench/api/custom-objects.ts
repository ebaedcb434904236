import { encodeMessage } from '../../api/codec/message.ts';
import type { JsonObject } from '../../client/index.ts';
import type { BenchServer } from '../berth.ts';
import { atLeast, type Figure, median, note } from '../figure.ts';
import { definitionOf, untilServed } from './definitions.ts';
import { loadTarget, runLoad } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';

const ROUNDS = 5;
const CREATES = 4_000;

/** Of the rate of ConfigMaps. */
const LEAST = 0.6;

const data = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`key-${i}`, 'x'.repeat(40)]));
const metadata = { namespace: 'default', generateName: 'one-', labels: { app: 'web', tier: 'front' } };

/** A create of `Objects` with the object as JSON, as clients of custom kinds send it. */
function requestOf(object: JsonObject): Buffer {
  const kind = { apiVersion: object.apiVersion as string, kind: object.kind as string };
  const bytes = Buffer.from(JSON.stringify(object));
  return encodeMessage('berth.meta.v1.ObjectWriteRequest', { kind, namespace: 'default', format: 'json', object: bytes });
}

/**
 * Creates of a custom object and of a ConfigMap of the same size, both as JSON through the same method, 64 at once, in
 * turn: the schema of the custom one has 196 fields, of which the object has ten, each with a bound.
 */
export function benchCustomObjects(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    await server.client.objects.create('CustomResourceDefinition', definitionOf(0));
    await untilServed(server, 'Kind0.bench.example.com');
    const requests = {
      custom: requestOf({ apiVersion: 'bench.example.com/v1', kind: 'Kind0', metadata, spec: data }),
      configMap: requestOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
    };
    const rates = { custom: [] as number[], configMap: [] as number[] };
    const costs = { custom: [] as number[], configMap: [] as number[] };
    const ratios: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      for (const of of ['configMap', 'custom'] as const) {
        const load = { path: '/berth.meta.v1.Objects/Create', request: requests[of], count: CREATES };
        const { rate, cpu } = await runLoad(loadTarget(server), load);
        if (round === 0) continue;
        rates[of].push(rate);
        costs[of].push(cpu * 1e6);
      }
      if (round > 0) ratios.push(rates.custom.at(-1)! / rates.configMap.at(-1)!);
    }
    for (const kind of ['Kind0.bench.example.com', 'ConfigMap']) await expectObjects(server, kind, CREATES * (ROUNDS + 1));
    say(`creates: custom ${median(rates.custom).toFixed(0)}/s, ConfigMaps ${median(rates.configMap).toFixed(0)}/s`);
    return [
      atLeast('creates of custom objects, 64 at once, against ConfigMaps', median(ratios), 'x', LEAST),
      note('creates of custom objects', median(rates.custom), '1/s'),
      note('creates of ConfigMaps', median(rates.configMap), '1/s'),
      note("server's processor for a create of a custom object", median(costs.custom), 'microseconds'),
      note("server's processor for a create of a ConfigMap", median(costs.configMap), 'microseconds'),
    ];
  });
}

async function expectObjects({ client }: BenchServer, kind: string, least: number): Promise<void> {
  const { items, metadata } = await client.objects.list(kind, { namespace: 'default', limit: 1 });
  const found = items.length + Number(metadata.remainingItemCount ?? 0);
  if (found < least) throw new Error(`${found} of ${least} objects of ${kind} were created`);
}
