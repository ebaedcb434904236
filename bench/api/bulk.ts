import { encodeMessage } from '../../api/codec/message.ts';
import { atLeast, type Figure, note } from '../figure.ts';
import { runLoad } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';
import { typicalPod } from './typical-pod.ts';

const ITEMS = 100;
const STREAMS = 200;
const WARM_UP = 40;

/**
 * Creates of a typical pod as items of `Objects.Bulk`: each stream sends 100 of them in one message and ends, 4 streams at once. Every pod is
 * decoded, validated, synced before it is acknowledged, and answered as a whole with a result of its own.
 */
export async function benchBulk(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const load = async (accept: string, streams: number): Promise<{ rate: number; cpu: number }> => {
      const request = bulkRequest(accept, ITEMS);
      const atOnce = { connections: 2, streams: 2 };
      const { rate, cpu } = await runLoad(server, { path: '/berth.meta.v1.Objects/Bulk', request, count: streams, atOnce });
      const result = { rate: rate * ITEMS, cpu: (cpu / ITEMS) * 1e6 };
      const each = `${result.cpu.toFixed(0)} microseconds of the server's processor each`;
      say(`${streams * ITEMS} creates, answered with ${accept}: ${result.rate.toFixed(0)}/s, ${each}`);
      return result;
    };
    await load('protobuf', WARM_UP);
    const whole = await load('protobuf', STREAMS);
    const short = await load('metadata', STREAMS);
    const { items, metadata } = await server.client.pods.list({ namespace: 'default', limit: 1 });
    const pods = items.length + (metadata.remainingItemCount ?? 0);
    if (pods !== (WARM_UP + 2 * STREAMS) * ITEMS) throw new Error(`${pods} pods were created`);
    return [
      atLeast('creates', whole.rate, '1/s', 8_000),
      note("server's processor for a create", whole.cpu, 'microseconds'),
      note('creates answered with metadata only', short.rate, '1/s'),
      note("server's processor for one of those", short.cpu, 'microseconds'),
    ];
  });
}

/** One message: creates of so many typical pods. */
export function bulkRequest(accept: string, count: number): Buffer {
  const object = encodeMessage('berth.core.v1.Pod', typicalPod());
  const create = { kind: { kind: 'Pod' }, object, accept };
  return encodeMessage('berth.meta.v1.BulkRequest', { items: Array.from({ length: count }, (_, id) => ({ id, create })) });
}
