import { encodeMessage } from '../../api/codec/message.ts';
import type { Pod } from '../../client/index.ts';
import { type BenchServer, startServer } from '../berth.ts';
import { atLeast, type Figure, note } from '../figure.ts';
import { type LoadResult, runLoad } from './h2load.ts';
import { typicalPod } from './typical-pod.ts';

const creates = 20_000;
const gets = 60_000;
const warmUp = 4_000;

/** Unary creates and gets of a typical pod, 64 at once over TLS, with the server's processor time for each. */
export async function benchThroughput(say: (text: string) => void): Promise<Figure[]> {
  // Without the loops that would react to every pod with writes of their own.
  const server = await startServer('--no-scheduler', '--no-controllers');
  try {
    const load = async (method: string, request: Buffer, count: number): Promise<LoadResult> => {
      const result = await runLoad(server, { path: `/berth.core.v1.Pods/${method}`, request, count });
      say(
        `${method}: ${count} calls, ${result.rate.toFixed(0)}/s, ${(result.cpu * 1e6).toFixed(0)} microseconds of the server's processor each`,
      );
      return result;
    };
    const object = typicalPod();
    const create = encodeMessage('berth.core.v1.PodWriteRequest', { object });
    await load('Create', create, warmUp);
    const created = await load('Create', create, creates);
    await expectPods(server, warmUp + creates);
    await server.client.pods.create({ ...object, metadata: { ...object.metadata, generateName: undefined, name: 'one' } } as Pod);
    const get = encodeMessage('berth.meta.v1.GetRequest', { namespace: 'default', name: 'one' });
    await load('Get', get, warmUp);
    const read = await load('Get', get, gets);
    return [
      note('bytes of the pod as it is sent', encodeMessage('berth.core.v1.Pod', object).length, 'bytes'),
      atLeast('creates, 64 at once', created.rate, '1/s', 4_000),
      note("server's processor for a create", created.cpu * 1e6, 'microseconds'),
      atLeast('gets, 64 at once', read.rate, '1/s', 9_000),
      note("server's processor for a get", read.cpu * 1e6, 'microseconds'),
    ];
  } finally {
    await server.stop();
  }
}

async function expectPods({ client }: BenchServer, count: number): Promise<void> {
  let [found, token]: [number, string | undefined] = [0, undefined];
  do {
    const page = await client.pods.list({ namespace: 'default', ...(token === undefined ? {} : { continue: token }) });
    found += page.items.length;
    token = page.metadata.continue || undefined;
  } while (token !== undefined);
  if (found !== count) throw new Error(`${found} of ${count} pods were created`);
}
