import { encodeMessage } from '../../api/codec/message.ts';
import { atLeast, type Figure, median, note } from '../figure.ts';
import { compare, rounds, storedPod, withBare } from './bare.ts';
import { barePath } from './bare-protocol.ts';
import { loadTarget, runLoad } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';
import { typicalPod } from './typical-pod.ts';

const ITEMS = 100;
/** Of one round. */
const STREAMS = 60;
const WARM_UP = 40;
const BARE_CREATES = 4_000;

/** Creates in streams against unary creates of the bare server. */
const LEAST = 1.1;

/**
 * Creates of a typical pod as items of `Objects.Bulk`: each stream sends 100 of them in one message and ends, 4 streams
 * at once. Every pod is decoded, validated, synced before it is acknowledged, and answered as a whole with a result of
 * its own. Beside it, in turn, unary creates of a bare grpc-js and lmdb server.
 */
export function benchBulk(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const costs = { protobuf: [] as number[], metadata: [] as number[] };
    const load = async (accept: 'protobuf' | 'metadata', streams: number): Promise<number> => {
      const request = bulkRequest(accept, ITEMS);
      const atOnce = { connections: 2, streams: 2 };
      const call = { path: '/berth.meta.v1.Objects/Bulk', request, count: streams, atOnce };
      const { rate, cpu } = await runLoad(loadTarget(server), call);
      costs[accept].push((cpu / ITEMS) * 1e6);
      return rate * ITEMS;
    };
    return await withBare(server, await storedPod(server), async ({ target }) => {
      const request = encodeMessage('berth.core.v1.PodWriteRequest', { object: typicalPod() });
      const bareCreates = async (): Promise<number> =>
        (await runLoad(target, { path: barePath.create, request, count: BARE_CREATES })).rate;
      await load('protobuf', WARM_UP);
      await bareCreates();
      const whole = await compare(() => load('protobuf', STREAMS), bareCreates);
      say(`creates: ${whole.own.toFixed(0)}/s, unary ones of the bare server ${whole.bare.toFixed(0)}/s`);
      const short = await load('metadata', STREAMS);
      const { items, metadata } = await server.client.pods.list({ namespace: 'default', limit: 1 });
      const pods = items.length + (metadata.remainingItemCount ?? 0);
      if (pods !== (WARM_UP + (rounds + 1) * STREAMS) * ITEMS + 1) throw new Error(`${pods} pods were created`);
      return [
        atLeast('creates, against unary creates of the bare server', whole.ratio, 'x', LEAST),
        note('creates', whole.own, '1/s'),
        note('unary creates of the bare server', whole.bare, '1/s'),
        note("server's processor for a create", median(costs.protobuf.slice(1)), 'microseconds'),
        note('creates answered with metadata only', short, '1/s'),
        note("server's processor for one of those", median(costs.metadata), 'microseconds'),
      ];
    });
  });
}

/** One message: creates of so many typical pods. */
export function bulkRequest(accept: string, count: number): Buffer {
  const object = encodeMessage('berth.core.v1.Pod', typicalPod());
  const create = { kind: { kind: 'Pod' }, object, accept };
  return encodeMessage('berth.meta.v1.BulkRequest', { items: Array.from({ length: count }, (_, id) => ({ id, create })) });
}
